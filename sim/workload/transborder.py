"""Transactions that begin before a planned DDL activates and go on after it."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from msgspec.structs import replace

from ddlsim.model.ops import Commit, Get, Operation, Put
from ddlsim.model.programs import Step
from ddlsim.units import Micros, ms
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
    workload,
)
from ddlsim.workload.keys import key_of


@workload
@dataclass(frozen=True, kw_only=True)
class Transborder(Workload):
    """For each planned DDL every client runs one transaction across its activation.

    `before` operations lie in the `before_ms` up to the activation, `after` operations and the
    commit in the `after_ms` that follow. It is awaited a DD after the statement's own instant; a
    statement whose instant lies behind the load is not begun, and has no transactions. Of the
    transactions, `read_only` read the past; `writes` is the share of the others' operations that
    write.
    """

    name: ClassVar[str] = "transborder"
    summary: ClassVar[str] = "transactions across the activation of each planned DDL"
    source: ClassVar[str] = "IEP-110, transborder transactions [110.border]"

    before: Span = (1, 3)
    after: Span = (0, 2)
    before_ms: Span = (1, 60)
    after_ms: Span = (0, 60)
    writes: float = 0.5
    read_only: float = 0.0
    keys: int = 20

    def verify(self) -> None:
        check(self.keys >= 1, "keys", "must be at least 1")
        check_span(self.before, "before", least=1)
        for field in ("after", "before_ms", "after_ms"):
            check_span(getattr(self, field), field)
        check_shares({"writes": self.writes, "read_only": self.read_only})

    def operations_most(self) -> int:
        return self.clients * round(bounds(self.before)[1] + bounds(self.after)[1] + 1)

    def fits(self, world: WorkloadWorld) -> None:
        super().fits(world)
        what = "transborder needs a [[migration]]: it works around its planned instants"
        check(bool(world.planned_ddl), "name", what)

    def steps(self, world: WorkloadWorld, dice: Dice) -> list[Step]:
        return [
            step
            for client in world.clients(self.clients)
            for step in self._client(client, world, Die(dice.stream(client, "transactions")))
        ]

    def _client(self, client: str, world: WorkloadWorld, die: Die) -> list[Step]:
        made: list[Step] = []
        for number, ddl in enumerate(world.planned_ddl, 1):
            if world.load_us is not None and ddl.at_us > world.load_us:
                break  # they are sorted by their instants
            border_us = ddl.at_us + ms(world.delay_duration_ms)
            instants = self._instants(border_us, die)
            reads = bool(self.read_only) and die.chance(self.read_only)
            writes = 0.0 if reads else self.writes
            operations = [self._operation(world, die, writes) for _ in instants[:-1]]
            first, *others = _chain(
                f"{client}-{number}", client, die.pick(world.nodes), instants, operations
            )
            made += [replace(first, read_only=reads), *others]
        return made

    def _instants(self, border_us: int, die: Die) -> list[int]:
        """The instants at which the operations are due, and last that of the commit."""
        before = [
            max(0, border_us - die.duration_us(self.before_ms))
            for _ in range(die.count(self.before))
        ]
        after = [border_us + die.duration_us(self.after_ms) for _ in range(die.count(self.after))]
        commit = border_us + die.duration_us(self.after_ms)
        return [*sorted(before), *sorted([*after, commit])]

    def _operation(self, world: WorkloadWorld, die: Die, writes: float) -> Operation:
        table = die.pick(world.chosen(self.tables))
        key = key_of(table, die.below(self.keys))
        return Put(table.name, key) if die.chance(writes) else Get(table.name, key)


def _chain(
    tx: str, client: str, node: str, instants: list[int], operations: list[Operation]
) -> list[Step]:
    """The first operation at its instant, each other a pause after the end of the one before."""
    first = Step(f"{tx}-1", client, node, operations[0], tx, at_us=Micros(instants[0]))
    gaps = [later - earlier for earlier, later in pairwise(instants)]
    following = [
        Step(
            id=f"{tx}-{number + 1}",
            client=client,
            node=node,
            do=do,
            tx=tx,
            after=f"{tx}-{number}.done",
            plus_us=Micros(gap),
        )
        for number, (gap, do) in enumerate(zip(gaps, [*operations[1:], Commit()], strict=True), 1)
    ]
    return [first, *following]
