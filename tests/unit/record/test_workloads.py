"""The plans of recorded workloads, drawn from a seed: which transactions clients do."""

from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest

from ddlsim.record.dialects.base import Connection
from ddlsim.record.dialects.sqlite import Sqlite
from ddlsim.record.programs import ACTS, Append, Program, UniqueIndex
from ddlsim.record.recorder import Wanted, record
from ddlsim.record.shape import ROWS, InUse, shape_of
from ddlsim.record.url import url_of
from ddlsim.record.workloads.base import LONG, WORKLOADS, Ground, dice
from ddlsim.record.workloads.index import SPARE

MANY = 1500


def planned(name: str, *, tables: bool = False, online: bool = True) -> list[Program]:
    workload = WORKLOADS.get(name)
    in_use = InUse(shape_of(4, MANY, 10.0, workload.spare))
    plan: Iterator[Program] = (workload.tables if tables else workload.rows)(
        dice(7, 0), Ground(in_use, 5.0, True, online), 0
    )
    return list(islice(plan, MANY))


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_transactions_are_short_and_long_on_fresh_and_old_connections(name: str) -> None:
    found = planned(name)
    assert found == planned(name)
    assert {len(one.steps) for one in found if one.alone} == {1}
    assert any(one.alone and one.writes for one in found)
    assert any(one.alone and not one.writes for one in found)
    assert any(sum(bool(step.operations) for step in one.steps) >= LONG for one in found)
    fresh = [at for at, one in enumerate(found) if one.fresh]
    assert any(after - at > 100 for at, after in pairwise(fresh))


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_values_of_a_client_are_unique(name: str) -> None:
    every = [*planned(name), *planned(name, tables=True)]
    for programs in (every[:MANY], every[MANY:]):
        steps = [step for one in programs for step in one.steps if isinstance(step, Append)]
        assert len({step.value for step in steps}) == len(steps) > 0


def test_rows_are_inserted_where_none_are_at_first() -> None:
    shape = shape_of(4, MANY, 10.0, SPARE)
    made = {row for group in shape.groups for row in group}
    steps = [step for one in planned("index") for step in one.steps if isinstance(step, Append)]
    assert {step.row for step in steps if step.new}.isdisjoint(made)
    assert {step.row for step in steps if not step.new} <= made
    low, high = shape.window(0)
    assert high - low + 1 == ROWS + SPARE


def test_indexes_are_online_outside_of_transactions_alone() -> None:
    programs = planned("index", tables=True)
    online = [one for one in programs for step in one.steps
              if isinstance(step, UniqueIndex) and step.online]  # fmt: skip
    assert online
    assert all(one.alone for one in online)
    acts = {step.act for one in programs for step in one.steps if isinstance(step, UniqueIndex)}
    assert acts == ACTS.keys()
    offline = planned("index", tables=True, online=False)
    assert not any(
        step.online for one in offline for step in one.steps if isinstance(step, UniqueIndex)
    )


def test_a_fresh_connection_is_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one client, whose programs say how many there have to be."""
    made: list[Connection] = []
    connect = Sqlite.connect

    def counted(database: Sqlite, isolation: str) -> Connection:
        made.append(connect(database, isolation))
        return made[-1]

    monkeypatch.setattr(Sqlite, "connect", counted)
    database = Sqlite(url_of(f"sqlite:///{tmp_path}/db"), prepared=False)
    folder = tmp_path / "out"
    folder.mkdir()
    wanted = Wanted("schema-append", 1, "serializable", 7, 0.0, 60.0, 150)
    record(database, wanted, folder)
    workload = WORKLOADS.get("schema-append")
    in_use = InUse(shape_of(1, 150, 60.0))
    plan = islice(workload.rows(dice(7, 0), Ground(in_use, 0.0, True), 0), 150)
    fresh = sum(one.fresh for one in plan)
    assert fresh > 0
    looked_at, tables = 1, 1
    assert len(made) == looked_at + tables + 1 + fresh
