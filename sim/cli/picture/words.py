"""The steps of a picture in words, and a violation in three sentences.

Timestamps are `150+10`: milliseconds and the logical part of the hybrid clock.
"""

from collections.abc import Iterator, Sequence

from ddlsim.checkers.argument import Argument, Party, party_of
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.explain import describe
from ddlsim.checkers.judge import Violation
from ddlsim.checkers.signature import CRASH
from ddlsim.cli.picture.cut import subject_of
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
from ddlsim.history.index_events import IndexFilled, IndexRead, IndexWritten
from ddlsim.history.world_events import (
    ClockSet,
    CommandLogged,
    LeaderElected,
    LeaderSteppedDown,
    LeaseBegan,
    MessageDelivered,
    MessageSent,
    NodeCrashed,
    NodeRestarted,
    PartitionSafeTime,
    SettingChanged,
    TxRecovered,
)
from ddlsim.mutants.base import MUTANTS
from ddlsim.scenario.findings import described
from ddlsim.units import US_PER_MS, Timestamp, as_ms, decimal, physical_ms, show

MOST_ROWS = 3
"""So many of the rows that a scan found are named."""
MOST_UPDATES = 2
MOST_EVENTS = 4
"""So many events that show a violation are in its sentence."""
SILENT = (CommandLogged, Encoded, MessageDelivered, Named, PartitionSafeTime, SafeTimeAdvanced)
"""What the state before and after a step shows, or the step's other events."""
OF_LANE = (Invoked, Ok, Failed, Unknown, UpdateApplied, SchemaResolved, NodeCrashed, LeaderElected)
"""Events whose words have the node or client as their subject."""


def sentence(
    case: Case,
    own: Sequence[AnyEvent],
    events: Sequence[AnyEvent],
    witness: Sequence[AnyEvent] = (),
) -> str:
    """What a step with these events did, in one line: its `own` ones, or its messages.

    What the judge names as `witness` is left out in no case.
    """
    parts = list(_words_of(case, own, {id(event) for event in witness}))
    if not parts:
        sent = [event for event in events if isinstance(event, MessageSent)]
        parts = [f"sends {one.kind} to {one.to}" for one in sent]
    if not parts:
        parts = [f"receives {one.kind}" for one in events if isinstance(one, MessageDelivered)]
    return "; ".join(dict.fromkeys(parts)) or "; ".join(describe(event, case) for event in events)


def _words_of(case: Case, events: Sequence[AnyEvent], witness: set[int]) -> Iterator[str]:
    """The events that say something, each in some words."""
    used = any(isinstance(one, ReadExecuted | WriteExecuted | Enlisted) for one in events)
    for event in events:
        silent = isinstance(event, (*SILENT, MessageSent))
        if isinstance(event, SchemaResolved):
            silent = used and not event.waited_us
        if silent and id(event) not in witness:
            continue
        yield event_words(case, event)


def event_words(case: Case, event: AnyEvent) -> str:
    """One event in some words, as one says it beside its lane."""
    words = (
        _of_client(event)
        or _of_schema(case, event)
        or _of_tx(case, event)
        or _of_index(case, event)
        or _of_world(case, event)
    )
    return words or describe(event, case)


def _of_client(event: AnyEvent) -> str | None:
    if isinstance(event, Invoked):
        what = event.sql if event.sql is not None else event.kind
        on = "" if event.table is None else f" {event.table}"
        key = "" if event.key is None else f"[{event.key}]"
        tx = "" if event.tx is None else f" ({event.tx})"
        return f"requests {what}{on}{key}{tx} from {event.node}"
    if isinstance(event, Ok):
        return f"has its answer: {event.op} is ok"
    if isinstance(event, Failed):
        return f"has its answer: {event.op} failed, {event.reason}"
    if isinstance(event, Unknown):
        return f"has no answer to {event.op}: {event.reason}"
    return None


def _of_schema(case: Case, event: AnyEvent) -> str | None:
    if isinstance(event, UpdateLogged):
        stamps = f"Tm = {show(event.message_ts)}, Tu = {show(event.activation_ts)}"
        return f"D{event.catalog_version} is in the log: {stamps}"
    if isinstance(event, UpdateApplied):
        return f"applies D{event.catalog_version} (Tu = {show(event.activation_ts)})"
    if isinstance(event, DdlDecided):
        return f"{event.op} {_decided(event)}"
    if isinstance(event, SchemaResolved):
        waited = f", after waiting {as_ms(event.waited_us)} ms" if event.waited_us else ""
        what = event.name or case.schemas.name(event.object_id, event.version)
        found = f"version {event.version}" if event.object_id else "no such object"
        purpose = f"{event.purpose} of {event.tx}"
        return f"looks up {what} at {show(event.ts)} ({purpose}): {found}{waited}"
    return None


def _decided(event: DdlDecided) -> str:
    """What a node decided on a statement, and from when on it answers."""
    at = f"at catalog version {event.catalog_version}"
    decided = {
        "installed": f"made catalog version {event.catalog_version}",
        "noop": f"changes nothing {at}",
        "refused": f"is refused {at}",
    }
    until = physical_ms(Timestamp(event.acknowledge_ts)) > event.at_us // US_PER_MS
    later = f", answered from {show(event.acknowledge_ts)} on" if until else ""
    return f"{decided.get(event.outcome, event.outcome)}{later}"


def _of_tx(case: Case, event: AnyEvent) -> str | None:
    if isinstance(event, TxBegan):
        read = "" if event.read_ts is None else f", reads at {show(event.read_ts)}"
        return f"{event.tx} begins: begin_ts = {show(event.begin_ts)}{read}"
    if isinstance(event, Enlisted):
        at = f"at {show(event.enlist_ts)}"
        return f"{event.name} is enlisted by {event.tx} {at} under version {event.version}"
    if isinstance(event, ReadExecuted):
        at = f"at op_ts = {show(event.op_ts)} under version {event.version}"
        return f"{event.tx} {_reads(case, event)} {at}: {_rows(event)}"
    if isinstance(event, WriteExecuted):
        what = "deletes" if event.row is None else "writes"
        at = f"at op_ts = {show(event.op_ts)} under version {event.version}"
        name = case.schemas.name(event.object_id, event.version)
        return f"{event.tx} {what} {name}[{event.key}] {at}"
    if isinstance(event, MetadataRead):
        name = case.schemas.name(event.object_id, event.version)
        return f"{event.tx} is shown the columns of {name}: {', '.join(event.columns)}"
    if isinstance(event, TxCommitted):
        used = [_at_commit(case, *one) for one in event.tables]
        return "; ".join([f"{event.tx} commits: commit_ts = {show(event.commit_ts)}", *used])
    if isinstance(event, TxAborted):
        return f"{event.tx} aborts: {event.reason}"
    if isinstance(event, LockWaited):
        ended = "has" if event.granted else "is refused"
        key = "" if event.key is None else f"[{event.key}]"
        on = f"{case.schemas.name(event.object_id)}{key}"
        return f"{event.tx} {ended} the lock on {on} after {as_ms(event.waited_us)} ms"
    return None


def _of_index(case: Case, event: AnyEvent) -> str | None:
    if isinstance(event, IndexWritten | IndexFilled):
        what = "puts" if event.added else "takes"
        where = "into" if event.added else "out of"
        entry = f"the entry {list(event.values)} of key {event.key}"
        return f"{event.tx} {what} {entry} {where} {_index(case, event)}"
    if isinstance(event, IndexRead):
        keys = ", ".join(map(str, event.keys)) or "none"
        at = f"at op_ts = {show(event.op_ts)}"
        return f"{event.tx} asks {_index(case, event)} for {list(event.values)} {at}: keys {keys}"
    return None


def _index(case: Case, event: IndexWritten | IndexFilled | IndexRead) -> str:
    return f"index {event.index_id} of {case.schemas.name(event.object_id)}"


def _of_world(case: Case, event: AnyEvent) -> str | None:
    if isinstance(event, NodeCrashed):
        return "crashes"
    if isinstance(event, NodeRestarted):
        return "restarts with what its disk holds"
    if isinstance(event, ClockSet):
        return f"its clock is now {event.offset_us / US_PER_MS:+g} ms from true time"
    if isinstance(event, LeaderElected):
        return f"is elected leader of {case.schemas.group(event.group)} in term {event.term}"
    if isinstance(event, LeaderSteppedDown):
        return f"is no longer leader of {case.schemas.group(event.group)}, term {event.term}"
    if isinstance(event, LeaseBegan):
        lease = f"lease of {case.schemas.group(event.group)}: {event.holder}"
        return f"{lease} from {show(event.start_ts)} until {show(event.expiration_ts)}"
    if isinstance(event, TxRecovered):
        return f"recovery ends {event.tx}: {event.outcome}"
    if isinstance(event, SettingChanged):
        return f"its setting {event.key} is now {event.value} ms"
    return None


def _reads(case: Case, event: ReadExecuted) -> str:
    name = case.schemas.name(event.object_id, event.version)
    if event.predicate:
        return f"scans {name}"
    return f"reads {name}[{event.rows[0].key}]" if event.rows else f"reads {name}"


def _rows(event: ReadExecuted) -> str:
    """What a read found: rows by their writers."""
    found = [row for row in event.rows if row.row is not None]
    if not found:
        return "no row"
    shown = [f"[{row.key}] of {row.writer} (version {row.row_version})" for row in found]
    more = f" and {len(shown) - MOST_ROWS} more" if len(shown) > MOST_ROWS else ""
    return ", ".join(shown[:MOST_ROWS]) + more


def _at_commit(case: Case, object_id: int, initial: int, at_commit: int) -> str:
    name = case.schemas.name(object_id, initial)
    if initial == at_commit:
        return f"version {initial} of {name} as enlisted"
    return f"version {initial} of {name} as enlisted, {at_commit} at commit_ts"


# --- a violation in three sentences --------------------------------------------------------------


def three_sentences(case: Case, violation: Violation, argument: Argument) -> tuple[str, str, str]:
    """What is broken, the events that show it in their order, and why it counts."""
    if violation.status == CRASH:
        return _crash(case, violation)
    if violation.steps:
        parties = _listed([_party(one) for one in argument.parties])
        what = f"no serial order holds {parties}"
        ways = [
            f"{one.source} comes before {one.target}, because {_bare(one.because)}"
            for one in violation.steps
        ]
        how = f"{'; '.join(ways)}."  # it begins with a name, as it is
    else:
        what = _bare(violation.summary)
        how = _capital(_witnesses(case, violation, argument))
    broken = f"{violation.invariant} {violation.checker} is broken ({violation.kind}): {what}."
    return broken, how, _counts(case, violation)


def _crash(case: Case, violation: Violation) -> tuple[str, str, str]:
    """The same of a run that raised: what did, what came last, and what it does not mean."""
    where = ", ".join(violation.clauses)
    what = f"The run crashes ({violation.kind} in {where}): {_bare(violation.summary)}."
    last = case.history.events[-1:]
    parts = [f"{_subject(one)}{_bare(event_words(case, one))}" for one in last]
    at_ms = case.history.end_us / US_PER_MS
    came = f" Before that, {parts[0]} (at {as_ms(last[0].at_us)} ms)." if parts else ""
    how = f"It ends at {decimal(at_ms)} ms.{came}"
    return what, how, "Simulated code or the simulator is wrong: no verdict on the protocol."


def _party(party: Party) -> str:
    """A transaction or a statement with its timestamps in milliseconds."""
    known = {name: value for name, value in party.stamps.items() if not value.startswith("-")}
    stamps = [f"{name} = {value} ms" for name, value in known.items()]  # not the initial schema's
    parts = [party.did, *stamps] if party.is_ddl else stamps
    return f"{party.name} ({', '.join(parts)})" if parts else party.name


def _witnesses(case: Case, violation: Violation, argument: Argument) -> str:
    subject = subject_of(case, argument.parties, violation.witness)
    updates = [f"D{one.catalog_version}" for one in subject.updates(case)]
    events = [
        event
        for event in sorted(violation.witness, key=lambda one: one.at_us)
        if not (isinstance(event, UpdateLogged) and f"D{event.catalog_version}" in updates)
    ]
    shown = [_update(party_of(case, name)) for name in updates[:MOST_UPDATES]]
    parts = shown + [
        f"at {as_ms(event.at_us)} ms {_subject(event)}{_bare(event_words(case, event))}"
        for event in events[:MOST_EVENTS]
    ]
    left = len(events) - MOST_EVENTS
    more = f"; and {left} more event{'s' * (left > 1)}" if left > 0 else ""
    if parts:
        return f"{'; '.join(parts)}{more}."
    parties = [_party(one) for one in argument.parties]
    return f"It concerns {_listed(parties)}." if parties else "No event is named by the judge."


def _update(party: Party) -> str:
    stamps = " and ".join(f"{name} = {value} ms" for name, value in party.stamps.items())
    return f"{party.name} is {party.did}, with {stamps}"


def _subject(event: AnyEvent) -> str:
    """The node or client of an event, as the beginning of its sentence."""
    lane = getattr(event, "client", None) or getattr(event, "node", None)
    if lane is None:
        return ""
    return f"{lane} " if isinstance(event, OF_LANE) else f"on {lane} "


def _counts(case: Case, violation: Violation) -> str:
    """Whether it counts, under which DD and CSmax, and of a finding what closes it."""
    design = f"the design {case.header.design.name}"
    status, _, finding = violation.status.partition(":")
    if finding:
        table = next(one for one in described() if one.id == finding)
        rules = ", ".join(f"{field} = {rule}" for field, rule in table.closing.items())
        closing = f"; {rules} closes it" if rules else ""
        words = f"{design} has the known finding {finding} ({table.title}), no violation{closing}"
    elif status == "violation":
        words = f"{design} promises that this cannot happen, and all that it assumes holds"
        claimed = {claim.invariant for claim in case.header.design.claims}
        if violation.invariant not in claimed:
            words = f"{design} does not claim {violation.invariant}, which is judged all the same"
        words += _mutant(case.header.mutant)
    else:
        because = f": {_bare(violation.because)}" if violation.because else ""
        words = f"{design} has this as {status.replace('_', ' ')}{because}"
    names = {"DD": "delay_duration_ms", "CSmax": "max_clock_skew_ms"}
    bounds = [
        f"{name} = {max(case.settings(key))} ms"
        for name, key in names.items()
        if case.settings(key) and not case.is_layered
    ]
    return _capital(f"with {' and '.join(bounds)}, {words}." if bounds else f"{words}.")


def _mutant(name: str | None) -> str:
    """The rule that a run did without, if it ran a mutant."""
    if name is None:
        return ""
    found = next((mutant.summary for known, mutant in MUTANTS.items() if known == name), "")
    return f"; it ran with the mutant {name}{f' ({_bare(found)})' if found else ''}"


def _listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _bare(text: str) -> str:
    return text.rstrip(".")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
