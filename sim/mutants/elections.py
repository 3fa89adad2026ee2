"""Groups whose members vote or apply as they should not: two leaders, and what they cost."""

from ddlsim.mutants.base import Mutant, mutant
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.metastorage.application import Application
from ddlsim.protocol.raft import Member, RequestVote, VoteReply
from ddlsim.protocol.raft.replication import CANDIDATE

LONGEST = 10**6
"""An index and a term that no log reaches."""


class GenerousMember(Member):
    """A candidate that gives its vote to whoever else asks for it in its term."""

    def _take_request(self, sender: str, request: RequestVote) -> None:
        if self.role is CANDIDATE and not request.pre and request.term == self.log.term:
            self.outbox.append((sender, VoteReply(self.log.term, granted=True)))
            return
        super()._take_request(sender, request)


class CredulousMember(Member):
    """A member that votes without comparing the candidate's log with its own (Raft 5.4.1)."""

    def _take_request(self, sender: str, request: RequestVote) -> None:
        longest = RequestVote(request.term, LONGEST, LONGEST, request.pre, request.forced)
        super()._take_request(sender, longest)


class RepeatingApplication(Application):
    """A state machine that hands every update to its catalog twice."""

    def _apply_to_catalog(self, applied: AppliedUpdate) -> None:
        super()._apply_to_catalog(applied)
        super()._apply_to_catalog(applied)


mutant(
    Mutant(
        name="votes_twice",
        summary="a candidate also votes for another one in its term, so that both are elected",
        breaks="98.def.3",
        caught_by="machinery",
        parts={"member": GenerousMember},
    )
)
mutant(
    Mutant(
        name="votes_for_anyone",
        summary="a member votes for a candidate that lacks what is committed, and it is dropped",
        breaks="98.def.3",
        caught_by="machinery",
        parts={"member": CredulousMember},
    )
)
mutant(
    Mutant(
        name="applies_twice",
        summary="a node's catalog is given every update twice",
        breaks="98.def.3",
        caught_by="machinery",
        parts={"application": RepeatingApplication},
    )
)
