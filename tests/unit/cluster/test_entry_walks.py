"""A partition beside a run: no order of commands makes its entries differ; faults do."""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.partition.entry_walks import EntryWalk, walk_entries
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.commands import Outcome
from ddlsim.protocol.partition.index_store import IndexStore
from ddlsim.protocol.partition.partition import Partition
from ddlsim.strategies.base import STRATEGIES
from tests.support.edits import edited

pytestmark = pytest.mark.slow

BUILDS = STRATEGIES.get("ignite_index")


def differences(walks: int) -> list[PartDiverged]:
    found: list[PartDiverged] = []
    for seed in range(walks):
        walk_entries(Models(found.append, Loop()), BUILDS, seed)
    return found


def test_entries_are_those_of_the_model_in_any_order_of_commands() -> None:
    assert differences(150) == []


def test_a_walk_builds_and_erases_indexes_and_leaves_open_entries() -> None:
    walks = [EntryWalk(Models(lambda _: None, Loop()), BUILDS, seed) for seed in range(30)]
    for one in walks:
        one.take(100)
    stores = [one.ahead.index for one in walks]
    assert any(one.complete for one in stores)
    assert any(one.erased for one in stores)
    assert any(one.open for one in stores)
    assert any(moves for one in stores for moves in one.held())


def fills_what_is_erased(method: Any) -> Callable[..., Any]:
    def planted(self: Any, command: Any, rows: Any, intents: Any) -> Any:
        kept, self.erased = self.erased, {}
        found = method(self, command, rows, intents)
        self.erased = kept
        return found

    return planted


def keeps_what_it_had(method: Any) -> Callable[..., None]:
    def planted(self: Any, state: Any) -> None:
        kept = self.open
        method(self, state)
        self.open = {**kept, **self.open}

    return planted


def forgets_nothing(_method: Any) -> Callable[..., None]:
    return lambda self, tx: None


def leaves_out_what_was_before(method: Any) -> Callable[..., Any]:
    def planted(self: Any, command: Any, index: Any, key: Any, versions: Any) -> Any:
        later = [one for one in versions if one[0] >= command.since_ts]
        return method(self, command, index, key, later or versions)

    return planted


PLANTED: dict[str, tuple[type, str, Callable[[Any], Any]]] = {
    "fills what is erased": (IndexStore, "fill", fills_what_is_erased),
    "keeps what it had": (IndexStore, "install", keeps_what_it_had),
    "forgets nothing": (IndexStore, "forget", forgets_nothing),
    "leaves out what was before": (IndexStore, "_fill_row", leaves_out_what_was_before),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    assert differences(20) != []


def test_a_change_at_another_timestamp_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a backfill reports is what it has changed."""
    fill = IndexStore.fill

    def planted(self: Any, command: Any, rows: Any, intents: Any) -> Any:
        found = fill(self, command, rows, intents)
        return [type(one)(one.values, one.key, one.added, command.since_ts) for one in found]

    monkeypatch.setattr(IndexStore, "fill", planted)
    assert differences(20) != []


def test_a_write_in_one_phase_behind_its_lease_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its primary's lease may be over once the leader, elsewhere, has stamped it."""
    faulty = edited(Partition, "_write_and_commit", "if expired and", "if False and")
    monkeypatch.setattr(Partition, "_write_and_commit", faulty)
    assert differences(4) != []


def test_many_walks_end_a_transaction_again_and_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that comes behind a stored abort takes its place: few runs have both."""
    finish, walks = Partition._finish, 40

    def planted(self: Any, command: Any) -> Any:
        known = self.outcomes.get(command.tx)
        if known is not None and known.commit_ts is None and command.commit_ts is not None:
            self.outcomes[command.tx] = Outcome(command.commit_ts, known.participants)
        return finish(self, command)

    monkeypatch.setattr(Partition, "_finish", planted)
    seen = 0
    for seed in range(walks):
        found: list[PartDiverged] = []
        walk_entries(Models(found.append, Loop()), BUILDS, seed)
        seen += bool(found)
    assert seen > walks // 8
