"""A drawn plan as a scripted scenario: the same run, with every choice written down.

Steps have the ids of the operations that the plan's clients issued, at the instants at which they
issued them, so that with the same seed every message takes as long as before. Only what was really
issued becomes a step; a retry is a step of its own. Faults, clocks and the ends of load and drain
are those of the plan. Latencies stay distributions: `ddlsim.shrink.latencies` writes them down.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, Final, NamedTuple

from ddlsim.cluster.clients import ClientHost, Outcome
from ddlsim.cluster.run import Run
from ddlsim.model.ddl import Statement
from ddlsim.model.ops import (
    Begin,
    Commit,
    DataOperation,
    Ddl,
    Delete,
    Find,
    Get,
    Insert,
    Key,
    Operation,
    Put,
    Rollback,
    Scan,
    Update,
)
from ddlsim.model.schema import Value
from ddlsim.nemesis.base import FAULTS
from ddlsim.nemesis.roles import COORDINATOR
from ddlsim.plan.plan import plan as planned
from ddlsim.plan.records import FaultPlan, MomentPlan, NodePlan, Plan
from ddlsim.scenario.declared import Declared
from ddlsim.scenario.loosened import without_expectations
from ddlsim.scenario.overrides import apply_overrides
from ddlsim.scenario.scenario import Scenario, parse_toml
from ddlsim.scenario.steps import NULL
from ddlsim.shrink.data import Data, Table, schema_of
from ddlsim.sql import parse
from ddlsim.units import US_PER_MS, Micros

HEAD: Final = (
    "title", "source", "clauses", "expect", "expect_under", "reaches", "never_reaches", "finding",
)  # fmt: skip
"""The keys of a file that say what it shows and what is expected of it."""
DRAWN: Final = ("workload", "migration", "step", "faults", "clocks", "run", "schema")
"""The tables that are replaced by what was drawn."""


class Issued(NamedTuple):
    """An operation that a client issued, and whether its connection was a new one.

    `begin` says how its transaction began with it; `waits` is false where the client had not got
    the answer to what it issued before, `awaited` where it does not wait for this answer.
    """

    at_us: Micros
    client: ClientHost
    op: str
    tx: str | None
    node: str
    do: Operation
    begin: Begin | None = None
    fresh: bool = False
    waits: bool = True
    awaited: bool = True


def scripted(scenario: Scenario, seed: int) -> Data:
    """The data of a scripted scenario that does what the run of this seed does."""
    plan = planned(scenario, seed)
    data = settled(scenario)
    steps = data.get("step", [])
    steps = [*steps, *_steps(plan, {step["id"] for step in steps})]
    faults = _faults(plan.faults, data.get("faults", []))
    tables: Data = {
        "run": {"load_ms": in_ms(plan.load_until_us), "drain_ms": in_ms(plan.drain_us)},
        "clocks": _clocks(plan.nodes),
        "schema": schema_of([line.sql for line in scenario.schema]),
        "step": steps,
        "faults": [_of_clients(one, steps, plan.nodes[0].name) for one in faults],
    }
    kept = {key: value for key, value in data.items() if key not in DRAWN}
    return {**kept, **{name: table for name, table in tables.items() if table}}


def settled(scenario: Scenario) -> Data:
    """The scenario's data with what was set over it, without its head and what steps expect."""
    data = apply_overrides(parse_toml(scenario.text, scenario.name), scenario.overrides)
    for key in HEAD:
        data.pop(key, None)
    without_expectations(data.get("step", []))
    for step, read in zip(data.get("step", []), scenario.steps, strict=True):
        step["node"] = read.node
        if read.at_us is not None:
            step["at_ms"] = in_ms(read.at_us)
            step.pop("plus_ms", None)
    return data


def in_ms(us: int) -> float | int:
    """Microseconds as milliseconds, whole ones as integers."""
    whole, rest = divmod(us, US_PER_MS)
    return us / US_PER_MS if rest else whole


def neat(value: Any) -> Any:
    """A whole number as an integer; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# --- machines and faults -------------------------------------------------------------------------


def _clocks(nodes: tuple[NodePlan, ...]) -> Table:
    """Every node's clock, exactly; nothing for a true one."""
    own: Table = {}
    for node in nodes:
        clock: Table = {}
        if node.clock_offset_us:
            clock["offset_ms"] = in_ms(node.clock_offset_us)
        if node.clock_drift_ppm:
            clock["drift_ppm"] = node.clock_drift_ppm
        if clock:
            own[node.name] = clock
    return {"nodes": own} if own else {}


def _faults(faults: tuple[FaultPlan, ...], own: list[Table]) -> list[Table]:
    """The tables of faults; `own` are those in the scenario.

    A scenario may not name two faults that need the same of a node at a time, dice may: the later
    ones are left out. A node that several faults stop runs again when the last of them ends.
    """
    kept: list[FaultPlan] = []
    tables: list[Table] = []
    for fault, table in zip(faults, own, strict=True):
        if not any(_clash(fault, other) for other in kept):
            kept.append(fault)
            tables.append(_fault(fault, table))
    return tables


def _of_clients(fault: Table, steps: Sequence[Table], first: str) -> Table:
    """A fault of clients that issue some step: of any other the first node is the coordinator."""
    known = {step["client"] for step in steps}

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(one) for one in value]
        match = COORDINATOR.match(value) if isinstance(value, str) else None
        return first if match is not None and match[1] not in known else value

    return {key: named(value) for key, value in fault.items()}


def _clash(one: FaultPlan, two: FaultPlan) -> bool:
    """Whether two faults without moments last at one time and need the same of a node."""
    if any(fault.when is not None or fault.until is not None for fault in (one, two)):
        return False
    ends = [fault.until_us for fault in (one, two) if fault.until_us is not None]
    if ends and max(one.from_us, two.from_us) >= min(ends):
        return False
    first, second = (FAULTS.get(fault.name)(**fault.fields).claims() for fault in (one, two))
    return any(
        (mine.thing, mine.node) == (other.thing, other.node) and (mine.alone or other.alone)
        for mine, other in product(first, second)
    )


def _fault(fault: FaultPlan, own: Table) -> Table:
    """A fault with its fields and instants as they were drawn; `own` is its table in the scenario.

    What else that says, such as the moment at which it begins, stays as it is.
    """
    fields = {
        name: list(value) if isinstance(value, tuple) else neat(value)
        for name, value in fault.fields.items()
        if value is not None and value != ()
    }
    times: Table = {"from_ms": in_ms(fault.from_us)}
    if fault.until_us is not None:
        times["for_ms"] = in_ms(fault.until_us - fault.from_us)
    if fault.for_us is not None:
        times["for_ms"] = in_ms(fault.for_us)
    for key, moment in (("when", fault.when), ("until", fault.until)):
        if moment is not None:
            times[key] = _moment(moment)
    return {**own, **fields, **times}


def _moment(moment: MomentPlan) -> Table:
    """A moment as it was drawn."""
    table: Table = {} if moment.name is None else {"moment": moment.name}
    for key in ("node", "tx", "table", "at"):
        if getattr(moment, key) is not None:
            table[key] = getattr(moment, key)
    if moment.nth > 1:
        table["nth"] = moment.nth
    if moment.where:
        table["where"] = dict(moment.where)
    if moment.plus_us:
        table["plus_ms"] = in_ms(moment.plus_us)
    return table


# --- steps ---------------------------------------------------------------------------------------


class _NotedClient(ClientHost):
    """A client that notes what it issues in its cluster's `issued`."""

    fresh = False

    async def perform(
        self,
        op: str,
        tx: str | None,
        node: str,
        do: Any,
        begin: Begin | None = None,
    ) -> Outcome:
        now_us, waits = self.elapsed_us(), not self.open
        self.issued.append(Issued(now_us, self, op, tx, node, do, begin, self.fresh, waits))
        self.fresh = False
        return await super().perform(op, tx, node, do, begin)

    def forget_schemas(self) -> None:
        self.fresh = True
        super().forget_schemas()

    def abandon(self, op: str, tx: str, node: str) -> None:
        now_us, waits = self.elapsed_us(), not self.open
        self.issued.append(
            Issued(now_us, self, op, tx, node, Rollback(), None, waits=waits, awaited=False)
        )
        super().abandon(op, tx, node)

    @property
    def issued(self) -> list[Issued]:
        """Everything issued so far by all clients of the run."""
        found: list[Issued] = self.cluster.__dict__.setdefault("issued", [])
        return found


class _NotedRun(Run):
    client_class = _NotedClient


def _steps(plan: Plan, own: set[str]) -> list[Table]:
    """A step for everything that a client issued beyond the scenario's `own` steps."""
    run = _NotedRun(plan)
    with suppress(Exception, SystemExit):  # one that crashes has issued what it has
        run.carry_out()
    issued: list[Issued] = run.cluster.__dict__.get("issued", [])
    writer = Writer(plan, [one.do.sql for one in issued if isinstance(one.do, Ddl)])
    return [writer.step(one) for one in issued if one.op not in own]


def _statements(text: str) -> Iterator[Statement]:
    """The DDL of a text."""
    for parsed in parse(text):
        if not isinstance(parsed.statement, Get | Scan):
            yield parsed.statement


class Writer:
    """Writes operations as a scenario has them whose clients issue the statements `ddl`."""

    def __init__(self, plan: Plan, ddl: Sequence[str] = ()) -> None:
        self._last: dict[str, str] = {}  # by client, the end of what it issued last
        self._reads: dict[str | None, bool] = {}  # by transaction, whether it only reads
        self._awaited = {step.id: step.after for step in plan.steps}
        own = [step.do.sql for step in plan.steps if isinstance(step.do, Ddl)]
        texts = (plan.schema_sql or "", *own, *ddl)
        self._declared = Declared(one for text in texts for one in _statements(text))
        self._names, self._types = self._declared.readable, self._declared.types

    def step(self, issued: Issued) -> Table:
        """A step that issues the operation again."""
        begin = issued.do if isinstance(issued.do, Begin) else issued.begin or Begin()
        step: Table = {"id": issued.op, "client": issued.client.name}
        if issued.tx is not None:
            step["tx"] = issued.tx
        step |= {"node": issued.node, "at_ms": in_ms(issued.at_us)}
        if (after := self._after(issued)) is not None:
            step["after"] = after
        for key, holds in (
            ("session", issued.client.session),
            ("read_only", begin.read_only),
            ("fresh", issued.fresh),
        ):
            step |= {key: True} if holds else {}
        if begin.as_of_ms is not None:
            step["as_of_ms"] = begin.as_of_ms
        if isinstance(issued.do, Ddl):
            refused = any(self._declared.refused(one, "") for one in _statements(issued.do.sql))
            return {**step, "ddl": issued.do.sql} | ({"misfit": True} if refused else {})
        if isinstance(issued.do, Put) and issued.do.spread and issued.do.values is None:
            step["values"] = issued.do.spread
        if issued.tx is None or issued.begin is not None or isinstance(issued.do, Begin):
            self._reads[issued.tx] = begin.read_only
        if self._misfits(issued.do, reads=self._reads.get(issued.tx, False)):
            step["misfit"] = True
        return {**step, "do": self.do(issued.do)}

    def _after(self, issued: Issued) -> str | None:
        """What a workload's step waits for; of a program's operation the end of the one before."""
        before = self._last.get(issued.client.name)
        if issued.awaited:
            self._last[issued.client.name] = f"{issued.op}.done"
        if before is not None and not issued.waits:
            before = f"{before.removesuffix('.done')}.invoked"
        return self._awaited.get(issued.op, before)

    def do(self, do: Operation) -> str | list[Any]:
        """An operation as the key `do` has it."""
        match do:
            case Begin() | Commit() | Rollback():
                return str(do.__struct_config__.tag)
            case Get(metadata=False, columns=()):
                return ["get", do.table, _key(do.key)]
            case Scan(metadata=False, columns=()):
                return ["scan", do.table]
            case Find():
                return ["find", do.table, do.index, _given(do.values)]
            case Get() | Scan():
                columns = "*" if do.metadata else ", ".join(do.columns)
                where = "" if isinstance(do, Scan) else self._where(do.table, do.key)
                return f"SELECT {columns} FROM {do.table}{where}"
            case Delete():
                return ["delete", do.table, _key(do.key)]
            case Update():
                pairs = ", ".join(f"{name} = {_sql(value)}" for name, value in do.values.items())
                return f"UPDATE {do.table} SET {pairs}{self._where(do.table, do.key)}"
            case Insert(strict=True, values=None):
                return ["strict", do.table, _key(do.key)]
            case Insert(strict=True):
                values = {**self._named(do.table, do.key), **(do.values or {})}
                names, cells = ", ".join(values), ", ".join(map(_sql, values.values()))
                return f"INSERT INTO {do.table} ({names}) VALUES ({cells})"
        assert not isinstance(do, Ddl), do
        written: list[Any] = [str(do.__struct_config__.tag), do.table, _key(do.key)]
        return written if do.values is None else [*written, _given(do.values)]

    def _misfits(self, do: Operation, *, reads: bool) -> bool:
        """Whether it names what no table has: a table, a column, a value; gives a part of its key
        another value; or writes in a reader.
        """
        if not isinstance(do, DataOperation):
            return False
        if do.table not in self._names or (reads and not isinstance(do, Get | Scan | Find)):
            return True
        values = getattr(do, "values", None) or {}
        types, table = self._types, do.table
        written = {} if isinstance(do, Find) else values
        return any(
            types.lacks(table, name) or types.wrong_value(table, name, value)
            for name, value in (*dict.fromkeys(do.columns).items(), *values.items())
        ) or any(types.not_of_key(table, do.key, name, value) for name, value in written.items())

    def _where(self, table: str, key: Key) -> str:
        named = self._named(table, key)
        return " WHERE " + " AND ".join(f"{name} = {_sql(value)}" for name, value in named.items())

    def _named(self, table: str, key: Key) -> dict[str, Value]:
        """The columns of a key with their values."""
        parts = key if isinstance(key, tuple) else (key,)
        names = self._types.key_names(table, len(parts))
        return dict(zip(names, parts, strict=True))


def _key(key: Key) -> Any:
    return list(key) if isinstance(key, tuple) else key


def _given(values: Mapping[str, Value]) -> Table:
    """Values by the names of columns, as steps have them."""
    return {name: NULL if one is None else one for name, one in values.items()}


def _sql(value: Value) -> str:
    """A constant as SQL writes it."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if value is None or isinstance(value, bool):
        return str(value).upper().replace("NONE", "NULL")
    return str(value)
