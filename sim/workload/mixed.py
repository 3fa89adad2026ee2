"""Transactions of every shape: reads, writes, deletes and scans over one table or several."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from ddlsim.model.ddl import CreateTable
from ddlsim.model.ops import Rollback
from ddlsim.model.programs import Program, TransactionItem
from ddlsim.units import FOREVER_MS, Micros
from ddlsim.workload.base import (
    Dice,
    Die,
    Span,
    Workload,
    WorkloadWorld,
    check,
    check_shares,
    check_span,
    workload,
)
from ddlsim.workload.keys import KeyChooser
from ddlsim.workload.operations import KINDS, OperationMaker, Shares


@workload
@dataclass(frozen=True, kw_only=True)
class Mixed(Workload):
    """Each client runs `operations` data operations, grouped into transactions.

    Weights: `get`, `put`, `delete`, `scan`, `select` (a `SELECT *`, which shows the columns),
    `insert`, `strict` (SQL's INSERT), `replace`, `update`, and `find`, a query for values by
    whatever index has these columns, on planes where indexes have contents. Shares of transactions:
    `implicit` without begin and commit, `fresh` on a new connection, `rollback` rolled back at the
    end, `read_only` read the past, and where the others write, read; `as_of` of these at a
    timestamp within `as_of_ms` of the present; `long` have `long_operations` on all tables,
    `long_gap_ms` apart; `one_row` have all operations on one row; `rested` commit after `rest_ms`
    more; `pipelined` send operations without awaiting answers; `begun` begin with a request of
    their own; `abandoned` end with neither commit nor rollback. `session` is the share of clients
    with a causal token, `partition_aware` of those that begin each transaction at the primary of
    its first key. Shares of the operations: `misses` use keys that are never written, `views` go
    through a view of the table, `named` of the gets name columns, `by_name` of the writes give
    values by column name, `bad` of the writes have rows that do not fit, or write in a read-only
    transaction. With `values` n each column that a put fills, or that a write names, gets one of n
    values, which collide in a unique index; 0: what a put fills in is unique to the operation.
    `edges` of the values by column name lie at the edge of a type that the column may have by then,
    or just beyond it.
    """

    name: ClassVar[str] = "mixed"
    summary: ClassVar[str] = "transactions of every shape over one table or several"
    cannot: ClassVar[dict[str, dict[str, str]]] = {
        "fdb": {
            "views": "the layer resolves names of tables alone",
            "as_of": "the store gives the versions that are read, no clock tells one",
            "partition_aware": "clients have no way to a row but through a process of the layer",
        }
    }

    operations: int
    transaction_operations: Span = (1, 4)
    transaction_tables: Span = (1, 2)
    pause_ms: Span = (0, 40)
    gap_ms: Span = (0, 5)
    get: int = 45
    put: int = 40
    delete: int = 5
    scan: int = 5
    select: int = 5
    keys: int = 20
    zipf: float = 0.0
    hot_keys: int = 0
    hot_share: float = 0.5
    implicit: float = 0.2
    fresh: float = 0.1
    rollback: float = 0.02
    session: float = 0.25
    partition_aware: float = 0.0
    read_only: float = 0.0
    named: float = 0.0
    insert: int = 0
    strict: int = 0
    replace: int = 0
    update: int = 0
    find: int = 0
    as_of: float = 0.0
    as_of_ms: Span = (-200, 20)
    long: float = 0.0
    long_operations: Span = (3, 6)
    long_gap_ms: Span = (50, 200)
    one_row: float = 0.0
    rested: float = 0.0
    rest_ms: Span = (0, 200)
    pipelined: float = 0.0
    begun: float = 0.0
    abandoned: float = 0.0
    misses: float = 0.0
    views: float = 0.0
    by_name: float = 0.0
    bad: float = 0.0
    values: int = 0
    edges: float = 0.0
    retries: int = 3

    def verify(self) -> None:
        check(self.operations >= 1, "operations", "must be at least 1")
        check(self.keys >= 1, "keys", "must be at least 1")
        check(0 <= self.hot_keys <= self.keys, "hot_keys", f"must lie between 0 and {self.keys}")
        check(0 <= self.zipf <= 5, "zipf", "must lie between 0 and 5")
        check(self.retries >= 0, "retries", "must not be negative")
        check(self.values >= 0, "values", "must not be negative")
        for field in ("pause_ms", "gap_ms", "long_gap_ms", "rest_ms"):
            check_span(getattr(self, field), field)
        check_span(self.as_of_ms, "as_of_ms", least=-FOREVER_MS)
        for field in ("transaction_operations", "transaction_tables", "long_operations"):
            check_span(getattr(self, field), field, least=1)
        check_shares({field: getattr(self, field) for field in SHARES})
        check(min(self._weights.values()) >= 0, ", ".join(KINDS), "must not be negative")
        check(sum(self._weights.values()) > 0, ", ".join(KINDS), "must not all be 0")

    @property
    def _weights(self) -> dict[str, int]:
        return {kind: getattr(self, kind) for kind in KINDS}

    def scans(self) -> float:
        """Scans, and every `SELECT *`."""
        return (self.scan + self.select) / sum(self._weights.values())

    def programs(self, world: WorkloadWorld, dice: Dice) -> list[Program]:
        chooser = KeyChooser(
            self.keys, zipf=self.zipf, hot_keys=self.hot_keys, hot_share=self.hot_share
        )
        return [
            self._program(client, world, dice, chooser) for client in world.clients(self.clients)
        ]

    def _program(
        self, client: str, world: WorkloadWorld, dice: Dice, chooser: KeyChooser
    ) -> Program:
        shape = Die(dice.stream(client, "transactions"))
        past = Die(dice.stream(client, "read only"))
        kinds = Die(dice.stream(client, "kinds of transactions"))
        rests = Die(dice.stream(client, "rests"))
        one_row = Die(dice.stream(client, "one row"))
        shares = Shares(*(getattr(self, field) for field in Shares._fields))
        maker = OperationMaker(
            self._weights,
            (self.keys, chooser),
            shares,
            world.views,
            Die(dice.stream(client, "operations")),
            Die(dice.stream(client, "shares of operations")),
        )
        tables = world.chosen(self.tables)
        session = shape.chance(self.session)
        aware = _on(self.partition_aware, Die(dice.stream(client, "partition aware")))
        items: list[TransactionItem] = []
        left = self.operations
        while left > 0:
            item = self._transaction(
                world, tables, (shape, past, kinds, rests, one_row), maker, left
            )
            left -= sum(not isinstance(do, Rollback) for do in item.operations)
            items.append(item)
        return Program(client, tuple(items), session, aware)

    def _transaction(
        self,
        world: WorkloadWorld,
        tables: Sequence[CreateTable],
        dice: tuple[Die, Die, Die, Die, Die],
        maker: OperationMaker,
        left: int,
    ) -> TransactionItem:
        """A transaction of at most `left` operations.

        `shape` draws what every mixed workload has, `past` which of them read the past,
        `rests` how long they wait before their commit, `one_row` which of them use one row alone,
        `kinds` what else they are.
        """
        shape, past, kinds, rests, one_row = dice
        implicit = shape.chance(self.implicit)
        count = 1 if implicit else min(left, shape.count(self.transaction_operations))
        few = shape.some(tables, shape.count(self.transaction_tables))
        long = not implicit and _on(self.long, kinds)
        if long:
            count, few = min(left, kinds.count(self.long_operations)), list(tables)
        read_only = past.chance(self.read_only)
        row = maker.row(few) if _on(self.one_row, one_row) else None
        operations = [maker.operation(few, reads=read_only, row=row) for _ in range(count)]
        if shape.chance(self.rollback) and not implicit:
            operations.append(Rollback())
        as_of = read_only and _on(self.as_of, kinds)
        node = shape.pick(world.nodes)
        pause_us, gap_us = shape.duration_us(self.pause_ms), shape.duration_us(self.gap_ms)
        rested = not implicit and _on(self.rested, rests)
        return TransactionItem(
            node=node,
            operations=tuple(operations),
            pause_us=pause_us,
            gap_us=kinds.duration_us(self.long_gap_ms) if long else gap_us,
            rest_us=rests.duration_us(self.rest_ms) if rested else Micros(0),
            implicit=implicit,
            retries=self.retries,
            fresh=shape.chance(self.fresh),
            read_only=read_only,
            as_of_ms=kinds.count(self.as_of_ms) if as_of else None,
            pipelined=not implicit and _on(self.pipelined, kinds),
            begun=not implicit and _on(self.begun, kinds),
            abandoned=not implicit and _on(self.abandoned, kinds),
        )


SHARES: Final = (
    "hot_share",
    "implicit",
    "fresh",
    "rollback",
    "session",
    "partition_aware",
    "read_only",
    "named",
    "as_of",
    "long",
    "one_row",
    "rested",
    "pipelined",
    "begun",
    "abandoned",
    "misses",
    "views",
    "by_name",
    "bad",
    "edges",
)
"""The fields that are probabilities."""


def _on(share: float, die: Die) -> bool:
    """True with this probability; nothing is drawn where it is 0."""
    return share > 0 and die.chance(share)
