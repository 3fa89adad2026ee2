"""A workload: what clients do, as programs that are drawn before the run.

Its fields are the keys of its `[[workload]]` table in a scenario. All chance comes from `dice`, one
stream for each client, so that one client more leaves the others as they were.
"""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.model.ops import Get, Put
from ddlsim.model.programs import Program, TransactionItem
from ddlsim.workload.base import (
    Dice,
    Die,
    Span,
    Workload,
    WorkloadWorld,
    check,
    check_span,
    workload,
)
from ddlsim.workload.keys import key_of


@workload
@dataclass(frozen=True, kw_only=True)
class MyWorkload(Workload):
    """Every client runs transactions that read a row and write it, with pauses between them."""

    name: ClassVar[str] = "my_workload"
    summary: ClassVar[str] = "transactions that read a row and write it"

    operations: int = 100
    keys: int = 10
    pause_ms: Span = (1, 20)

    def verify(self) -> None:
        check(self.keys >= 1, "keys", "must be at least 1")
        check(self.operations >= 2, "operations", "must be at least 2")
        check_span(self.pause_ms, "pause_ms")

    def programs(self, world: WorkloadWorld, dice: Dice) -> list[Program]:
        tables = world.chosen(self.tables)
        made = []
        for client in world.clients(self.clients):
            die = Die(dice.stream(client, "transactions"))
            items = []
            for _ in range(self.operations // 2):
                table = die.pick(tables)
                key = key_of(table, die.below(self.keys))
                item = TransactionItem(
                    node=die.pick(world.nodes),
                    operations=(Get(table.name, key), Put(table.name, key)),
                    pause_us=die.duration_us(self.pause_ms),
                )
                items.append(item)
            made.append(Program(client, tuple(items)))
        return made
