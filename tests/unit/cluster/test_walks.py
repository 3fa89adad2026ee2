"""A group beside a run: no order of steps makes a member differ from its model; faults do."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.replication.walks import Walk, walk
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.raft import Member
from ddlsim.protocol.raft.log import RaftLog
from ddlsim.protocol.raft.messages import Entry, RequestVote
from ddlsim.protocol.raft.replication import Replication
from tests.support.edits import edited

pytestmark = pytest.mark.slow


def differences(seed: int) -> list[PartDiverged]:
    found: list[PartDiverged] = []
    walk(Models(found.append, Loop()), seed)
    return found


def test_a_member_does_what_its_model_does_in_any_order_of_steps() -> None:
    assert not any(map(differences, range(300)))


def test_a_walk_elects_leaders_commits_compacts_and_installs_snapshots() -> None:
    members = [
        driven
        for seed in range(100)
        for walked in [Walk(Models(lambda _: None, Loop()), seed)]
        for driven in (walked.take(200) or walked.members.values())
    ]
    assert any(one.member.is_leader for one in members)
    assert any(one.log.term > 3 for one in members)
    assert any(one.log.applied > 3 for one in members)
    assert any(one.log.base_index for one in members)


def stays_what_it_was(method: Any) -> Callable[..., None]:
    def planted(self: Any, sender: str, request: RequestVote) -> None:
        before = self.role
        method(self, sender, request)
        self.role = before

    return planted


def by_the_length_alone(method: Any) -> Callable[..., None]:
    def planted(self: Any, sender: str, request: RequestVote) -> None:
        method(self, sender, replace(request, last_term=self.log.last_term))

    return planted


def keeps_entries_alone(_method: Any) -> Callable[..., None]:
    """The entries survive without the term that they were appended in."""

    def planted(self: RaftLog, torn: int) -> None:
        del self.entries[max(self.synced_index - self.base_index, 0) + torn :]
        self.term, self.voted_for = self._synced_term, self._synced_vote
        self.applied = max(min(self.applied, self.last_index), self.snapshot_index)
        self.sync_now()

    return planted


def keeps_later_terms(_method: Any) -> Callable[..., None]:
    """What contradicts a leader's entry goes only if its term is the smaller one."""

    def planted(self: Replication, entries: tuple[Entry, ...], first: int) -> None:
        for index, entry in enumerate(entries, first):
            term = self.log.term_at(index) if index > self.log.base_index else entry.term
            if term is not None and term < entry.term:
                self.log.truncate(index)
                term = None
            if term is None:
                self.log.entries.append(entry)
                self.needs_sync = True

    return planted


def keeps_what_lies_behind(method: Any) -> Callable[..., None]:
    """What lies behind a snapshot stays, whatever the entry at its end was."""

    def planted(self: RaftLog, index: int, term: int, state: object) -> None:
        method(self, index, self.term_at(index) or term, state)
        self.base_term = self.snapshot_term = term

    return planted


PLANTED: dict[str, tuple[type, str, Callable[[Any], Any]]] = {
    "votes and goes on": (Member, "_take_request", stays_what_it_was),
    "votes by the length of the log": (Member, "_take_request", by_the_length_alone),
    "keeps entries alone": (RaftLog, "lose_unsynced", keeps_entries_alone),
    "keeps later terms": (Replication, "_store", keeps_later_terms),
    "keeps what lies behind": (RaftLog, "replace", keeps_what_lies_behind),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    assert any(map(differences, range(200)))


def test_a_snapshot_without_the_term_of_its_end_is_seen_beside_each_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edit = ("if self.term < self.snapshot_term:", "if False:")
    monkeypatch.setattr(RaftLog, "lose_unsynced", edited(RaftLog, "lose_unsynced", *edit))
    assert all(map(differences, range(10)))
