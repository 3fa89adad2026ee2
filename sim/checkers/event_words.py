"""Every kind of event in words that a person reads: no name of a class, no id, no packed number.

Timestamps are `150+10`: milliseconds and the logical part of the hybrid clock.
"""

from collections.abc import Callable
from typing import Any, Final

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.words import cut, key_words, value_words, values_words
from ddlsim.history.event import Cells
from ddlsim.history.events import (
    AnyEvent,
    DdlDecided,
    Encoded,
    Enlisted,
    Failed,
    Invoked,
    LockWaited,
    MetadataRead,
    Named,
    Ok,
    ReadExecuted,
    ReadTimeChosen,
    RowFinal,
    SafeTimeAdvanced,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    Unknown,
    UpdateApplied,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.index_events import (
    IndexFilled,
    IndexFinal,
    IndexPartRead,
    IndexRead,
    IndexWritten,
)
from ddlsim.history.world_events import (
    AppliedLost,
    ClockSet,
    CommandLogged,
    EntryLost,
    FaultBegan,
    FaultHealed,
    LeaderElected,
    LeaderSteppedDown,
    LeaseBegan,
    LeftOpen,
    MessageDelivered,
    MessageSent,
    NeverCompleted,
    NodeCrashed,
    NodeRestarted,
    NothingMatched,
    PartDiverged,
    PartitionSafeTime,
    SchemaBehind,
    SettingChanged,
    SnapshotInstalled,
    StepMissed,
    TrafficDelayed,
    TxRecovered,
)
from ddlsim.model.settings import SYMBOLS
from ddlsim.units import BEGINNING, US_PER_MS, Timestamp, as_ms, physical_ms, show

MOST_ROWS: Final = 3
"""So many of the rows that a scan found are named."""
LONGEST_ROW: Final = 60
Words = Callable[[Case, Any], str]


def event_words(case: Case, event: AnyEvent) -> str:
    """An event in some words, as they stand beside the name of its node or client."""
    return OF_EVENTS[type(event)](case, event)


def told(case: Case, event: AnyEvent) -> str:
    """An event as a sentence of its own, without its instant and its full stop."""
    return f"{subject(event)}{event_words(case, event)}"


def subject(event: AnyEvent) -> str:
    """The node or client of an event, as the beginning of its sentence."""
    lane = getattr(event, "client", None) or getattr(event, "node", None)
    if isinstance(event, MessageSent | MessageDelivered):
        lane = event.sender if isinstance(event, MessageSent) else event.to
    if lane is None or isinstance(event, WITHOUT_PLACE):
        return ""
    return f"{lane} " if isinstance(event, OF_LANE) else f"on {lane} "


def row_words(case: Case, object_id: int, version: int, row: Cells | None) -> str:
    """The cells of a row with the names of their columns: `(id = 1, v = 5)`."""
    if row is None:
        return "(deleted)"
    names = case.schemas.columns(object_id, version)
    shown = ", ".join(f"{names.get(column, column)} = {value_words(cell)}" for column, cell in row)
    return f"({cut(shown, LONGEST_ROW)})"


# --- of clients ----------------------------------------------------------------------------------


def _invoked(_: Case, event: Invoked) -> str:
    what = event.sql if event.sql is not None else event.kind
    on = "" if event.table is None else f" {event.table}"
    key = "" if event.key is None else f"[{key_words(event.key)}]"
    tx = "" if event.tx is None else f" ({event.tx})"
    return f"requests {what}{on}{key}{tx} from {event.node}"


def _named(_: Case, event: Named) -> str:
    values = (event.values or {}).items()
    given = [f"{name} = {value_words(value)}" for name, value in values]
    return f"names columns in {event.op}: {', '.join([*event.columns, *given])}"


def _encoded(case: Case, event: Encoded) -> str:
    row = row_words(case, event.object_id, event.version, event.row)
    used = case.schemas.describe(event.object_id, event.version)
    return f"encodes the row {row} of {event.op} under {used}"


# --- schema --------------------------------------------------------------------------------------


def _logged(case: Case, event: UpdateLogged) -> str:
    if event.op is None:
        return f"the initial schema, D{event.catalog_version}, is in the log from {BEGINNING} on"
    stamps = f"Tm = {show(event.message_ts)}, Tu = {show(event.activation_ts)}"
    what = " ".join(case.statement(event.op).split())
    return f"D{event.catalog_version} is in the log{f' ({what})' if what else ''}: {stamps}"


def _applied(_: Case, event: UpdateApplied) -> str:
    return f"applies D{event.catalog_version} (Tu = {show(event.activation_ts)})"


def _resolved(case: Case, event: SchemaResolved) -> str:
    waited = f", after waiting {as_ms(event.waited_us)} ms" if event.waited_us else ""
    what = event.name or case.schemas.name(event.object_id, event.version)
    found = f"version {event.version}" if event.object_id else "no such object"
    purpose = f"{event.purpose} of {event.tx}"
    return f"looks up {what} at {show(event.ts)} ({purpose}): {found}{waited}"


def _decided(_: Case, event: DdlDecided) -> str:
    """What a node decided on a statement, and from when on it answers."""
    by = f"by catalog version {event.catalog_version}"
    decided = {
        "installed": f"has made D{event.catalog_version}",
        "noop": f"changes nothing {by}",
        "refused": f"is refused {by}",
    }
    until = physical_ms(Timestamp(event.acknowledge_ts)) > event.at_us // US_PER_MS
    later = f"; its client is answered at {show(event.acknowledge_ts)}" if until else ""
    return f"{event.op} {decided.get(event.outcome, event.outcome)}{later}"


# --- transactions --------------------------------------------------------------------------------


def _began(_: Case, event: TxBegan) -> str:
    read = "" if event.read_ts is None else f", reads at {show(event.read_ts)}"
    return f"{event.tx} begins: begin_ts = {show(event.begin_ts)}{read}"


def _enlisted(_: Case, event: Enlisted) -> str:
    at = f"at {show(event.enlist_ts)}"
    return f"{event.name} is enlisted by {event.tx} {at} under version {event.version}"


def _read(case: Case, event: ReadExecuted) -> str:
    at = f"at op_ts = {show(event.op_ts)} under version {event.version}"
    name = case.schemas.name(event.object_id, event.version)
    what = f"scans {name}" if event.predicate else f"reads {name}"
    if event.rows and not event.predicate:
        what += f"[{key_words(event.rows[0].key)}]"
    return f"{event.tx} {what} {at}: {_rows(event)}"


def _rows(event: ReadExecuted) -> str:
    """What a read found: rows by their writers."""
    found = [row for row in event.rows if row.row is not None]
    if not found:
        return "no row"
    shown = [f"[{key_words(row.key)}] of {row.writer} (version {row.row_version})" for row in found]
    more = f" and {len(shown) - MOST_ROWS} more" if len(shown) > MOST_ROWS else ""
    return ", ".join(shown[:MOST_ROWS]) + more


def write_words(case: Case, event: WriteExecuted) -> str:
    """A write in some words, without its row."""
    at = f"at op_ts = {show(event.op_ts)} under version {event.version}"
    place = f"{case.schemas.name(event.object_id, event.version)}[{key_words(event.key)}]"
    return f"{event.tx} {'deletes' if event.row is None else 'writes'} {place} {at}"


def _wrote(case: Case, event: WriteExecuted) -> str:
    row = row_words(case, event.object_id, event.version, event.row)
    return write_words(case, event) + ("" if event.row is None else f": {row}")


def _shown(case: Case, event: MetadataRead) -> str:
    name = case.schemas.name(event.object_id, event.version)
    return f"{event.tx} is shown the columns of {name}: {', '.join(event.columns)}"


def _committed(case: Case, event: TxCommitted) -> str:
    used = ", ".join(_at_commit(case, *one) for one in event.tables)
    of = f", with {used}" if used else ""
    return f"{event.tx} commits: commit_ts = {show(event.commit_ts)}{of}"


def _at_commit(case: Case, object_id: int, initial: int, at_commit: int) -> str:
    used = case.schemas.describe(object_id, initial)
    if initial == at_commit:
        return used
    return f"{used} ({f'version {at_commit}' if at_commit else 'none'} at commit_ts)"


def _lock(case: Case, event: LockWaited) -> str:
    ended = "has" if event.granted else "is refused"
    key = "" if event.key is None else f"[{key_words(event.key)}]"
    on = f"{_object(case, event)}{key}"
    return f"{event.tx} {ended} the lock on {on} after {as_ms(event.waited_us)} ms"


def _object(case: Case, event: Any) -> str:
    """The name by which the transaction of an event calls its object, else that of its time."""
    tx = case.transactions.get(getattr(event, "tx", ""))
    for _, enlisted in [] if tx is None else tx.enlisted:
        if enlisted.object_id == event.object_id:
            return case.schemas.name(event.object_id, enlisted.version)
    return case.schemas.name_by(event.object_id, event.at_us)


def _final(case: Case, event: RowFinal) -> str:
    name = case.schemas.name(event.object_id, event.version)
    row = row_words(case, event.object_id, event.version, event.row)
    wrote = f"of {event.writer}, committed at {show(event.commit_ts)} under version {event.version}"
    return f"storage holds {name}[{key_words(event.key)}] = {row} in the end, {wrote}"


# --- indexes -------------------------------------------------------------------------------------


def _entry(case: Case, event: IndexWritten | IndexFilled) -> str:
    what = "puts" if event.added else "takes"
    where = "into" if event.added else "out of"
    entry = f"the entry {values_words(event.values)} of key {key_words(event.key)}"
    return f"{event.tx} {what} {entry} {where} {_index(case, event)}"


def _asked(case: Case, event: IndexRead) -> str:
    keys = ", ".join(map(key_words, event.keys)) or "none"
    at = f"at op_ts = {show(event.op_ts)}"
    values = values_words(event.values)
    return f"{event.tx} asks {_index(case, event)} for {values} {at}: keys {keys}"


def _entry_final(case: Case, event: IndexFinal) -> str:
    entry = f"the entry {values_words(event.values)} of key {key_words(event.key)}"
    return f"storage holds {entry} in {_index(case, event)} in the end"


def _index(case: Case, event: IndexWritten | IndexFilled | IndexRead | IndexFinal) -> str:
    return f"index {event.index_id} of {_object(case, event)}"


# --- the world -----------------------------------------------------------------------------------


def _group(case: Case, event: Any) -> str:
    return case.schemas.group(event.group, event.at_us)


def _command(case: Case, event: CommandLogged) -> str:
    what = f"index {event.index} of the log of {_group(case, event)}"
    return f"applies {what}, of term {event.term} and stamped {show(event.stamp)}"


def _entry_lost(case: Case, event: EntryLost) -> str:
    what = f"index {event.index} of the log of {_group(case, event)}"
    marks = f"of term {event.term} and stamped {show(event.stamp)}"
    return f"drops {what}, {marks}, which it had committed"


def _applied_lost(case: Case, event: AppliedLost) -> str:
    return f"loses all that it had applied of {_group(case, event)} behind index {event.index}"


def _snapshot(case: Case, event: SnapshotInstalled) -> str:
    return f"takes over the leader's state of {_group(case, event)} up to index {event.index}"


def _elected(case: Case, event: LeaderElected) -> str:
    return f"is elected leader of {_group(case, event)} in term {event.term}"


def _stepped_down(case: Case, event: LeaderSteppedDown) -> str:
    return f"is no longer leader of {_group(case, event)}, term {event.term}"


def _lease(case: Case, event: LeaseBegan) -> str:
    span = f"from {show(event.start_ts)} until {show(event.expiration_ts)}"
    return f"records the lease of {_group(case, event)}: {event.holder} is primary {span}"


def _partition(case: Case, event: PartitionSafeTime) -> str:
    return f"has applied everything of {_group(case, event)} up to {show(event.ts)}"


def _clock(_: Case, event: ClockSet) -> str:
    drift = f" and drifts by {event.drift_ppm:+d} ppm" if event.drift_ppm else ""
    return f"its clock is now {event.offset_us / US_PER_MS:+g} ms from true time{drift}"


def _diverged(case: Case, event: PartDiverged) -> str:
    what = case.schemas.in_names(event.what)
    return f"{event.part} did not do what the model of it does: {what}"


def _setting(_: Case, event: SettingChanged) -> str:
    name = SYMBOLS.get(event.key, f"setting {event.key}")
    return f"its {name} is now {event.value} ms"


def _fault(what: str) -> Words:
    def words(_: Case, event: FaultBegan | FaultHealed) -> str:
        nodes = event.nodes or ((event.node,) if event.node else ())
        of = f" of {', '.join(nodes)}" if nodes else ""
        return f"the fault {event.fault}{of} {what}"

    return words


def _delayed(_: Case, event: TrafficDelayed) -> str:
    of = ", ".join(event.nodes)
    return f"the fault {event.fault} delays messages of {of} by up to {as_ms(event.by_us)} ms"


def _open(_: Case, event: LeftOpen) -> str:
    return f"{event.tx or 'a statement'} is still open when the run ends: {event.what}"


def _behind(_: Case, event: SchemaBehind) -> str:
    other = f"while another process had read D{event.newest}"
    return f"still keeps the schema of D{event.kept} when the run ends, {other}"


OF_EVENTS: Final[dict[type[Any], Words]] = {
    Invoked: _invoked,
    Named: _named,
    ReadTimeChosen: lambda _, one: f"chooses to read at {show(one.read_ts)} in {one.op}",
    Encoded: _encoded,
    Ok: lambda _, one: f"has its answer: {one.op} is ok",
    Failed: lambda _, one: f"has its answer: {one.op} failed, {one.reason}",
    Unknown: lambda _, one: f"has no answer to {one.op}: {one.reason}",
    UpdateLogged: _logged,
    UpdateApplied: _applied,
    SafeTimeAdvanced: lambda _, one: f"publishes the safe time {show(one.safe_ts)}",
    DdlDecided: _decided,
    SchemaResolved: _resolved,
    TxBegan: _began,
    Enlisted: _enlisted,
    ReadExecuted: _read,
    WriteExecuted: _wrote,
    MetadataRead: _shown,
    TxCommitted: _committed,
    TxAborted: lambda _, one: f"{one.tx} aborts: {one.reason}",
    LockWaited: _lock,
    RowFinal: _final,
    IndexWritten: _entry,
    IndexFilled: _entry,
    IndexRead: _asked,
    IndexPartRead: _asked,
    IndexFinal: _entry_final,
    LeaderElected: _elected,
    LeaderSteppedDown: _stepped_down,
    CommandLogged: _command,
    EntryLost: _entry_lost,
    AppliedLost: _applied_lost,
    PartDiverged: _diverged,
    SnapshotInstalled: _snapshot,
    LeaseBegan: _lease,
    PartitionSafeTime: _partition,
    TxRecovered: lambda _, one: f"recovery ends {one.tx}: {one.outcome}",
    ClockSet: _clock,
    NodeCrashed: lambda _, _one: "crashes",
    NodeRestarted: lambda _, _one: "restarts with what its disk holds",
    FaultBegan: _fault("begins"),
    FaultHealed: _fault("ends"),
    TrafficDelayed: _delayed,
    SettingChanged: _setting,
    NeverCompleted: lambda _, one: f"never has an answer to {one.op}: waits for {one.waits_for}",
    LeftOpen: _open,
    SchemaBehind: _behind,
    StepMissed: lambda _, one: f"{one.step} does not end as expected: {one.expected}; {one.got}",
    NothingMatched: lambda _, one: f"{one.what} meets nothing",
    MessageSent: lambda _, one: f"sends {one.kind} to {one.to}",
    MessageDelivered: lambda _, one: f"receives {one.kind} from {one.sender}",
}  # fmt: skip
OF_LANE: Final = (
    AppliedLost, CommandLogged, Encoded, EntryLost, Failed, Invoked, LeaderElected,
    LeaderSteppedDown, LeaseBegan, MessageDelivered, MessageSent, Named, NeverCompleted,
    NodeCrashed, NodeRestarted, Ok, PartitionSafeTime, ReadTimeChosen, SafeTimeAdvanced,
    SchemaBehind, SchemaResolved, SnapshotInstalled, Unknown, UpdateApplied,
)  # fmt: skip
"""Events whose words have the node or client as their subject."""
WITHOUT_PLACE: Final = (FaultBegan, FaultHealed, IndexFinal, RowFinal)
"""Events whose words say all."""
