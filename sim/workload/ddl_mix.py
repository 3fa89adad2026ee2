"""DDL of every kind that the catalog has, on the tables that other clients use."""

from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Final

from ddlsim.model.programs import DdlItem, Program
from ddlsim.workload.assumed import Schema, at_start
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
from ddlsim.workload.keys import weighted
from ddlsim.workload.statements import ACTIONS, MAKERS, altered, restored

KINDS: Final = (*ACTIONS, *MAKERS)
TRIES: Final = 20
RESTORED: Final = 0.6
"""How often a table that clients miss comes back before anything else is done."""


@workload
@dataclass(frozen=True, kw_only=True)
class DdlMix(Workload):
    """Each client runs `operations` statements, made for the schema that its earlier ones leave.

    New names are each client's own; what another client renames or drops meanwhile is refused. The
    other fields are weights: actions of an ALTER TABLE alone, `compound` ones, and statements about
    tables, indexes, views and zones; `require` is SET NOT NULL, `mixed` changes type, nullability
    and default at once, `mandatory` adds a column that is NOT NULL without a default. `noop` has
    IF [NOT] EXISTS, `refused` is refused.
    """

    name: ClassVar[str] = "ddl_mix"
    summary: ClassVar[str] = "DDL of every kind on the tables that other clients use"
    source: ClassVar[str] = "IEP-110, basic schema changes"

    operations: int = 5
    pause_ms: Span = (0, 100)
    add: int = 6
    drop: int = 3
    rename: int = 2
    widen: int = 3
    narrow: int = 1
    relax: int = 1
    require: int = 3
    default: int = 2
    computed: int = 1
    mixed: int = 1
    constraint: int = 2
    drop_constraint: int = 2
    mandatory: int = 1
    compound: int = 4
    create: int = 3
    drop_table: int = 1
    rename_table: int = 2
    index: int = 2
    unique: int = 1
    drop_index: int = 2
    view: int = 1
    rename_view: int = 1
    drop_view: int = 1
    zone: int = 1
    alter_zone: int = 1
    rename_zone: int = 1
    drop_zone: int = 1
    noop: int = 1
    refused: int = 1

    def verify(self) -> None:
        check(self.operations >= 1, "operations", "must be at least 1")
        check_span(self.pause_ms, "pause_ms")
        for name in KINDS:
            check(getattr(self, name) >= 0, name, "must not be negative")
        check(sum(self._weights) > 0, ", ".join(KINDS), "must not all be 0")

    @property
    def _weights(self) -> list[int]:
        return [getattr(self, name) for name in KINDS]

    def programs(self, world: WorkloadWorld, dice: Dice) -> list[Program]:
        return [
            self._program(client, number, world, dice)
            for number, client in enumerate(world.clients(self.clients), 1)
        ]

    def _program(self, client: str, number: int, world: WorkloadWorld, dice: Dice) -> Program:
        die = Die(dice.stream(client, "statements"))
        schema = at_start(world.chosen(self.tables), "" if number == 1 else f"_{number}")
        cumulated = list(accumulate(self._weights))
        items = [
            DdlItem(
                node=die.pick(world.nodes),
                sql=_statement(cumulated, schema, die),
                pause_us=die.duration_us(self.pause_ms),
            )
            for _ in range(self.operations)
        ]
        return Program(client, tuple(items))


def _statement(cumulated: list[int], schema: Schema, die: Die) -> str:
    """A statement by the weights; of another kind where the schema has nothing for it.

    Often one that gives the clients a table back, if there is one to give.
    """
    if schema.lacks() and die.chance(RESTORED):
        return restored(schema, die)
    for _ in range(TRIES):
        kind = KINDS[weighted(cumulated, die)]
        action = ACTIONS.get(kind)
        sql = MAKERS[kind](schema, die) if action is None else altered(action, schema, die)
        if sql:
            return sql
    return MAKERS["noop"](schema, die)
