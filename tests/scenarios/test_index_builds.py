"""Index builds on the Ignite plane: entries against the rows, by brute force, in drawn worlds."""

import tomllib
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.checkers.case.rows import upgraded
from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.history.events import RowFinal, UpdateLogged
from ddlsim.history.history import History
from ddlsim.history.index_events import IndexFinal, IndexPartRead
from ddlsim.history.world_events import PartDiverged
from ddlsim.model.ddl import IndexDropped, IndexStateSet
from ddlsim.model.schema import PUBLIC, SchemaObject, Table
from ddlsim.plan import swarm
from ddlsim.plan.aims import indexes
from ddlsim.plan.plan import plan
from ddlsim.protocol.partition.index_store import IndexStore
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read

LIVELY = 83
"""A short drawn world in which snapshots are taken while an index is built."""
SHORT: dict[str, object] = {"protocol.snapshot_entries": 5, "run.load_ms": 150}
NAMES = {
    "entries": {"entries of a snapshot"},
    "open": {"open entries of a snapshot"},
    "filled": {"how far indexes are in a snapshot"},
    "complete": {"indexes that are complete in a snapshot"},
}
SEEDS = (3, 10, 13, 17, 24, 27, 31, 33)
DRAWN = swarm.Source(None, "", {"strategy.name": "ignite_index"})


@cache
def drawn(seed: int, mutant: str | None = None) -> History:
    """The history of a drawn world, without models."""
    overrides = DRAWN.overrides | ({"strategy.mutant": mutant} if mutant else {})
    source = swarm.Source(None, "", overrides)
    return run(plan(swarm.scenario(source, seed), seed, models=False))


def all_of(history: History, kind: type) -> list[Any]:
    return [event for event in history.events if type(event) is kind]


def tables(history: History) -> dict[int, dict[int, SchemaObject | None]]:
    """Every object by id and version."""
    found: dict[int, dict[int, SchemaObject | None]] = {}
    for update in all_of(history, UpdateLogged):
        for change in update.objects:
            found.setdefault(change.object_id, {})[change.version] = change.definition
    return found


def by_rows(history: History) -> dict[tuple[str, int], set[Any]]:
    """By node and index: the (values, key) of each row that the node holds; by brute force."""
    known = tables(history)
    found: dict[tuple[str, int], set[Any]] = {}
    for row in all_of(history, RowFinal):
        newest = known[row.object_id][max(known[row.object_id])]
        source = known[row.object_id].get(row.version)
        if row.row is None or not isinstance(newest, Table) or not isinstance(source, Table):
            continue
        cells = dict(upgraded(row.row, source, newest))
        for index in newest.indexes:
            if index.state == PUBLIC:
                values = tuple(cells.get(column) for column in index.columns)
                found.setdefault((row.node, index.id), set()).add((values, row.key))
    return found


def by_entries(history: History) -> dict[tuple[str, int], set[Any]]:
    """The same from the entries that each node holds of indexes that are AVAILABLE."""
    known = tables(history)
    public = {
        index.id
        for versions in known.values()
        if isinstance(newest := versions[max(versions)], Table)
        for index in newest.indexes
        if index.state == PUBLIC
    }
    found: dict[tuple[str, int], set[Any]] = {}
    for entry in all_of(history, IndexFinal):
        if entry.index_id in public:
            place = (entry.node, entry.index_id)
            found.setdefault(place, set()).add((entry.values, entry.key))
    return found


def test_entries_are_those_of_the_rows_by_brute_force() -> None:
    """On every node, in the end of drawn worlds [110.ours.index.entries]."""
    compared = 0
    for seed in SEEDS:
        history = drawn(seed)
        expected, found = by_rows(history), by_entries(history)
        assert found == expected, f"seed {seed}"
        compared += sum(map(len, found.values()))
    assert compared > 50, f"only {compared} entries were compared"


def test_the_comparison_sees_entries_that_are_not_removed() -> None:
    """A mutant that leaves old entries differs."""
    histories = (drawn(seed, "leaves_old_entries") for seed in SEEDS)
    assert any(by_rows(history) != by_entries(history) for history in histories)


def test_drawn_worlds_go_through_every_state_and_ask_by_indexes() -> None:
    states: set[str] = set()
    asked = gone = 0
    for seed in SEEDS:
        history = drawn(seed)
        asked += sum(bool(event.keys) for event in all_of(history, IndexPartRead))
        for update in all_of(history, UpdateLogged):
            for change in (one for step in update.objects for one in step.changes):
                if isinstance(change, IndexStateSet):
                    states.add(change.state)
                gone += isinstance(change, IndexDropped)
    assert states == {"reorganization", "public", "write_only"}
    assert asked > 30
    assert gone > 3


def test_worlds_of_this_design_draw_the_build_and_those_of_others_do_not() -> None:
    rows, pauses, builds = set(), set(), 0
    for seed in range(60):
        data = tomllib.loads(swarm.draw(DRAWN, seed).text)
        rows.add(data["protocol"]["backfill_rows"])
        pauses.add(data["protocol"]["backfill_pause_ms"])
        builds += any(load["name"] == "index_builds" for load in data["workload"])
        other = swarm.draw(swarm.Source(None, "", {"strategy.name": "ignite3"}), seed).text
        assert "index_builds" not in other
        assert "backfill" not in other
    assert rows == set(indexes.ROWS)
    assert len(pauses) > 5
    assert builds > 45


CONVICTED = {
    "commits_behind_the_build": "I7",
    "builds_undrained": "I11",
    "fills_once_registered": "I7",
    "erases_once_stopping": "I7",
    "leaves_old_entries": "I7",
    "enters_once_available": "I7",
    "fills_no_intents": "I7",
    "available_half_built": "I7",
}
"""By mutant of the rules [110.ours.index.build] [110.ours.index.entries], what it breaks."""


@pytest.mark.parametrize("mutant", CONVICTED)
def test_the_schedule_of_a_mutant_breaks_something_with_it_alone(mutant: str) -> None:
    """Without the mutant the design refuses, waits or finds more, and nothing is broken."""
    for chosen in (mutant, None):
        text = load(f"negative/{mutant}").text
        text = text if chosen else text.replace(f'mutant = "{mutant}"\n', "")
        verdict = judge(run(plan(read(text, mutant), 0, models=False)))
        broken = {one.invariant for one in verdict.violations if one.status == "violation"}
        assert broken == ({CONVICTED[mutant]} if chosen else set()), verdict.violations


def test_the_model_of_a_partition_sees_a_snapshot_that_lacks_an_entry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A replica that came back with it would lose what a transaction is yet to enter."""
    overrides = DRAWN.overrides | SHORT
    snapshot = IndexStore.snapshot

    def found() -> set[str]:
        source = swarm.Source(None, "", overrides)
        history = run(plan(swarm.scenario(source, LIVELY), LIVELY, models=True))
        return {one.what.split(" is ")[0] for one in all_of(history, PartDiverged)}

    assert found() == set()
    for field in ("entries", "open", "filled", "complete"):
        monkeypatch.setattr(
            IndexStore,
            "snapshot",
            lambda self, field=field: replace(
                snapshot(self), **{field: getattr(snapshot(self), field)[:-1]}
            ),
        )
        assert found() & NAMES[field], field
