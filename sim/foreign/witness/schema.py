"""The complete log of schema updates, from the `schema_activated` entries of all nodes.

Each statement is built upon the versions before it, as `compat` builds migrations, so that the
judges get the simple changes by id. An object whose versions leave a gap, or whose statement cannot
be built, is *in doubt*: nothing that concerns it is judged, since its truth is not known.
"""

from typing import NamedTuple

from msgspec import structs

from ddlsim import sql
from ddlsim.foreign.witness.records import Log, SchemaActivated, hlc
from ddlsim.history.events import UpdateLogged
from ddlsim.model.ddl import ANY_TABLE, ObjectChange, Statement
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.units import Timestamp

PARTS_FROM = 1 << 40
"""Ids of indexes and constraints, beyond those of any cluster's objects."""


class Version(NamedTuple):
    """One version of one object, by its first entry."""

    line: int
    entry: SchemaActivated

    @property
    def key(self) -> tuple[int, int]:
        """Object and version."""
        return (self.entry.object, self.entry.version)

    @property
    def activation(self) -> int:
        """Tu."""
        return hlc(self.entry.activation) or 0


class Truth(NamedTuple):
    """Every version that is known: its update and statement by (object, version), and the objects
    in doubt."""

    updates: dict[tuple[int, int], UpdateLogged]
    statements: dict[tuple[int, int], str]
    doubtful: dict[int, None]
    latest: dict[int, int]
    """The last version of each object that is known so far."""

    def knows(self, object_id: int, version: int) -> bool:
        """Whether a version is part of the log and not in doubt."""
        return object_id not in self.doubtful and (object_id, version) in self.updates


def truth_of(log: Log, origin_ms: float) -> Truth:
    """What the log says of every object; problems are noted in it."""
    versions = _versions(log)
    truth = Truth({}, {}, {}, {})
    snapshot = Snapshot()
    for number, version in enumerate(_in_order(versions), 1):
        entry = version.entry
        change = _change(log, version, snapshot, truth)
        if change is None:
            truth.doubtful[entry.object] = None
            continue
        activation_ts = Timestamp(version.activation)
        snapshot = snapshot.after(number, activation_ts, activation_ts, (change,))
        truth.statements[version.key] = entry.sql
        truth.latest[entry.object] = entry.version
        truth.updates[version.key] = UpdateLogged(
            at_us=round((entry.wall_ms - origin_ms) * 1000),
            node=entry.node,
            op=f"DDL {entry.object}/{entry.version}",
            index=number,
            catalog_version=number,
            message_ts=version.activation,
            activation_ts=version.activation,
            delay_duration_ms=0,
            objects=(change,),
        )
    return truth


def _versions(log: Log) -> list[Version]:
    """Each version once; two entries that disagree leave the object in doubt, by a gap."""
    found: dict[tuple[int, int], Version] = {}
    torn: dict[tuple[int, int], None] = {}
    for number, entry in log.lines:
        if not isinstance(entry, SchemaActivated):
            continue
        version = Version(number, entry)
        first = found.setdefault(version.key, version)
        for key in ("activation", "sql"):
            own = getattr(entry, key)
            same = version.activation == first.activation
            if not (same if key == "activation" else own == first.entry.sql):
                what = f"version {entry.version} of object {entry.object} is {own!r} here and"
                log.problem(number, key, f"{what} another in line {first.line}")
                torn[version.key] = None
    return [version for key, version in found.items() if key not in torn]


def _in_order(versions: list[Version]) -> list[Version]:
    """By activation, but no version of an object before an earlier one of it."""
    latest: dict[int, int] = {}
    order: dict[tuple[int, int], int] = {}
    for version in sorted(versions, key=lambda one: one.key):
        object_id = version.entry.object
        latest[object_id] = max(latest.get(object_id, 0), version.activation)
        order[version.key] = latest[object_id]
    return sorted(versions, key=lambda one: (order[one.key], one.key))


def _change(log: Log, version: Version, snapshot: Snapshot, truth: Truth) -> ObjectChange | None:
    """The change that a statement makes; None, and a problem, where that is unknown."""
    entry, line = version.entry, version.line
    if entry.object in truth.doubtful:
        return None
    known = truth.latest.get(entry.object)
    if known is not None and entry.version != known + 1:
        what = f"follows version {known} of object {entry.object}: what is between is missing"
        log.problem(line, "version", f"{entry.version} {what}")
        return None
    statement = _statement(log, version)
    if statement is None:
        return None
    next_id = PARTS_FROM + len(truth.updates) * 1000 if known is not None else entry.object
    outcome = build(statement, snapshot, next_id, unchecked=ANY_TABLE)
    if not isinstance(outcome, Built):
        log.problem(line, "sql", f"cannot follow what is known: {outcome[-1]}")
        return None
    [change] = outcome.objects
    if change.object_id != entry.object:
        log.problem(line, "object", f"is {entry.object}, but the statement changes {change.name!r}")
        return None
    if known is not None:
        return change
    definition = change.definition
    assert definition is not None, "a CREATE has a definition"
    return structs.replace(
        change,
        version=entry.version,
        definition=structs.replace(definition, version=entry.version),
    )


def _statement(log: Log, version: Version) -> Statement | None:
    try:
        parsed = sql.parse(version.entry.sql)
    except sql.SqlError as error:
        log.problem(version.line, "sql", f"cannot be read: {error}")
        return None
    statements = [one.statement for one in parsed]
    if len(statements) != 1 or not isinstance(statements[0], Statement):
        log.problem(version.line, "sql", "expected one DDL statement")
        return None
    return statements[0]
