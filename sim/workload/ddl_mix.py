"""DDL of every kind that the catalog has, on the tables that other clients use."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Final

from ddlsim.model.ops import Ddl, Get, Operation, Put, Scan
from ddlsim.model.programs import DdlItem, Program, TransactionItem
from ddlsim.workload.assumed import Schema, Table, at_start
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
from ddlsim.workload.keys import key_of, weighted
from ddlsim.workload.statements import ACTIONS, MAKERS, altered, restored

KINDS: Final = (*ACTIONS, *MAKERS)
TRIES: Final = 20
RESTORED: Final = 0.9
"""How often a table that clients miss comes back before anything else is done."""
AGAIN: Final = (
    "drop_constraint",
    "drop_index",
    "rename_view",
    "drop_view",
    "alter_zone",
    "rename_zone",
    "drop_zone",
)
STATEMENTS: Final = (1, 2, 2, 3)
"""How many statements are issued while one transaction is open, each with equal chance."""
KEYS: Final = 20
"""How many keys such transactions use."""
CHANGED: Final = 0.5
"""How often such a transaction goes on with the table of the last statement."""
OTHERS: Final = 0.7
"""How often else with a table that it has not used, if there is one."""
OWN: Final = 0.5
"""How often then with one that this client has created, where no other client holds locks."""
REUSED: Final = 0.3
"""How often a statement is of `AGAIN`, about what earlier ones have made, if there is any."""


@workload
@dataclass(frozen=True, kw_only=True)
class DdlMix(Workload):
    """Each client runs `operations` statements, made for the schema that its earlier ones leave.

    New names are each client's own; what another client renames or drops meanwhile is refused. The
    other fields are weights: actions of an ALTER TABLE alone, `compound` ones, and statements about
    tables, indexes, views and zones; `require` is SET NOT NULL, `mixed` changes type, nullability
    and default at once, `mandatory` adds a column that is NOT NULL without a default, `again`
    drops a column and adds one of its name. `noop` has IF [NOT] EXISTS, `refused` is refused.
    `inside` is the probability that the next few statements are issued while a transaction of the
    same client is open, which has used a table before the first and mostly uses another after each,
    `inside_gap_ms` apart; the statements are mostly about tables that it has used. `reads` is the
    probability that after another statement a read-only transaction reads the table changed last.
    `session` is the share of clients with a causal token.
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
    mixed: int = 3
    constraint: int = 3
    drop_constraint: int = 2
    mandatory: int = 1
    again: int = 0
    compound: int = 4
    create: int = 3
    drop_table: int = 1
    rename_table: int = 2
    index: int = 3
    unique: int = 1
    drop_index: int = 2
    view: int = 2
    rename_view: int = 1
    drop_view: int = 1
    zone: int = 3
    alter_zone: int = 2
    rename_zone: int = 1
    drop_zone: int = 1
    noop: int = 1
    refused: int = 1
    inside: float = 0.0
    inside_gap_ms: Span = 0
    reads: float = 0.0
    session: float = 0.0

    def verify(self) -> None:
        check(self.operations >= 1, "operations", "must be at least 1")
        check_span(self.pause_ms, "pause_ms")
        check_span(self.inside_gap_ms, "inside_gap_ms")
        check_shares({"inside": self.inside, "reads": self.reads, "session": self.session})
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
        own = Die(dice.stream(client, "transactions"))
        past = Die(dice.stream(client, "read only"))
        suffix = "" if number == 1 else f"_{number}"
        schema = at_start(world.chosen(self.tables), world.views, suffix)
        cumulated = list(accumulate(self._weights))
        items: list[DdlItem | TransactionItem] = []
        left = self.operations
        while left > 0:
            node = die.pick(world.nodes)
            count = min(own.pick(STATEMENTS), left) if own.chance(self.inside) else 0
            left -= max(count, 1)
            if count:
                made = tuple(
                    _across(count, schema, own, lambda: _statement(cumulated, schema, die))
                )
                pause_us = die.duration_us(self.pause_ms)
                gap_us = own.duration_us(self.inside_gap_ms)
                items.append(TransactionItem(node, made, pause_us, gap_us, retries=0))
            else:
                sql = _statement(cumulated, schema, die)
                items.append(DdlItem(node, sql, die.duration_us(self.pause_ms)))
                if self.reads and schema.changed is not None and past.chance(self.reads):
                    items.append(self._read(schema.changed, world, past))
        session = Die(dice.stream(client, "session")).chance(self.session)
        return Program(client, tuple(items), session)

    def _read(self, table: Table, world: WorkloadWorld, die: Die) -> TransactionItem:
        """A read-only transaction on any node."""
        node, pause_us = die.pick(world.nodes), die.duration_us(self.pause_ms)
        scan = Scan(table.name, metadata=True)
        return TransactionItem(node, (scan,), pause_us, retries=0, read_only=True)


def _across(
    count: int, schema: Schema, die: Die, statement: Callable[[], str]
) -> Iterator[Operation]:
    """The operations of a transaction that is open while its client issues `count` statements."""
    schema.used.clear()
    yield from (_use(schema, die) for _ in range(die.between(1, 2)))
    for _ in range(count):
        yield Ddl(statement())
        yield from (_use(schema, die) for _ in range(die.below(3)))
    schema.used.clear()


def _use(schema: Schema, die: Die) -> Operation:
    """An operation, mostly on a table that changed last or that the transaction has not used."""
    table = _table(schema, die)
    schema.used.append(table)
    number = die.below(KEYS)
    key = number if table.spec is None else key_of(table.spec, number)
    kinds: tuple[Operation, ...] = (
        Get(table.name, key),
        Put(table.name, key),
        Scan(table.name, metadata=True),
    )
    return die.pick(kinds)


def _table(schema: Schema, die: Die) -> Table:
    changed = schema.changed
    if schema.used and changed is not None and changed in schema.tables and die.chance(CHANGED):
        return changed
    others = [table for table in schema.tables if table not in schema.used]
    tables = others if others and die.chance(OTHERS) else schema.tables
    own = [table for table in tables if table.spec is None]
    return die.pick(own if own and die.chance(OWN) else tables)


def _statement(cumulated: list[int], schema: Schema, die: Die) -> str:
    """A statement by the weights; of another kind where the schema has nothing for it.

    Often one that gives the clients a table back, if there is one to give, or one about what
    earlier statements have made.
    """
    if schema.lacks() and die.chance(RESTORED):
        return restored(schema, die)
    again = die.some(AGAIN, len(AGAIN)) if die.chance(REUSED) else []
    drawn = (KINDS[weighted(cumulated, die)] for _ in range(TRIES))
    for kind in (*(kind for kind in again if _has_weight(cumulated, kind)), *drawn):
        action = ACTIONS.get(kind)
        sql = MAKERS[kind](schema, die) if action is None else altered(action, schema, die)
        if sql:
            return sql
    return MAKERS["noop"](schema, die)


def _has_weight(cumulated: list[int], kind: str) -> bool:
    at = KINDS.index(kind)
    return cumulated[at] > (cumulated[at - 1] if at else 0)
