"""Locks, submissions and commits beside a run: no order makes a part differ; faults do."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.cluster.models.design.commit_questions import compare_commits
from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.metastorage.meta_walks import Applying, MetaWalk, walk_meta
from ddlsim.cluster.models.metastorage.stored_news import compare_news
from ddlsim.cluster.models.metastorage.submission_walks import SubmissionWalk, walk_submissions
from ddlsim.cluster.models.partition.submitter_walks import walk_submitter
from ddlsim.cluster.models.transaction.lock_walks import walk_locks
from ddlsim.cluster.models.transaction.looks import compare_looks
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.model.ports import NO_REPLY
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.partition.replica_manager import ReplicaManager
from ddlsim.protocol.replica_messages import Fate
from ddlsim.protocol.transaction import commit_check, conditional, execution, participant
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.strategies.iep import IEP
from ddlsim.strategies.iep_closed import IEP_CLOSED
from ddlsim.strategies.ignite3 import IGNITE3
from tests.support.edits import edited


def submissions(models: Models, seed: int) -> None:
    walk_submissions(models, IEP, seed)


def submitter(models: Models, seed: int) -> None:
    walk_submitter(models, IEP, seed)


def commits(models: Models, seed: int) -> None:
    for strategy in (IEP, IEP_CLOSED, IGNITE3):
        compare_commits(models.divergence("commit questions", "n"), strategy, seed)


def news(models: Models, _seed: int) -> None:
    compare_news(models.divergence("news", "n"), IEP)


def meta(models: Models, seed: int) -> None:
    walk_meta(models, IEP, seed)


def looks(models: Models, _seed: int) -> None:
    compare_looks(models.divergence("looks", "n"))


WALKS = {
    "locks": walk_locks, "taken": submissions, "sent": submitter, "commits": commits, "news": news,
    "meta": meta, "looks": looks,
}  # fmt: skip


def differences(walk: Callable[[Models, int], None], seed: int) -> list[PartDiverged]:
    found: list[PartDiverged] = []
    walk(Models(found.append, Loop()), seed)
    return found


@pytest.mark.parametrize("name", WALKS)
def test_a_part_does_what_its_model_does_in_any_order(name: str) -> None:
    assert not any(differences(WALKS[name], seed) for seed in range(40))


def leaves_the_next_one_waiting(_method: Any) -> Callable[..., None]:
    def planted(self: Any, tx: Any) -> None:
        for resource in dict.fromkeys(self._waiting.pop(tx)):
            queue = self._queues[resource]
            for entry in [entry for entry in queue if entry[0] == tx]:
                queue.remove(entry)
                entry[2].set(False)

    return planted


def without_the_sender(method: Any) -> Callable[..., Any]:
    def planted(self: Any, _sender: str, request: Any) -> Any:
        return method(self, "", request)

    return planted


def is_sure(method: Any) -> Callable[..., Any]:
    """Silence says that a command is not in the log."""

    async def planted(self: Any, submission: Any) -> Any:
        self.answers = [one for one in self.answers if one is not NO_REPLY]
        return await method(self, submission)

    return planted


def by_the_first(_method: Any) -> Callable[..., Any]:
    def planted(sync: Any, tables: Any, ts: Any) -> Any:
        for object_id, initial, current in tables:
            if current != initial:
                return sync.strategy.check_commit(sync.catalog.steps(object_id, initial, ts))
        return None

    return planted


def for_nothing(_method: Any) -> Callable[..., None]:
    return lambda *_: None


def always(_method: Any) -> Callable[..., bool]:
    return lambda *_: True


def by_its_clock(_method: Any) -> Callable[..., Any]:
    return lambda node, _local: node.clock.now()


def answers_by_its_clock(method: Any) -> Callable[..., Any]:
    def planted(self: Any, outcome: Any) -> Any:
        sent_ts = self.node.clock.now()
        return replace(method(self, outcome), sent_ts=sent_ts)

    return planted


def answers_before_the_end(method: Any) -> Callable[..., Any]:
    def planted(*given: Any) -> Any:
        answer = method(*given)
        return replace(answer, sent_ts=answer.commit_ts)

    return planted


def appends_once(method: Any) -> Callable[..., Any]:
    """What was stamped before is taken for what is on its way."""

    async def planted(self: Any, command: Any) -> Any:
        if command.command_id in self._stamps:
            return self.application.applied_index
        return await method(self, command)

    return planted


def without_a_wait(_method: Any) -> Callable[..., Any]:
    async def planted(_self: Any, _index: int) -> None:
        return

    return planted


def reads_past_what_ends(method: Any) -> Callable[..., Any]:
    """What is about to end has not committed by then, for a reader."""

    async def planted(self: Any, tx: Any, place: Any, read_ts: Any = None) -> Any:
        state = self._answers[0]
        return (
            None if read_ts and state is Fate.DECIDING else await method(self, tx, place, read_ts)
        )

    return planted


PLANTED: dict[str, tuple[Any, str, Callable[[Any], Any], Callable[[Models, int], None]]] = {
    "others wait on": (LockTable, "_refuse_all", leaves_the_next_one_waiting, walk_locks),
    "a number is anyone's": (ReplicaManager, "_on_submit", without_the_sender, submissions),
    "forgets refusals": (ReplicaManager, "_keep_refusal", for_nothing, submissions),
    "knows every version": (ReplicaManager, "_knows_version", always, submissions),
    "is sure of what is lost": (ReplicaManager, "result_of", is_sure, submitter),
    "judges one table": (commit_check, "validate", by_the_first, commits),
    "appends once": (MetaStorage, "_stamped_and_proposed", appends_once, meta),
    "answers before the end": (Applying, "reaches", without_a_wait, meta),
    "reads past what ends": (Participant, "resolved", reads_past_what_ends, looks),
    "asks once": (participant, "PROBES", lambda _: 1, looks),
    "tells by its clock": (execution, "stored_ts", by_its_clock, news),
    "tells of inserts by its clock": (conditional, "stored_ts", by_its_clock, news),
    "ends by its clock": (Participant, "_finished", answers_by_its_clock, news),
    "ends before the end": (Replica, "_answer_to_a_copy", answers_before_the_end, news),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault, walk = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    assert any(differences(walk, seed) for seed in range(40))


def test_a_walk_of_submissions_has_copies_refusals_and_ends() -> None:
    walks = [SubmissionWalk(Models(lambda _: None, Loop()), IEP, seed) for seed in range(20)]
    for walk in walks:
        walk.take(60)
    known = [one for walk in walks for one in walk._known.values()]
    assert any(one.is_appended and one.end.is_known for one in known)
    assert any(one.is_taken and not one.is_appended for one in known)
    assert any(not one.is_taken for one in known)


def test_a_walk_of_a_leader_loses_entries_and_is_sent_them_again() -> None:
    walks = [MetaWalk(Models(lambda _: None, Loop()), IEP, seed) for seed in range(10)]
    for walk in walks:
        walk.take(60)
    assert any(walk.lost for walk in walks)
    assert any(walk.repeated for walk in walks)
    assert any(walk.applying.results for walk in walks)


def test_writes_that_another_lease_of_the_same_node_has_lost_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, after = (
        f"lease.{one} != tx.participants[place].{one}" for one in ("start_ts", "holder")
    )
    fault = edited(TransactionCompletion, "_ask_again", before, after)
    monkeypatch.setattr(TransactionCompletion, "_ask_again", fault)
    assert differences(looks, 0) != []
