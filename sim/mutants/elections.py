"""Groups whose members vote or apply as they should not: two leaders, and what they cost."""

from ddlsim.mutants.base import mutates
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.metastorage.application import Application
from ddlsim.protocol.raft import Member, RequestVote, VoteReply
from ddlsim.protocol.raft.replication import CANDIDATE

LONGEST = 10**6
"""An index and a term that no log reaches."""


@mutates("member", "votes_twice", "98.def.3", "machinery")
class GenerousMember(Member):
    """A candidate also votes for another one in its term, so that both are elected."""

    def _take_request(self, sender: str, request: RequestVote) -> None:
        if self.role is CANDIDATE and not request.pre and request.term == self.log.term:
            self.outbox.append((sender, VoteReply(self.log.term, granted=True)))
            return
        super()._take_request(sender, request)


@mutates("member", "votes_for_anyone", "98.def.3", "machinery")
class CredulousMember(Member):
    """A member votes for a candidate that lacks what is committed, and it is dropped."""

    def _take_request(self, sender: str, request: RequestVote) -> None:
        longest = RequestVote(request.term, LONGEST, LONGEST, request.pre, request.forced)
        super()._take_request(sender, longest)


@mutates("application", "applies_twice", "98.def.3", "machinery")
class RepeatingApplication(Application):
    """A node's catalog is given every update twice."""

    def _apply_to_catalog(self, applied: AppliedUpdate) -> None:
        super()._apply_to_catalog(applied)
        super()._apply_to_catalog(applied)
