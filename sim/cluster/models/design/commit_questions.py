"""Judgements of commits beside a run: of transactions that have crossed changes of several tables.

A run's transaction seldom crosses more than one change. So beside each run its design judges some
made-up transactions on a catalog of three tables with three changes: one that any design lets
pass, one that none does, and a renamed column. Each table is enlisted under an earlier version, in
any order; the transaction aborts if one of the changes does not let it commit [110.valid.1], and
the versions in the verdict are those at commit_ts.
"""

from collections.abc import Coroutine
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, Final, cast

from ddlsim.cluster.models.design.rule_forms import judgement
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.kernel.rng import mix
from ddlsim.model.ddl import (
    AddColumn,
    AlterTable,
    ColumnSpec,
    CreateTable,
    DropColumn,
    RenameColumn,
    Statement,
)
from ddlsim.model.schema import ColumnType, SchemaObject
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Finish
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import MAX_TIMESTAMP, Timestamp, show

ASKED: Final = 12
"""How many transactions are judged beside a run."""
NAMES: Final = ("a", "b", "c")
INTEGER: Final = ColumnType("INTEGER")
COLUMNS: Final = tuple(ColumnSpec(name, INTEGER) for name in ("id", "v", "w"))
STATEMENTS: Final[tuple[Statement, ...]] = (
    *(CreateTable(name, COLUMNS, ("id",)) for name in NAMES),
    AlterTable("a", (AddColumn(ColumnSpec("x", INTEGER)),)),
    AlterTable("b", (AddColumn(ColumnSpec("x", INTEGER)),)),
    AlterTable("c", (RenameColumn("v", "y"),)),
    AlterTable("b", (DropColumn("w"),)),
    AlterTable("a", (DropColumn("w"),)),
)
STEP: Final = 10
"""The time between two activations."""
JUDGES: Final = (
    "schema_at_commit_ts",
    "schema_at_commit_ts_exact_if_written",
    "schema_at_commit_ts_exact_if_shown",
)
Tables = tuple[tuple[int, int, int], ...]


@cache
def catalog() -> Catalog:
    """The tables and their changes, each active `STEP` after the one before."""
    known = Catalog()
    for version, statement in enumerate(STATEMENTS, 1):
        built = build(statement, known.latest(), known.latest().next_object_id)
        assert isinstance(built, Built), f"{statement} is {built}"
        at = Timestamp(version * STEP)
        known.apply(version, at, at, built.objects)
    return known


def compare_commits(divergence: Divergence, strategy: Strategy, seed: int) -> None:
    """Let the design of a run judge some commits, and compare."""

    async def object_at(ts: Timestamp, *given: Any) -> SchemaObject | None:
        return catalog().at(ts).by_id(given[-1])

    sync = SimpleNamespace(catalog=catalog(), strategy=strategy, object_at=object_at)
    numbers = [mix(mix(seed, 5), one) for one in range(ASKED + 1)]
    for number, more in pairwise(numbers):
        tables, commit_ts = _crossed(number, more)
        verdict, told = _judged(strategy, cast("Any", sync), tables, commit_ts) or (None, tables)
        ways = [
            catalog().steps(one, first, commit_ts) for one, first, now in tables if now != first
        ]
        reasons = [judgement(strategy)(steps) for steps in ways]
        due = next((one for one in reasons if one is not None), None)
        if told != tables or (due is not None and verdict is not due):
            divergence.found(
                f"{tables} at {show(commit_ts)} is {verdict} by {told}, and should be {due}"
            )


def _crossed(number: int, more: int) -> tuple[Tables, Timestamp]:
    """(object, version I, version C) of the tables of a transaction, and its commit_ts.

    No timestamp is that of an activation: what is in force there, the catalog's model says.
    """
    ids = [one.id for one in catalog().latest().tables()]
    first = number % 3
    order = (ids[first:] + ids[:first])[:: 1 if number // 3 % 2 else -1]
    last = 3 + number // 6 % 6
    commit_ts = Timestamp(STEP * last + STEP // 2)
    found = []
    for place, object_id in enumerate(order):
        since = Timestamp(STEP * (3 + (more >> 8 * place) % (last - 2)) + STEP // 2)
        versions = [catalog().at(ts).by_id(object_id) for ts in (since, commit_ts)]
        initial, current = (one.version if one else 0 for one in versions)
        found.append((object_id, initial, current))
    return tuple(found), commit_ts


def _judged(strategy: Strategy, sync: Any, tables: Tables, commit_ts: Timestamp) -> Any:
    """What the design makes of it; None for one that judges otherwise."""
    tx = TxId(Timestamp(1), 0, "T")
    if strategy.validate_at_finish is not None:
        finish = Finish(commit_ts, tx, commit_ts, (tables[0][0], 0), (), tables)
        return ended(strategy.validate_at_finish(sync, finish))
    if strategy.commit_schema.__name__ not in JUDGES:
        return None
    by_id = {one: SimpleNamespace(object_id=one, version=version) for one, version, _ in tables}
    # one that only read, with no operation behind a change: closing rules add no reason of theirs
    known = {"wrote": False, "queried": False, "last_op_ts": MAX_TIMESTAMP, "shown": {}}
    record = SimpleNamespace(id=tx, by_id=by_id, **known)
    coordinator = SimpleNamespace(sync=sync, strategy=strategy)
    return ended(strategy.commit_schema(cast("Any", coordinator), cast("Any", record), commit_ts))


def ended(work: Any) -> Any:
    """The value of a coroutine that waits for nothing."""
    coroutine: Coroutine[Any, Any, Any] = work
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits, and has nothing to wait for")
