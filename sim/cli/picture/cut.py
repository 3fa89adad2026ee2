"""Which steps of a run a picture shows: those of an argument, in the causal past of its events.

A step matters where it holds an event of the argument's transactions and statements, and with it
what set it off: the message that began it, the step that sent this one, and so on up to a timer or
a client; and where a client's request arrives, also if what it begins there comes later. Changes of
the world meanwhile (faults, elections, leases) matter as well. All other steps of the causal past
are *folded*: only their number is shown.

A node may learn of a schema update after the violation, or never. Then the arrival is shown too, as
*later*: it lies outside of the causal past, and that is often the point.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ddlsim.checkers.argument import Party, update_of
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.cli.picture.steps import Step, Steps
from ddlsim.history.events import (
    AnyEvent,
    Invoked,
    MetadataRead,
    ReadExecuted,
    UpdateApplied,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.world_events import (
    AppliedLost,
    ClockSet,
    EntryLost,
    LeaderElected,
    LeaderSteppedDown,
    LeaseBegan,
    MessageDelivered,
    MessageSent,
    NeverCompleted,
    NodeCrashed,
    NodeRestarted,
    SettingChanged,
    SnapshotInstalled,
)
from ddlsim.model.groups import META

MOST: Final = 160
"""No picture has more steps: it is read from top to bottom."""
OF_GROUPS: Final = (LeaderElected, LeaderSteppedDown, SnapshotInstalled, EntryLost, AppliedLost)


class Subject(NamedTuple):
    """What an argument is about: its transactions, operations, updates, tables and groups.

    `leases` are the beginnings of their leases: what only prolongs one is left out.
    """

    txs: frozenset[str]
    ops: frozenset[str]
    versions: frozenset[int]
    tables: tuple[int, ...]
    groups: frozenset[str]
    leases: frozenset[LeaseBegan]

    def concerns(self, event: AnyEvent) -> bool:
        """Whether an event is one of these transactions, operations or updates."""
        if isinstance(event, UpdateLogged | UpdateApplied):
            return event.catalog_version in self.versions
        return getattr(event, "tx", None) in self.txs or getattr(event, "op", None) in self.ops

    def updates(self, case: Case) -> list[UpdateLogged]:
        """Its schema updates, in the order of the log; the initial schema is none."""
        logged = (one for _, one in case.schemas.updates if one.op is not None)
        return [one for one in logged if one.catalog_version in self.versions]

    def disturbs(self, event: AnyEvent) -> bool:
        """Whether an event changes the world in which they run."""
        if isinstance(event, OF_GROUPS):
            return event.group == META or event.group in self.groups
        if isinstance(event, LeaseBegan):
            return event in self.leases
        return isinstance(event, NodeCrashed | NodeRestarted | ClockSet | SettingChanged)


class Shown(NamedTuple):
    """A step that is drawn.

    `offending` marks an event that the violation rests on; `relays` a step that only receives and
    sends; `later` one outside of the causal past. `folded` steps before it are not drawn.
    """

    step: Step
    offending: bool
    relays: bool
    later: bool
    folded: int


class Cut(NamedTuple):
    """The steps that are drawn, in order, and what is not.

    `in_past` is the size of the causal past in steps, `idle` how many of the folded ones only
    replicate or advance safe time, `left_out` how many that matter are beyond the limit.
    """

    shown: Sequence[Shown]
    of_all: int
    in_past: int
    idle: int
    left_out: int


def subject_of(case: Case, parties: Iterable[Party], events: Iterable[AnyEvent]) -> Subject:
    """What an argument with these parties and events is about."""
    txs, ops, versions, tables = (dict[str, None]() for _ in range(4))
    for party in parties:
        changed = update_of(case, party.name)
        for update in () if changed is None else (changed, *_out_of_order(case, changed)):
            versions[str(update.catalog_version)] = None
            ops |= {} if update.op is None else {update.op: None}
            tables |= {str(change.object_id): None for change in update.objects}
        tx = case.transactions.get(party.name)
        if tx is not None:
            txs[tx.name] = None
            ops |= tx.ops
            tables |= {str(one.object_id): None for _, one in tx.enlisted}
    for event in events:
        op = getattr(event, "op", None)
        ops |= {} if op is None else {op: None}
        table = getattr(event, "object_id", 0)
        tables |= {str(table): None} if table else {}
    if not versions:
        for one in _met(case, [case.transactions[name] for name in txs]):
            versions[str(one.catalog_version)] = None
            ops |= {} if one.op is None else {one.op: None}
    for op in list(ops):  # one that was tried again has been several transactions
        operation = case.operations.get(op)
        txs |= {} if operation is None else operation.txs
    numbers = tuple(int(one) for one in tables)
    leases: dict[tuple[str, str, int], LeaseBegan] = {}
    for _, lease in case.of(LeaseBegan):
        if lease.group.partition("/")[0] in tables:
            leases.setdefault((lease.group, lease.holder, lease.start_ts), lease)
    return Subject(
        frozenset(txs),
        frozenset(ops),
        frozenset(map(int, versions)),
        numbers,
        frozenset(group for group, _, _ in leases),
        frozenset(leases.values()),
    )


def _out_of_order(case: Case, update: UpdateLogged) -> Iterator[UpdateLogged]:
    """The updates that activate after a later one in the log, or before an earlier one.

    What was in force before is in force again then, or an update is before its own Tu [98.past.2].
    """
    this = update.catalog_version, update.activation_ts
    for _, one in case.schemas.updates:
        other = one.catalog_version, one.activation_ts
        if one.op is not None and min(this, other)[1] > max(this, other)[1]:
            yield one


def _met(case: Case, txs: Iterable[Transaction]) -> Iterator[SchemaVersion]:
    """The versions that came between what a transaction met of a table first and last.

    It meets the version under which it enlists a table, those of its look-ups and of the rows that
    it reads, and what the log says of its commit, or what was in the log when it was aborted.
    """
    for tx in txs:
        for _, enlisted in tx.enlisted:
            table = enlisted.object_id
            seen = [one.version for _, one in tx.resolved if one.object_id == table]
            rows = [row for _, read in tx.reads if read.object_id == table for row in read.rows]
            seen += [row.row_version for row in rows]
            if tx.committed is not None:
                seen += [at_commit for one, _, at_commit in tx.committed.tables if one == table]
                due = case.schemas.effective(table, tx.committed.commit_ts)
                seen += [] if due is None else [due.version]
            elif tx.aborted is not None:
                seen += case.schemas.versions_by(table, tx.aborted.at_us)[-1:]
            written = [row.row_version for row in rows if row.row is not None]
            first = min([enlisted.version, *written])
            yield from case.schemas.steps(table, first, max(seen, default=0))


def cut(steps: Steps, subject: Subject, evidence: Iterable[int], offending: Iterable[int]) -> Cut:
    """The steps that matter to an argument.

    `evidence` are the positions of its events, `offending` of those that break the invariant.
    Without evidence the whole run counts as the past, and all that was before the end of a run with
    an operation that never ended: no message tells its client why.
    """
    evidence = list(evidence)
    last = _numbers(steps, evidence)
    is_answered = not any(isinstance(steps.events[at], NeverCompleted) for at in evidence)
    if last and steps.traced and is_answered:
        past = steps.past(last)
    else:
        past = {step.number for step in steps.steps if not last or step.number <= max(last)}
    red = set(_numbers(steps, offending))
    own = {
        number
        for number in past
        if number in last or any(map(subject.concerns, steps.events_of(steps.steps[number])))
    }
    own -= _initial(steps, own - red)
    own -= _of_bystanders(steps, subject, own, red)
    chosen = _with_triggers(steps, own)
    chosen |= _requests(steps, past, own)
    chosen |= _disturbances(steps, subject, past, chosen)
    late = _late(steps, subject, past, chosen) if last else set()
    kept = _nearest(chosen | late, own, red)
    return Cut(
        list(_in_order(steps, kept, past, own, red)),
        len(steps.steps),
        len(past),
        sum(_is_idle(steps, steps.steps[one]) for one in past - kept),
        len(chosen | late) - len(kept),
    )


def _numbers(steps: Steps, positions: Iterable[int]) -> list[int]:
    found = (steps.step_of[at] for at in positions if at >= 0)
    return [number for number in found if number is not None]


def _initial(steps: Steps, numbers: Iterable[int]) -> set[int]:
    """Steps before anything ran: the initial schema, clocks and leases."""
    return {one for one in numbers if steps.steps[one].at_us == 0 and _is_quiet(steps, one)}


def _is_quiet(steps: Steps, number: int) -> bool:
    events = steps.events_of(steps.steps[number])
    return all(isinstance(one, UpdateLogged) and one.op is None for one in events)


def _of_bystanders(steps: Steps, subject: Subject, own: set[int], red: set[int]) -> set[int]:
    """Steps of lanes that only apply updates: they take no part in the argument."""

    def takes_part(number: int) -> bool:
        events = [one for one in steps.events_of(steps.steps[number]) if subject.concerns(one)]
        return number in red or not all(isinstance(one, UpdateApplied) for one in events)

    active = {steps.steps[number].lane for number in own if takes_part(number)}
    return {number for number in own if steps.steps[number].lane not in active}


def _with_triggers(steps: Steps, numbers: set[int]) -> set[int]:
    found = set(numbers)
    for step in reversed(steps.steps):
        if step.number in found and (trigger := steps.trigger(step)) is not None:
            found.add(trigger)
    return found


def _requests(steps: Steps, past: set[int], own: set[int]) -> set[int]:
    """Where requests of clients arrive."""
    asking = {
        number
        for number in own
        if any(isinstance(event, Invoked) for event in steps.events_of(steps.steps[number]))
    }
    return {
        message.arrived_in
        for message in steps.messages
        if message.sent_in in asking and message.arrived_in in past
    }


def _disturbances(steps: Steps, subject: Subject, past: set[int], chosen: set[int]) -> set[int]:
    """Changes of the world since the first step that matters."""
    since = min(chosen, default=0)
    return {
        number
        for number in past
        if number >= since
        and steps.steps[number].at_us
        and any(map(subject.disturbs, steps.events_of(steps.steps[number])))
    }


def _late(steps: Steps, subject: Subject, past: set[int], chosen: set[int]) -> set[int]:
    """Where nodes of the picture apply its updates outside of the causal past."""
    lanes = {steps.steps[number].lane for number in chosen}
    found = {
        step.number
        for step in steps.steps
        if step.number not in past
        and step.lane in lanes
        and any(
            isinstance(event, UpdateApplied) and subject.concerns(event)
            for event in steps.events_of(step)
        )
    }
    return _with_triggers(steps, found)


def _nearest(numbers: set[int], own: set[int], red: set[int]) -> set[int]:
    """At most `MOST` of them: first what is the argument's own, then what is near to its end."""
    last = max(red, default=0)

    def rank(number: int) -> tuple[bool, bool, int]:
        return (number not in red, number not in own, abs(number - last))

    return set(sorted(numbers, key=rank)[:MOST])


def _in_order(
    steps: Steps, kept: set[int], past: set[int], own: set[int], red: set[int]
) -> Iterator[Shown]:
    before = min(kept, default=0)
    passing = (MessageDelivered, MessageSent)
    for number in sorted(kept):
        step = steps.steps[number]
        folded = sum(between in past and between not in kept for between in range(before, number))
        acts = any(type(event) not in passing for event in steps.events_of(step))
        relays = not (number in red or (acts and _has_words(steps, step, own)))
        yield Shown(step, number in red, relays, number not in past, folded)
        before = number + 1


def _has_words(steps: Steps, step: Step, own: set[int]) -> bool:
    """Whether a step is described in words: the argument's own ones, and changes of the world."""
    return step.number in own or not _is_idle(steps, step)


def _is_idle(steps: Steps, step: Step) -> bool:
    """Whether a step only replicates, renews leases or advances safe time."""
    busy = (ReadExecuted, WriteExecuted, MetadataRead, UpdateApplied, UpdateLogged)
    disturbing = (NodeCrashed, NodeRestarted, ClockSet, SettingChanged, LeaderElected)
    return not any(
        isinstance(event, (*busy, *disturbing, LeaderSteppedDown, LeaseBegan))
        or getattr(event, "tx", None) is not None
        or getattr(event, "op", None) is not None
        for event in steps.events_of(step)
    )
