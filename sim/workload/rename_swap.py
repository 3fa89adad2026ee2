"""Two tables exchange their names, again and again, under transactions that use both names."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.model.ddl import CreateTable
from ddlsim.model.ops import Get, Operation, Put
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
from ddlsim.workload.keys import key_of


@workload
@dataclass(frozen=True, kw_only=True)
class RenameSwap(Workload):
    """One client swaps the first two tables `swaps` times, by three renames each.

    `clients` others run `operations` transactions each, which use both names.
    """

    name: ClassVar[str] = "rename_swap"
    summary: ClassVar[str] = "two tables exchange their names under transactions that use both"
    source: ClassVar[str] = "IEP-110, renamed tables [110.table.rename]"

    operations: int = 20
    swaps: int = 3
    swap_pause_ms: Span = (0, 200)
    pause_ms: Span = (0, 40)
    gap_ms: Span = (0, 40)
    transaction_operations: Span = (2, 4)
    writes: float = 0.5
    keys: int = 10
    retries: int = 3

    def verify(self) -> None:
        for name in ("operations", "swaps", "keys"):
            check(getattr(self, name) >= 1, name, "must be at least 1")
        check(self.retries >= 0, "retries", "must not be negative")
        for name in ("swap_pause_ms", "pause_ms", "gap_ms"):
            check_span(getattr(self, name), name)
        check_span(self.transaction_operations, "transaction_operations", least=1)
        check_shares({"writes": self.writes})

    def operations_most(self) -> int:
        most = self.operations * round(bounds(self.transaction_operations)[1])
        return self.clients * most + self.swaps

    def fits(self, world: WorkloadWorld) -> None:
        check(len(world.chosen(self.tables)) >= 2, "tables", "a swap takes two of them")

    def programs(self, world: WorkloadWorld, dice: Dice) -> list[Program]:
        pair = world.chosen(self.tables)[:2]
        users = [self._user(client, pair, world, dice) for client in world.clients(self.clients)]
        return [self._swapper(pair, world, dice), *users]

    def _swapper(self, pair: tuple[CreateTable, ...], world: WorkloadWorld, dice: Dice) -> Program:
        client = f"{world.label}-swapper"
        die = Die(dice.stream(client, "swaps"))
        one, other = (quoted(table.name) for table in pair)
        aside = f"{world.label}_aside"
        items = []
        for _ in range(self.swaps):
            node, pause_us = die.pick(world.nodes), die.duration_us(self.swap_pause_ms)
            for old, new in ((one, aside), (other, one), (aside, other)):
                items.append(DdlItem(node, f"ALTER TABLE {old} RENAME TO {new}", pause_us))
        return Program(client, tuple(items))

    def _user(
        self, client: str, pair: tuple[CreateTable, ...], world: WorkloadWorld, dice: Dice
    ) -> Program:
        die = Die(dice.stream(client, "transactions"))
        items = [
            TransactionItem(
                node=die.pick(world.nodes),
                operations=tuple(
                    self._operation(die.pick(pair), die)
                    for _ in range(die.count(self.transaction_operations))
                ),
                pause_us=die.duration_us(self.pause_ms),
                gap_us=die.duration_us(self.gap_ms),
                retries=self.retries,
            )
            for _ in range(self.operations)
        ]
        return Program(client, tuple(items))

    def _operation(self, table: CreateTable, die: Die) -> Operation:
        key = key_of(table, die.below(self.keys))
        return Put(table.name, key) if die.chance(self.writes) else Get(table.name, key)
