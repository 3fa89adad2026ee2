"""The edges of the serialization graph: what each says, and the sentence that says it.

An edge holds references only; its sentence is made when a cycle is printed.
"""

from typing import Final, NamedTuple

from ddlsim.checkers.case.case import Case, Transaction, Use
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.case.statements import Answered, Name
from ddlsim.checkers.case.words import values_words
from ddlsim.checkers.case.writes import Item, Write
from ddlsim.checkers.graph.backward import Hold
from ddlsim.checkers.spec.spec import Ruling
from ddlsim.graph.edges import NAMES, PREDICATE_EDGE, PROCESS, REALTIME, STRICT_ONLY
from ddlsim.history.events import (
    AnyEvent,
    Enlisted,
    MetadataRead,
    ReadExecuted,
    RowRead,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.model.ddl import SimpleChange
from ddlsim.units import as_ms, show

UNDER_WAY: Final = "[under way at commit]"
IN_FORCE_EARLY: Final = "[in force early]"
STATEMENT_EARLY: Final = "wr-schema[statement, in force early]"
KIND_NAMES: Final = {**NAMES, REALTIME: "rt"}
"""What findings and arguments call the kinds of edges."""
LONGEST_VALUE: Final = 60


class Node(NamedTuple):
    """A committed transaction or a DDL; positions say when it began and ended for its client.

    `label` names it in sentences, `kind` is its kind in findings. A statement that left no
    update is a transaction that only read the catalog.
    """

    label: str
    kind: str
    ts: int
    begins_at: int | None
    ends_at: int | None
    tx: Transaction | None
    update: UpdateLogged | None
    statement: Answered | None = None

    def event(self) -> AnyEvent:
        """The event that made it a node."""
        if self.update is not None:
            return self.update
        if self.statement is not None:
            return self.statement.decided
        assert self.tx is not None, self.label
        assert self.tx.committed is not None, self.label
        return self.tx.committed

    def has_read(self, item: Item | None) -> bool:
        """Whether it is a transaction that read a row."""
        reads = [] if self.tx is None or item is None else self.tx.reads
        return any(item == (read.object_id, row.key) for _, read in reads for row in read.rows)


class SchemaUse(NamedTuple):
    """How a transaction used a version of a table: by an operation, a query, or as a view."""

    object_id: int
    version: int
    event: ReadExecuted | WriteExecuted | MetadataRead | Enlisted


class InstalledThenUsed(NamedTuple):
    """wr: a DDL installed the version that a transaction ran under."""

    use: SchemaUse


class UsedThenReplaced(NamedTuple):
    """rw: a transaction ran under a version that a DDL ended; `hold` says why that matters.

    `late`: how it did so even when the new version was in force, which no check at operations
    allows (`late`); nothing where it did not.
    `ruling` is what the rules say of the step, where nothing holds.
    """

    use: SchemaUse
    step: SchemaVersion
    hold: Hold | None
    late: str = ""
    ruling: Ruling | None = None


class InstalledThenReplaced(NamedTuple):
    """ww: two DDLs on one object, in the order of the log."""

    before: SchemaVersion
    after: SchemaVersion


class InstalledThenNamed(NamedTuple):
    """wr: a DDL had given a name the meaning that a statement found at `catalog_version`."""

    name: Name
    catalog_version: int


class NamedThenChanged(NamedTuple):
    """rw: a statement rests on `catalog_version`, after which a DDL changed what a name meant."""

    name: Name
    catalog_version: int


class Overwritten(NamedTuple):
    """ww: two committed writes of one row, in commit_ts order."""

    before: Write
    after: Write


class ReadFrom(NamedTuple):
    """wr: a transaction read a row, or its deletion, that the other had written."""

    write: Write
    read: ReadExecuted
    row: RowRead | None


class ReadThenOverwritten(NamedTuple):
    """rw: a transaction read a row, or its absence, before the other wrote it anew.

    `row` None: a scan did not find the key at all, or a query by an index did not find it under its
    values: the anti-dependency of a predicate.
    """

    read: ReadExecuted
    item: Item
    row: RowRead | None
    write: Write


class BeforeInRealTime(NamedTuple):
    """rt: the one had ended for its client before the other was invoked.

    process: and both were invoked by the same client.
    """

    ended_at: int
    begins_at: int


Reason = (
    InstalledThenUsed
    | UsedThenReplaced
    | InstalledThenReplaced
    | InstalledThenNamed
    | NamedThenChanged
    | Overwritten
    | ReadFrom
    | ReadThenOverwritten
    | BeforeInRealTime
)


class Edge(NamedTuple):
    """`source` < `target`; `kind` is one of WW, WR, RW, PROCESS, REALTIME of `ddlsim.graph`.

    `strict_only` where the relaxed graph drops it.
    """

    source: int
    target: int
    kind: int
    reason: Reason
    strict_only: bool = False

    @property
    def is_predicate(self) -> bool:
        """Whether it rests on a key that a scan did not find."""
        return isinstance(self.reason, ReadThenOverwritten) and self.reason.row is None

    @property
    def marks(self) -> int:
        """Its kind with the marks that the search weighs."""
        kind = self.kind | (PREDICATE_EDGE if self.is_predicate else 0)
        return kind | (STRICT_ONLY if self.strict_only else 0)


def _name_of(edge: Edge) -> str:
    reason, kind = edge.reason, KIND_NAMES[edge.kind]
    if isinstance(reason, UsedThenReplaced):
        tag = "compatible" if reason.hold is None else reason.hold.tag
        return f"rw-schema[{f'{tag}, {reason.late}' if reason.late else tag}]"
    if isinstance(reason, InstalledThenUsed | InstalledThenReplaced):
        return f"{kind}-schema"
    if isinstance(reason, InstalledThenNamed | NamedThenChanged):
        return f"{kind}-schema[statement]"
    if isinstance(reason, BeforeInRealTime):
        return kind
    return "rw-predicate" if edge.is_predicate else f"{kind}-row"


def kind_of(changes: tuple[SimpleChange, ...]) -> str:
    """The kinds of a DDL's simple changes, as findings have them."""
    tags = sorted({str(change.__struct_config__.tag) for change in changes})
    return f"D({', '.join(tags)})"


class Words:
    """The `Explainer` of a native history's graph."""

    def __init__(self, case: Case, nodes: list[Node]) -> None:
        self._case = case
        self._nodes = nodes

    def call(self, node: int) -> str:
        """The name of a node."""
        return self._nodes[node].label

    def edge(self, edge: Edge) -> str:
        """The name of an edge in findings.

        Between two transactions of a client that keeps no session its own order is real time: no
        token says what came before. `UNDER_WAY` marks an edge by an operation whose answer had
        not come when its client asked for the commit [110.x.2], `IN_FORCE_EARLY` the use of a
        version before its activation, in a later version of the whole catalog [98.past.2], and
        `STATEMENT_EARLY` that of a statement, which stands where the latest version activates.
        """
        if edge.kind == PROCESS and self._is_without_token(edge):
            return KIND_NAMES[REALTIME]
        if isinstance(edge.reason, InstalledThenUsed):
            is_early = self._is_early(edge.reason.use, self._nodes[edge.target].tx)
            return _name_of(edge) + (IN_FORCE_EARLY if is_early else "")
        if isinstance(edge.reason, InstalledThenNamed):
            is_early = self._nodes[edge.source].ts > self._nodes[edge.target].ts
            return STATEMENT_EARLY if is_early else _name_of(edge)
        return _name_of(edge) + (UNDER_WAY if self._is_under_way(edge) else "")

    def _is_early(self, use: SchemaUse, tx: Transaction | None) -> bool:
        schemas, event = self._case.schemas, use.event
        version = schemas.version(use.object_id, use.version)
        if tx is None or version is None:
            return False
        if isinstance(event, ReadExecuted | WriteExecuted):
            return schemas.is_in_force_early(version, event.op_ts)
        looked_up = [one.enlist_ts for _, one in tx.enlisted if one.object_id == use.object_id]
        return any(schemas.is_in_force_early(version, ts) for ts in looked_up)

    def _is_under_way(self, edge: Edge) -> bool:
        match edge.reason:
            case Overwritten(one, other):
                ops = (one.event.op, other.event.op)
            case ReadFrom(write, read):
                ops = (write.event.op, read.op)
            case ReadThenOverwritten(read, write=write):
                ops = (read.op, write.event.op)
            case _:
                return False
        ends = (self._nodes[edge.source].tx, self._nodes[edge.target].tx)
        return any(self._case.is_under_way(tx, op) for tx, op in zip(ends, ops, strict=True))

    def _is_without_token(self, edge: Edge) -> bool:
        parties = [self._nodes[number].tx for number in (edge.source, edge.target)]
        return all(tx is not None and not tx.session for tx in parties)

    def because(self, edge: Edge) -> str:
        """Why the source of an edge comes before its target."""
        source, target = self._nodes[edge.source].label, self._nodes[edge.target].label
        match edge.reason:
            case InstalledThenUsed(use):
                return f"{self._used(target, use)}, which {source} had installed"
            case UsedThenReplaced(use, step, hold, _, ruling):
                more = _passed_over(ruling) if hold is None else hold.why
                return (
                    f"{self._used(source, use)}, and {target} replaced it by version "
                    f"{step.version} at {show(step.activation_ts)} ({more})"
                )
            case InstalledThenReplaced(before, after):
                return (
                    f"{source} installed {before.name} version {before.version}, and {target} "
                    f"the next one, version {after.version}"
                )
            case InstalledThenNamed(name, version):
                return (
                    f"{target} found {name} as {source} had left it, in catalog version {version}"
                )
            case NamedThenChanged(name, version):
                return (
                    f"{source} was answered from catalog version {version}, and {target} changed "
                    f"what {name} is after that"
                )
            case Overwritten(before, after):
                return (
                    f"{target} overwrote {self._written(before)} of {source} with "
                    f"{_values(after.event)}"
                )
            case ReadFrom(write, read):
                return f"{target} read {self._written(write)} of {source}{_on(read)}"
            case ReadThenOverwritten():
                return self._anti(source, target, edge.reason)
            case BeforeInRealTime(ended_at, begins_at):
                return self._real_time(edge, ended_at, begins_at)

    def _used(self, tx: str, use: SchemaUse) -> str:
        table = self._case.schemas.describe(use.object_id, use.version)
        event = use.event
        if isinstance(event, MetadataRead):
            return f"{tx} was shown the columns ({', '.join(event.columns)}) of {table}"
        if isinstance(event, Enlisted):
            return f"{tx} used {table}, a view"
        what = "scanned" if isinstance(event, ReadExecuted) and event.predicate else "read"
        if isinstance(event, WriteExecuted):
            what = f"wrote row {event.key!r}"
        elif not event.predicate:
            many = "s" * (len(event.rows) > 1)
            what = f"read row{many} {', '.join(repr(row.key) for row in event.rows)}"
        return f"{tx} {what} under {table} at {show(event.op_ts)} on {event.node}"

    def _written(self, write: Write) -> str:
        event = write.event
        return f"{self._row(event.object_id, event.key, event.version)} = {_values(event)}"

    def _row(self, object_id: int, key: object, version: int) -> str:
        found = self._case.schemas.version(object_id, version)
        name = f"object {object_id}" if found is None else found.name
        return f"{name}[{key!r}]"

    def _anti(self, source: str, target: str, reason: ReadThenOverwritten) -> str:
        read, (object_id, key) = reason.read, reason.item
        place = self._row(object_id, key, read.version)
        if reason.row is None:
            how = "scanned the table" if read.predicate else "asked by an index"
            return f"{source} {how}{_on(read)} without {place}, and {target} wrote it"
        if reason.row.writer is None:
            return f"{source} found no {place}{_on(read)}, and {target} wrote its first version"
        return (
            f"{source} read {place} in the version of {reason.row.writer}{_on(read)}, and "
            f"{target} wrote the next one"
        )

    def _real_time(self, edge: Edge, ended_at: int, begins_at: int) -> str:
        source, target = self._nodes[edge.source].label, self._nodes[edge.target].label
        events = self._case.history.events
        ended, begins = as_ms(events[ended_at].at_us), as_ms(events[begins_at].at_us)
        if edge.kind == PROCESS:
            return (
                f"the client of {source} had its answer at {ended} ms, and then invoked "
                f"{target} itself at {begins} ms"
            )
        at = "in the same instant" if ended == begins else f"at {begins} ms"
        return (
            f"the client of {source} had its answer at {ended} ms, before {target} was invoked {at}"
        )


def _passed_over(ruling: Ruling | None) -> str:
    """Why the relaxed graph does not have an edge to a DDL."""
    why = "" if ruling is None else f": {ruling.reason} [{ruling.clause}]"
    return f"forward-compatible, so only the strict graph counts it{why}"


def _on(read: ReadExecuted) -> str:
    return f" at {show(read.op_ts)} on {read.node}"


def _values(event: WriteExecuted) -> str:
    if event.row is None:
        return "(deleted)"
    shown = values_words(value for _, value in event.row)
    return shown if len(shown) <= LONGEST_VALUE else shown[: LONGEST_VALUE - 4] + "...)"


def item_of(edge: Edge) -> Item | None:
    """The row that an edge is about; None for an edge of the schema or of time."""
    reason = edge.reason
    if isinstance(reason, Overwritten):
        return (reason.after.event.object_id, reason.after.event.key)
    if isinstance(reason, ReadFrom):
        return (reason.write.event.object_id, reason.write.event.key)
    return reason.item if isinstance(reason, ReadThenOverwritten) else None


def witnesses(edge: Edge) -> tuple[AnyEvent, ...]:
    """The events that an edge rests on."""
    match edge.reason:
        case InstalledThenUsed(use) | UsedThenReplaced(use):
            return (use.event,)
        case Overwritten(before, after):
            return (before.event, after.event)
        case ReadFrom(write, read):
            return (write.event, read)
        case ReadThenOverwritten(read, _, _, write):
            return (read, write.event)
    return ()


def as_use(use: Use) -> SchemaUse:
    """A transaction's use of a version, without its place in the history."""
    return SchemaUse(use.object_id, use.version, use.event)
