"""Indexes are created and dropped, while clients write rows and look for them by these indexes."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.model.ddl import ColumnSpec, CreateTable
from ddlsim.model.ops import Delete, Find, Get, Operation, Put, Update
from ddlsim.model.programs import DdlItem, Program, TransactionItem
from ddlsim.workload.base import (
    Dice,
    Die,
    Span,
    Workload,
    WorkloadWorld,
    bounds,
    check,
    check_shares,
    check_span,
    quoted,
    workload,
)
from ddlsim.workload.keys import key_of, value_of


@workload
@dataclass(frozen=True, kw_only=True)
class IndexBuilds(Workload):
    """One client creates an index of a table and drops it again, `builds` times.

    It pauses for `build_pause_ms` before it creates it, and for `stay_ms` before it drops it.

    It is on the first column that is not of the key. `clients` others run `operations` transactions
    each, of `transaction_operations` operations on `keys` rows of that table, which have one of
    `values` values in the column: `finds` is the share that looks for rows by the index, the rest
    puts, updates, deletes and gets. A share `long` has its gaps from `long_gap_ms`, so that it
    lasts over states of the index; `read_only` is the share that only looks, in the past.
    """

    name: ClassVar[str] = "index_builds"
    summary: ClassVar[str] = "an index comes and goes, under writes and queries by it"
    source: ClassVar[str] = "Apache Ignite 3, states of indexes; FoundationDB forum, post 9"

    builds: int = 3
    operations: int = 20
    transaction_operations: Span = (1, 3)
    pause_ms: Span = (0, 100)
    gap_ms: Span = 0
    long: float = 0.0
    long_gap_ms: Span = (0, 100)
    build_pause_ms: Span = (0, 100)
    stay_ms: Span = (0, 100)
    finds: float = 0.4
    read_only: float = 0.1
    implicit: float = 0.3
    keys: int = 20
    values: int = 4
    retries: int = 1

    def verify(self) -> None:
        for field in ("builds", "operations", "keys", "values"):
            check(getattr(self, field) >= 1, field, "must be at least 1")
        check(self.retries >= 0, "retries", "must not be negative")
        for field in ("pause_ms", "gap_ms", "long_gap_ms", "build_pause_ms", "stay_ms"):
            check_span(getattr(self, field), field)
        check_span(self.transaction_operations, "transaction_operations", least=1)
        shares = ("long", "finds", "read_only", "implicit")
        check_shares({field: getattr(self, field) for field in shares})

    def operations_most(self) -> int:
        most = round(bounds(self.transaction_operations)[1])
        return self.clients * self.operations * (most + 1) * (self.retries + 1) + 2 * self.builds

    def fits(self, world: WorkloadWorld) -> None:
        super().fits(world)
        check(bool(self._able(world)), "tables", "none has a column beside its key")

    def _able(self, world: WorkloadWorld) -> list[CreateTable]:
        return [table for table in world.chosen(self.tables) if _column(table) is not None]

    def programs(self, world: WorkloadWorld, dice: Dice) -> list[Program]:
        die = Die(dice.stream(f"{world.label}-ddl", "statements"))
        table = die.pick(self._able(world))
        column, index = _column(table), f"{world.label}_i"
        assert column is not None, table
        made = [
            Program(f"{world.label}-ddl", tuple(self._builds(table, column, index, world, die)))
        ]
        for client in world.clients(self.clients):
            own = Die(dice.stream(client, "transactions"))
            items = [self._item(table, column, index, world, own) for _ in range(self.operations)]
            made.append(Program(client, tuple(items)))
        return made

    def _builds(
        self, table: CreateTable, column: ColumnSpec, index: str, world: WorkloadWorld, die: Die
    ) -> list[DdlItem]:
        create = f"CREATE INDEX {index} ON {quoted(table.name)} ({quoted(column.name)})"
        drop = f"DROP INDEX {index}"
        statements = [(create, self.build_pause_ms), (drop, self.stay_ms)] * self.builds
        return [
            DdlItem(die.pick(world.nodes), sql, die.duration_us(pause_ms))
            for sql, pause_ms in statements
        ]

    def _item(
        self, table: CreateTable, column: ColumnSpec, index: str, world: WorkloadWorld, die: Die
    ) -> TransactionItem:
        reads, implicit = die.chance(self.read_only), die.chance(self.implicit)
        count = 1 if implicit else die.count(self.transaction_operations)
        operations = [self._operation(table, column, index, die, reads=reads) for _ in range(count)]
        gap_ms = self.long_gap_ms if die.chance(self.long) else self.gap_ms
        return TransactionItem(
            die.pick(world.nodes),
            tuple(operations),
            die.duration_us(self.pause_ms),
            gap_us=die.duration_us(gap_ms),
            rest_us=die.duration_us(gap_ms),
            implicit=implicit,
            retries=self.retries,
            read_only=reads,
        )

    def _operation(
        self, table: CreateTable, column: ColumnSpec, index: str, die: Die, *, reads: bool
    ) -> Operation:
        key = key_of(table, die.below(self.keys))
        values = {column.name: value_of(column, die.below(self.values))}
        if die.chance(self.finds):
            return Find(table.name, index, values)
        kind = die.below(10)
        if reads or kind == 0:
            return Get(table.name, key)
        if kind <= 2:
            return Delete(table.name, key)
        if kind <= 5:
            return Update(table.name, key, values)
        return Put(table.name, key, values)


def _column(table: CreateTable) -> ColumnSpec | None:
    """The column that is indexed."""
    return next((one for one in table.columns if one.name not in table.key), None)
