"""Moments: what can happen in a run, by name, so that a fault can begin or heal when it happens.

A moment is a probe, an event of the history, a point at which a script may pause a task, or a
message of a kind, sent or delivered. `ddlsim list moments` prints them. `MomentTable` is `when` and
`until` of a `[[faults]]`.
"""

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

from msgspec import Meta, field

from ddlsim.history import events, index_events, world_events
from ddlsim.kernel.host import kind_of
from ddlsim.model import probes
from ddlsim.model.clauses import PAUSE_POINTS
from ddlsim.nemesis.roles import (
    ITS_COORDINATOR,
    ITS_GROUP,
    ITS_LEADER,
    ITS_NODE,
    ITS_PARTITION,
    ITS_PRIMARY,
    ITS_RECEIVER,
    ITS_SENDER,
)
from ddlsim.scenario.config import TableRecord, Text
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, few, near
from ddlsim.scenario.vocabulary import message_types, store_message_types
from ddlsim.units import SignedMs

SENT: Final = "sent"
DELIVERED: Final = "delivered"
STORE_PROBE: Final = "store-"
"""How the names of the store's probes begin."""
Source = Literal["probe", "event", "point", "sent", "delivered"]

AFTERWARDS: Final = (
    events.RowFinal,
    index_events.IndexFinal,
    world_events.NeverCompleted,
    world_events.LeftOpen,
    world_events.SchemaBehind,
    world_events.StepMissed,
    world_events.NothingMatched,
)
"""Events that are recorded when the load is over, and no fault can begin any more."""
TRACED: Final = (world_events.MessageSent, world_events.MessageDelivered)
"""Events of a traced run; the moments of messages are there in every run."""


class Moment(NamedTuple):
    """Something that can happen: its sentence, its fields, and the roles that it binds.

    `of_store`: only the key-value store of the FoundationDB plane has it.
    """

    name: str
    source: Source
    sentence: str
    of: type | None
    """The class of the event, or of the message."""
    fields: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    of_store: bool = False

    @property
    def timestamps(self) -> tuple[str, ...]:
        """The fields that are hybrid timestamps."""
        return tuple(name for name in self.fields if name.endswith("_ts"))


@cache
def _ours() -> dict[str, Moment]:
    """Every moment but the probes of plug-ins, by name."""
    return {moment.name: moment for moment in (*_points(), *_events(), *_messages())}


def moments() -> dict[str, Moment]:
    """Every moment, by name."""
    made = dict(_ours())
    for probe in probes.known():
        at_store = probe.name.startswith(STORE_PROBE)
        made[probe.name] = Moment(
            probe.name, "probe", probe.sentence, None, (), (ITS_NODE,), at_store
        )
    return made


def _points() -> Iterator[Moment]:
    roles = (ITS_NODE, *_roles(("tx",)))
    for point in PAUSE_POINTS:
        yield Moment(point.name, "point", point.sentence, None, (), roles)


def _events() -> Iterator[Moment]:
    for kind in get_args(events.AnyEvent):
        if kind not in (*AFTERWARDS, *TRACED):
            fields = _fields(kind)
            node = (ITS_NODE,) if {"node", "holder"} & {*fields} else ()
            yield Moment(
                kind_of(kind), "event", _sentence(kind), kind, fields, node + _roles(fields)
            )


def _messages() -> Iterator[Moment]:
    stores = store_message_types()
    for kind, payload in (message_types() | stores).items():
        fields = _fields(payload)
        at_store = kind in stores
        roles = (ITS_NODE, ITS_SENDER, ITS_RECEIVER, *_roles(fields))
        sent = f"a message of the kind {kind} is sent"
        yield Moment(f"{kind} {SENT}", SENT, sent, payload, fields, roles, at_store)
        arrives = f"a message of the kind {kind} arrives at a node that is up"
        name = f"{kind} {DELIVERED}"
        yield Moment(name, DELIVERED, arrives, payload, fields, roles, at_store)


def _fields(kind: type) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    return tuple(name for name in names if name != "at_us")


def _roles(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The roles that what has these fields binds, besides its node and the ends of a message."""
    given = {*fields}
    tx, group = "tx" in given, "group" in given
    place = tx or {"place", "places"} & given or "partition" in given
    return (
        *((ITS_COORDINATOR,) if tx else ()),
        *((ITS_GROUP, ITS_LEADER) if group or place else ()),
        *((ITS_PARTITION, ITS_PRIMARY) if group or place else ()),
    )


def _sentence(kind: type) -> str:
    """The first sentence of a class's docstring."""
    text = " ".join((kind.__doc__ or "").split())
    return text.partition(". ")[0].rstrip(".")


# --- in a scenario -------------------------------------------------------------------------------


MOST_TIMES: Final = 1_000_000
"""No later time that a moment comes is named, or drawn where it counts very rarely."""


class MomentTable(TableRecord, frozen=True):
    """`when` and `until` of a `[[faults]]`: a moment by name, and which time that it comes.

    Only what fits `node`, `tx`, `table` and the fields in `where` counts, each with the probability
    `chance`. `at` is a timestamp of the moment: the instant at which true time reaches it.
    """

    moment: Text | None = None
    nth: Annotated[int, Meta(ge=1, le=MOST_TIMES)] = 1
    chance: Annotated[float, Meta(gt=0, le=1)] = 1.0
    node: str | None = None
    tx: str | None = None
    table: str | None = None
    where: dict[str, Any] = field(default_factory=dict)
    at: str | None = None
    plus_ms: SignedMs = 0


When = Text | MomentTable


def moment_table(when: "str | MomentTable | None") -> MomentTable | None:
    """The table that a name alone stands for."""
    return MomentTable(moment=when) if isinstance(when, str) else when


def find_moment(name: str, origin: Origin, path: Path) -> Moment:
    """The moment of this name; `ScenarioError` with similar names where there is none."""
    known = moments()
    if name not in known:
        what = f"no moment is called {name!r}; {few(name, known, 'ddlsim list moments')}"
        raise origin.error(path, what)
    return known[name]


def check_moment(table: MomentTable, moment: Moment, origin: Origin, path: Path) -> None:
    """Check that the moment has what the table says of it."""
    if table.tx is not None and "tx" not in moment.fields and moment.source != "point":
        raise origin.error((*path, "tx"), f"{moment.name} belongs to no transaction")
    if table.table is not None and not _has_partition(moment):
        raise origin.error((*path, "table"), f"{moment.name} does not say which table it is of")
    if table.node is not None and ITS_NODE not in moment.roles:
        raise origin.error((*path, "node"), f"{moment.name} happens on no node")
    for key, value in table.where.items():
        if key not in moment.fields:
            what = f"{moment.name} has no field {key!r}; {near(key, moment.fields)}"
            raise origin.error((*path, "where", key), what)
        if not isinstance(value, str | int | float | bool):
            raise origin.error((*path, "where", key), "expected a string, a number or true, false")
    if table.at is not None and table.at not in moment.timestamps:
        what = f"{moment.name} has no timestamp {table.at!r}; {near(table.at, moment.timestamps)}"
        raise origin.error((*path, "at"), what)
    if table.plus_ms < 0 and table.at is None:
        what = "must not be negative: the moment is over; with at = a timestamp of it, it may be"
        raise origin.error((*path, "plus_ms"), what)


def _has_partition(moment: Moment) -> bool:
    """Whether each time it comes tells of which partition, without its transaction."""
    return bool({"place", "places", "partition", "group"} & {*moment.fields})


def check_role_of_moment(role: str, moment: Moment | None, origin: Origin, path: Path) -> None:
    """Check that the fault begins at a moment that binds the role."""
    if moment is None:
        raise origin.error(path, f"{role!r} needs a moment: when = one of ddlsim list moments")
    if role not in moment.roles:
        what = f"{moment.name} has no {role.removeprefix('its ')}"
        raise origin.error(path, f"{what}; it has: {', '.join(moment.roles) or 'none'}")
