"""The faults of a scenario: their targets must exist, their times must lie inside the run."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from ddlsim.kernel.rng import Constant, Exponential, Spread, Uniform
from ddlsim.model.ddl import AlterZone, CreateTable, CreateZone, RenameTable, RenameZone
from ddlsim.model.records import Record
from ddlsim.nemesis.base import FAULTS, Fault
from ddlsim.nemesis.one_message import CLIENT_REQUEST, DoubledMessage
from ddlsim.nemesis.roles import (
    COORDINATOR,
    DRAWN,
    ITS_GROUP,
    ITS_PARTITION,
    LEADER,
    OF_MOMENTS,
    SHOWN,
    table_of,
)
from ddlsim.protocol.schema.ddl import DEFAULT_PARTITIONS, DEFAULT_REPLICAS
from ddlsim.scenario.checks import check_group, check_not_negative, check_place
from ddlsim.scenario.config import TableRecord
from ddlsim.scenario.moments import (
    SENT,
    Moment,
    MomentTable,
    When,
    check_moment,
    check_role_of_moment,
    find_moment,
    moment_table,
)
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, convert, fields_of, near, unknown_key
from ddlsim.scenario.registries import plugin
from ddlsim.scenario.sqltext import SqlLine
from ddlsim.scenario.vocabulary import check_kind
from ddlsim.units import Ms, decimal

INSTANT_MS: Final = 0.001
"""The duration of a fault that happens at an instant: the smallest one."""


class FaultTimes(TableRecord, frozen=True):
    """When a fault happens; without `for_ms` and `until` it lasts until the load ends.

    With `when` it begins at a moment, of which only what happens since `from_ms` counts; `until`
    is the moment at which it heals.
    """

    from_ms: Ms | Spread = 0
    for_ms: Ms | Spread | None = None
    when: When | None = None
    until: When | None = None

    @property
    def begins(self) -> MomentTable | None:
        """The moment at which the fault begins."""
        return moment_table(self.when)

    @property
    def heals(self) -> MomentTable | None:
        """The moment at which the fault heals."""
        return moment_table(self.until)


TIMES: Final = tuple(FaultTimes.__struct_fields__)


class FaultEntry(Record, frozen=True):
    """A `[[faults]]`."""

    times: FaultTimes
    fault: Fault


class FaultTargets(NamedTuple):
    """The targets that a fault may name: nodes, tables with their partitions, clients."""

    nodes: tuple[str, ...]
    tables: Mapping[str, int]
    is_client: Callable[[str], bool]
    moment: Moment | None = None
    """The one at which the fault begins."""


class Placed(NamedTuple):
    """How many partitions a table has, and how many replicas each of them."""

    partitions: int
    replicas: int


def placed(lines: Iterable[SqlLine], default: Placed) -> dict[str, Placed]:
    """Every table that some statement makes, by name; of two with one name, the larger numbers."""
    zones: dict[str, Placed] = {}
    tables: dict[str, Placed] = {}

    def add(name: str, found: Placed) -> None:
        before = tables.get(name, found)
        tables[name] = Placed(*map(max, found, before))

    for line in lines:
        match line.statement:
            case CreateZone(name=name, partitions=count, replicas=copies):
                count = DEFAULT_PARTITIONS if count is None else count
                zones[name] = Placed(count, DEFAULT_REPLICAS if copies is None else copies)
            case CreateTable(name=name, zone=zone):
                add(name, default if zone is None else zones.get(zone, default))
            case RenameZone(name=name, new_name=new_name) if name in zones:
                zones[new_name] = zones[name]
            case AlterZone(name=name, default=True) if name in zones:
                default = zones[name]
            case RenameTable(name=name, new_name=new_name) if name in tables:
                add(new_name, tables[name])
            case _:
                pass
    return tables


def read_faults(
    tables: list[dict[str, Any]], targets: FaultTargets, origin: Origin
) -> tuple[FaultEntry, ...]:
    """Every fault, checked: a node or role that it names must exist."""
    entries = []
    for index, table in enumerate(tables):
        path: Path = ("faults", index)
        kind = plugin(FAULTS, table, origin, path)
        when = {key: table[key] for key in TIMES if key in table}
        fields = {k: v for k, v in table.items() if k != "name" and k not in when}
        times = convert(when, FaultTimes, origin, path)
        for key in ("from_ms", "for_ms"):
            check_not_negative(getattr(times, key), origin, (*path, key))
        made = _fault(fields, kind, origin, path)
        moment = _check_moments(times, made, targets, origin, path)
        for target in kind.targets:
            at_moment = targets._replace(moment=moment)
            check_role(getattr(made, target), at_moment, origin, (*path, target))
        for key in (*kind.groups, *kind.places):
            group, is_group = getattr(made, key), key in kind.groups
            if group == ITS_PARTITION or (group == ITS_GROUP and is_group):
                check_role_of_moment(group, moment, origin, (*path, key))
            else:
                check_group(group, targets.tables, origin, (*path, key), meta=is_group)
        check_kind(getattr(made, "kind", None), origin, (*path, "kind"))
        _check_doubled(made, moment, origin, path)
        entries.append(FaultEntry(times, made))
    return tuple(entries)


def _fault(fields: dict[str, Any], kind: type[Fault], origin: Origin, path: Path) -> Fault:
    known = [*fields_of(kind), *TIMES]
    for key in fields:
        if key not in known:
            raise origin.error((*path, key), unknown_key(key, known))
    made: Fault = convert(fields, kind, origin, path)
    return made


def _check_doubled(made: Fault, moment: Moment | None, origin: Origin, path: Path) -> None:
    """Check that no client's request is doubled: its connection delivers each request once."""
    if not isinstance(made, DoubledMessage):
        return
    kind, key = made.kind, "kind"
    if kind is None:
        assert moment is not None, "a fault of its moment has one"
        kind, key = moment.name.removesuffix(f" {SENT}"), "when"
    if kind.startswith(CLIENT_REQUEST):
        what = f"a node gets a client's request ({kind}) once, since a client sends it once and "
        what += "over a connection; its answer and what nodes send each other may be doubled"
        raise origin.error((*path, key), what)


# --- moments -------------------------------------------------------------------------------------


def _check_moments(
    times: FaultTimes, made: Fault, targets: FaultTargets, origin: Origin, path: Path
) -> Moment | None:
    """Check `when` and `until`; return the moment at which the fault begins."""
    begins = _check_when(times, made, targets, origin, path)
    heals = times.heals
    if heals is not None:
        if times.for_ms is not None:
            raise origin.error((*path, "until"), "for_ms says it already; keep one of them")
        if made.instant or made.of_its_moment:
            what = f"{made.name} happens at an instant; leave until out"
            raise origin.error((*path, "until"), what)
        if heals.moment is None and (begins is None or heals.at is None):
            what = "moment is missing; without it until is a timestamp of when: say when and at"
            raise origin.error((*path, "until"), what)
        _check_table(heals, begins, targets, origin, (*path, "until"))
    return begins


def _check_when(
    times: FaultTimes, made: Fault, targets: FaultTargets, origin: Origin, path: Path
) -> Moment | None:
    table = times.begins
    if table is None:
        if made.of_its_moment:
            what = f'{made.name} needs kind, or a moment such as when = "finish sent"'
            raise origin.error(path, what)
        return None
    if table.moment is None:
        raise origin.error((*path, "when"), "moment is missing; see ddlsim list moments")
    begins = _check_table(table, None, targets, origin, (*path, "when"))
    if made.of_its_moment and (begins.source != SENT or table.at or table.plus_ms):
        what = "without kind the fault concerns the message that is sent at this moment; say "
        what += 'kind, or a moment such as "finish sent" without at and plus_ms'
        raise origin.error((*path, "when"), what)
    if made.of_its_moment and times.for_ms is not None:
        raise origin.error((*path, "for_ms"), "one message is struck at an instant; leave it out")
    return begins


def _check_table(
    table: MomentTable, begins: Moment | None, targets: FaultTargets, origin: Origin, path: Path
) -> Moment:
    moment = begins
    if table.moment is not None:
        key = path if table == MomentTable(moment=table.moment) else (*path, "moment")
        moment = find_moment(table.moment, origin, key)
    assert moment is not None, "a table without a moment was refused"
    check_moment(table, moment, origin, path)
    if table.node is not None:
        check_role(table.node, targets, origin, (*path, "node"))
    if table.table is not None:
        check_place((table.table, 0), targets.tables, origin, (*path, "table"))
    return moment


# --- roles ---------------------------------------------------------------------------------------


def check_role(role: Any, targets: FaultTargets, origin: Origin, path: Path) -> None:
    """Check a node's name, a role, or a list of them; None is accepted."""
    if isinstance(role, tuple | list):
        for index, each in enumerate(role):
            check_role(each, targets, origin, (*path, index))
        return
    if role is None or role in targets.nodes or role in (LEADER, *DRAWN):
        return
    if role in OF_MOMENTS:
        check_role_of_moment(role, targets.moment, origin, path)
        return
    if client := COORDINATOR.match(role):
        if not targets.is_client(client[1]):
            what = f"no client is called {client[1]!r}; a workload's are called mixed-1, mixed-2"
            raise origin.error(path, what)
        return
    place = table_of(role)
    if place is None:
        known = f"known: {', '.join([*targets.nodes, *SHOWN])}"
        hint = near(role, targets.nodes) if len(role) <= 4 else known
        raise origin.error(path, f"no node or role is called {role!r}; {hint}")
    check_place(place, targets.tables, origin, path)


# --- when, and what overlaps ---------------------------------------------------------------------


def check_times(
    entries: tuple[FaultEntry, ...], nodes: tuple[str, ...], load_ms: float | None, origin: Origin
) -> None:
    """Check that faults begin inside the load, whose end heals all, and that none conflict.

    A drawn instant may fall outside (the fault then never begins), but not its least value.
    """
    for index, entry in enumerate(entries):
        from_ms, until_ms = _least(entry.times.from_ms), _end(entry)
        path: Path = ("faults", index)
        if load_ms is not None and from_ms >= load_ms:
            what = f"{decimal(from_ms)} is not before the end of the load"
            what = f"{what}; run.load_ms is {decimal(load_ms)}"
            raise origin.error((*path, "from_ms"), what)
        at_moment = entry.times.when is not None
        if load_ms is not None and until_ms is not None and until_ms > load_ms and not at_moment:
            what = f"ends at {decimal(until_ms)}, but the load ends at {decimal(load_ms)}"
            what = f"{what} and heals every fault"
            raise origin.error((*path, "for_ms"), f"{what}; leave for_ms out to last until then")
        if entry.fault.instant and entry.times.for_ms is not None:
            what = f"{entry.fault.name} happens at an instant; leave for_ms out"
            raise origin.error((*path, "for_ms"), what)
        for other in range(index):
            _check_pair(entries, other, index, nodes, origin)


def _least(number: float | Spread) -> float:
    match number:
        case Constant(value=value) | Uniform(low=value) | Exponential(min=value):
            return value
        case int() | float():
            return number
        case _:
            return 0


def _end(entry: FaultEntry) -> float | None:
    """Its earliest end in ms; None: the end of the load."""
    if entry.fault.instant:
        return _least(entry.times.from_ms) + INSTANT_MS
    if entry.times.for_ms is None:
        return None
    return _least(entry.times.from_ms) + _least(entry.times.for_ms)


def _check_pair(
    entries: tuple[FaultEntry, ...], one: int, two: int, nodes: tuple[str, ...], origin: Origin
) -> None:
    """Check that two faults with conflicting claims on a node do not overlap.

    Roles are not checked: another node may play the role by then.
    """
    first, second = entries[one], entries[two]
    if _is_drawn(first) or _is_drawn(second) or not _overlap(first, second):
        return
    for claim in first.fault.claims():
        for other in second.fault.claims():
            same = (claim.thing, claim.node) == (other.thing, other.node)
            if same and (claim.alone or other.alone) and claim.node in nodes:
                line, name = origin.line(("faults", one)), first.fault.name
                what = (
                    f"overlaps faults[{one}] ({name}, line {line}), {_span(first)}: both concern "
                    f"{claim.node}, {claim.thing}; let one end before the other begins"
                )
                raise origin.error(("faults", two), what)


def _is_drawn(entry: FaultEntry) -> bool:
    """Whether its instants are drawn, or those of moments."""
    times = entry.times
    moment = times.when is not None or times.until is not None
    return moment or isinstance(times.from_ms, Spread) or isinstance(times.for_ms, Spread)


def _overlap(first: FaultEntry, second: FaultEntry) -> bool:
    """Whether two faults overlap; one may begin when the other ends."""
    begin = max(_least(first.times.from_ms), _least(second.times.from_ms))
    ends = [end for entry in (first, second) if (end := _end(entry)) is not None]
    return not ends or begin < min(ends)


def _span(entry: FaultEntry) -> str:
    from_ms, until_ms = _least(entry.times.from_ms), _end(entry)
    until = "the end of the load" if until_ms is None else decimal(until_ms)
    return f"which lasts from {decimal(from_ms)} to {until}"
