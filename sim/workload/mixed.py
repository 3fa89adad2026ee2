"""Transactions of every shape: reads, writes, deletes and scans over one table or several."""

from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from ddlsim.model.ddl import CreateTable
from ddlsim.model.ops import Delete, Get, Operation, Put, Rollback, Scan
from ddlsim.model.programs import Program, TransactionItem
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
from ddlsim.workload.keys import KeyChooser, key_of, weighted


@workload
@dataclass(frozen=True, kw_only=True)
class Mixed(Workload):
    """Each client runs `operations` data operations, grouped into transactions.

    `get`, `put`, `delete`, `scan` and `select` (a `SELECT *`, which shows the columns) are weights.
    `implicit`, `fresh`, `rollback` and `session` are shares: of transactions without begin and
    commit, on a new connection, rolled back at the end; of clients with a causal token; `read_only`
    of transactions that read the past, and where the others write, read; `named` of the gets that
    name the columns which the table has at the start. With `values` n each column that a put fills
    gets one of n values, which collide in a unique index; 0: values unique to the operation.
    """

    name: ClassVar[str] = "mixed"
    summary: ClassVar[str] = "transactions of every shape over one table or several"

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
    read_only: float = 0.0
    named: float = 0.0
    values: int = 0
    retries: int = 3

    def verify(self) -> None:
        check(self.operations >= 1, "operations", "must be at least 1")
        check(self.keys >= 1, "keys", "must be at least 1")
        check(0 <= self.hot_keys <= self.keys, "hot_keys", f"must lie between 0 and {self.keys}")
        check(0 <= self.zipf <= 5, "zipf", "must lie between 0 and 5")
        check(self.retries >= 0, "retries", "must not be negative")
        check(self.values >= 0, "values", "must not be negative")
        for field in ("pause_ms", "gap_ms"):
            check_span(getattr(self, field), field)
        for field in ("transaction_operations", "transaction_tables"):
            check_span(getattr(self, field), field, least=1)
        shares = ("hot_share", "implicit", "fresh", "rollback", "session", "read_only", "named")
        check_shares({field: getattr(self, field) for field in shares})
        check(min(self._weights) >= 0, "get, put, delete, scan, select", "must not be negative")
        check(sum(self._weights) > 0, "get, put, delete, scan, select", "must not all be 0")

    @property
    def _weights(self) -> tuple[int, ...]:
        return (self.get, self.put, self.delete, self.scan, self.select)

    def scans(self) -> float:
        """Scans, and every `SELECT *`."""
        return (self.scan + self.select) / sum(self._weights)

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
        rows = Die(dice.stream(client, "operations"))
        past = Die(dice.stream(client, "read only"))
        names = Die(dice.stream(client, "named"))
        tables = world.chosen(self.tables)
        kinds = list(accumulate(self._weights))
        session = shape.chance(self.session)
        items: list[TransactionItem] = []
        left = self.operations
        while left > 0:
            implicit = shape.chance(self.implicit)
            count = 1 if implicit else min(left, shape.count(self.transaction_operations))
            few = shape.some(tables, shape.count(self.transaction_tables))
            operations = [
                _operation(rows.pick(few), kinds, chooser, rows, self.values) for _ in range(count)
            ]
            left -= count
            read_only = past.chance(self.read_only)
            if read_only:
                operations = [_reading(do) for do in operations]
            if self.named:
                operations = [
                    _naming(do, few) if names.chance(self.named) else do for do in operations
                ]
            if shape.chance(self.rollback) and not implicit:
                operations.append(Rollback())
            items.append(
                TransactionItem(
                    node=shape.pick(world.nodes),
                    operations=tuple(operations),
                    pause_us=shape.duration_us(self.pause_ms),
                    gap_us=shape.duration_us(self.gap_ms),
                    implicit=implicit,
                    retries=self.retries,
                    fresh=shape.chance(self.fresh),
                    read_only=read_only,
                )
            )
        return Program(client, tuple(items), session)


def _operation(
    table: CreateTable, kinds: list[int], chooser: KeyChooser, rows: Die, values: int
) -> Operation:
    """An operation on a table; `kinds` are the weights, added up."""
    kind = weighted(kinds, rows)
    key = key_of(table, chooser.choose(rows))
    if kind == 0:
        return Get(table.name, key)
    if kind == 1:
        return Put(table.name, key, spread=values)
    return Delete(table.name, key) if kind == 2 else Scan(table.name, metadata=kind == 4)


def _reading(do: Operation) -> Operation:
    """The operation in a read-only transaction: a write becomes a read of its row."""
    return Get(do.table, do.key) if isinstance(do, Put | Delete) else do


def _naming(do: Operation, tables: list[CreateTable]) -> Operation:
    """A get with the names of the columns that its table has at the start, keys apart."""
    if not isinstance(do, Get):
        return do
    table = next(one for one in tables if one.name == do.table)
    names = tuple(column.name for column in table.columns if column.name not in table.key)
    return Get(do.table, do.key, columns=names)
