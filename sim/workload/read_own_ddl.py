"""A client issues DDL; as soon as it is acknowledged, others use it on other nodes.  [98.own]"""

from dataclasses import dataclass, field
from typing import ClassVar

from ddlsim.model.ddl import CreateTable
from ddlsim.model.ops import Ddl, Get, Operation, Put, Scan
from ddlsim.model.programs import Step
from ddlsim.units import Micros
from ddlsim.workload.base import (
    Dice,
    Die,
    Span,
    Workload,
    WorkloadWorld,
    check,
    check_shares,
    check_span,
    quoted,
    workload,
)
from ddlsim.workload.keys import key_of


@dataclass
class _Added:
    """The columns that the DDL client has added and not dropped."""

    columns: list[tuple[CreateTable, str]] = field(default_factory=list)


@workload
@dataclass(frozen=True, kw_only=True)
class ReadOwnDdl(Workload):
    """One client runs `operations` DDL statements, one after the other.

    After each acknowledgement, with no pause, `clients` new connections without any causal token
    run one operation each, on other nodes than the one that acknowledged. `drops` is the share of
    statements that drop a column added before.
    """

    name: ClassVar[str] = "read_own_ddl"
    summary: ClassVar[str] = "whatever a DDL did is used on other nodes right after its answer"
    source: ClassVar[str] = "IEP-98, a client sees its own DDL [98.own]"

    operations: int = 10
    pause_ms: Span = (0, 100)
    drops: float = 0.3
    keys: int = 20

    def verify(self) -> None:
        check(self.operations >= 1, "operations", "must be at least 1")
        check(self.keys >= 1, "keys", "must be at least 1")
        check_span(self.pause_ms, "pause_ms")
        check_shares({"drops": self.drops})

    def steps(self, world: WorkloadWorld, dice: Dice) -> list[Step]:
        die = Die(dice.stream(f"{world.label}-ddl", "statements"))
        added = _Added()
        made: list[Step] = []
        before: str | None = None
        for number in range(1, self.operations + 1):
            table, sql = self._statement(number, added, world, die)
            node, pause_us = die.pick(world.nodes), die.duration_us(self.pause_ms)
            ddl = Step(
                id=f"{world.label}-ddl-{number}",
                client=f"{world.label}-ddl",
                node=node,
                do=Ddl(sql),
                at_us=pause_us if before is None else None,
                after=before,
                plus_us=Micros(0) if before is None else pause_us,
            )
            before = f"{ddl.id}.done"
            made += [ddl, *self._users(number, node, table, world, dice)]
        return made

    def _statement(
        self, number: int, added: _Added, world: WorkloadWorld, die: Die
    ) -> tuple[CreateTable, str]:
        """A statement that adds a column, or drops one."""
        table = die.pick(world.chosen(self.tables))
        if die.chance(self.drops) and added.columns:
            table, column = added.columns.pop(die.below(len(added.columns)))
            return table, f"ALTER TABLE {quoted(table.name)} DROP COLUMN {column}"
        column = f"{world.label}_{number}"
        added.columns.append((table, column))
        return table, f"ALTER TABLE {quoted(table.name)} ADD COLUMN {column} INT"

    def _users(
        self,
        number: int,
        acknowledged_by: str,
        table: CreateTable,
        world: WorkloadWorld,
        dice: Dice,
    ) -> list[Step]:
        """New connections that use the table as soon as the DDL is acknowledged."""
        others = [node for node in world.nodes if node != acknowledged_by] or list(world.nodes)
        made = []
        for user in range(1, self.clients + 1):
            die = Die(dice.stream(f"{world.label} user {user}", f"after statement {number}"))
            key = key_of(table, die.below(self.keys))
            choices: list[Operation] = [
                Scan(table.name, metadata=True),
                Put(table.name, key),
                Get(table.name, key),
            ]
            step = f"{world.label}-{number}-{user}"
            made.append(
                Step(
                    id=step,
                    client=step,
                    node=die.pick(others),
                    do=die.pick(choices),
                    after=f"{world.label}-ddl-{number}.done",
                )
            )
        return made
