"""The steps of a picture in words, and a violation in three sentences.

Timestamps are `150+10`: milliseconds and the logical part of the hybrid clock.
"""

import re
from collections.abc import Iterator, Sequence

from ddlsim.checkers.argument import Argument, Party, evidence, party_of, update_of
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.event_words import event_words, told, write_words
from ddlsim.checkers.judge import Violation
from ddlsim.checkers.signature import CRASH
from ddlsim.cli.picture.cut import subject_of
from ddlsim.history.events import (
    AnyEvent,
    Encoded,
    Enlisted,
    Invoked,
    Named,
    ReadExecuted,
    SafeTimeAdvanced,
    SchemaResolved,
    UpdateApplied,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.world_events import (
    CommandLogged,
    MessageDelivered,
    MessageSent,
    PartitionSafeTime,
)
from ddlsim.model.clauses import CLAUSES
from ddlsim.mutants.base import MUTANTS
from ddlsim.scenario.findings import described
from ddlsim.units import BEGINNING, US_PER_MS, Timestamp, as_ms, decimal, physical_ms

CITED = re.compile(r"\b(?:98|110)(?:\.\w+)+")
MOST_UPDATES = 2
MOST_EVENTS = 4
"""So many events that show a violation are in its sentence."""
SILENT = (CommandLogged, MessageDelivered, Named, PartitionSafeTime, SafeTimeAdvanced)
"""What the state before and after a step shows, or the step's other events."""


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
    return "; ".join(dict.fromkeys(parts)) or "; ".join(
        event_words(case, event) for event in events
    )


def _words_of(case: Case, events: Sequence[AnyEvent], witness: set[int]) -> Iterator[str]:
    """The events that say something, each in some words."""
    used = any(isinstance(one, ReadExecuted | WriteExecuted | Enlisted) for one in events)
    asked = any(isinstance(one, Invoked) for one in events)
    for event in events:
        silent = isinstance(event, (*SILENT, MessageSent))
        if isinstance(event, Encoded):
            silent = asked  # again, after a mismatch, is worth a word
        if isinstance(event, SchemaResolved):
            silent = used and not event.waited_us
        if silent and id(event) not in witness:
            continue
        if isinstance(event, WriteExecuted):
            yield write_words(case, event)  # there is room for two lines
        else:
            yield event_words(case, event)


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


def cited(violation: Violation, sentences: Sequence[str]) -> str:
    """The clauses that a violation breaks and its sentences name, each with what it says."""
    named = (one for text in sentences for one in CITED.findall(text))
    says = {clause.id: clause.sentence for clause in CLAUSES}
    known = [one for one in dict.fromkeys([*violation.clauses, *named]) if one in says]
    parts = [f"[{one}] {says[one]}" for one in known]
    return f"Clauses: {'; '.join(parts)}." if parts else ""


def _crash(case: Case, violation: Violation) -> tuple[str, str, str]:
    """The same of a run that raised: what did, what came last, and what it does not mean."""
    where = ", ".join(violation.clauses)
    what = f"The run crashes ({violation.kind} in {where}): {_bare(violation.summary)}."
    last = case.history.events[-1:]
    parts = [_bare(told(case, one)) for one in last]
    at_ms = case.history.end_us / US_PER_MS
    came = f" Before that, {parts[0]} (at {as_ms(last[0].at_us)} ms)." if parts else ""
    how = f"It ends at {decimal(at_ms)} ms.{came}"
    return what, how, "Simulated code or the simulator is wrong: no verdict on the protocol."


def _party(party: Party) -> str:
    """A transaction or a statement with its timestamps in milliseconds."""
    known = {name: value for name, value in party.stamps.items() if value != BEGINNING}
    stamps = [f"{name} = {value} ms" for name, value in known.items()]
    parts = [party.did, *stamps] if party.is_ddl else stamps
    return f"{party.name} ({', '.join(parts)})" if parts else party.name


def _witnesses(case: Case, violation: Violation, argument: Argument) -> str:
    subject = subject_of(case, argument.parties, violation.witness)
    updates = [f"D{one.catalog_version}" for one in subject.updates(case)]
    events = [
        event
        for _, event in evidence(case, violation, ())
        if not isinstance(event, UpdateLogged)
        or (event.op is not None and f"D{event.catalog_version}" not in updates)
    ]
    shown = [_update(case, party_of(case, name)) for name in updates[:MOST_UPDATES]]
    parts = shown + [
        f"at {as_ms(event.at_us)} ms {_bare(told(case, event))}" for event in events[:MOST_EVENTS]
    ]
    parts += _arrivals(case, updates[:MOST_UPDATES], events)
    left = len(events) - MOST_EVENTS
    more = f"; and {left} more event{'s' * (left > 1)}" if left > 0 else ""
    if parts:
        return f"{'; '.join(parts)}{more}."
    parties = [_party(one) for one in argument.parties]
    return f"It concerns {_listed(parties)}." if parties else "No event is named by the judge."


def _arrivals(case: Case, updates: Sequence[str], events: Sequence[AnyEvent]) -> Iterator[str]:
    """When the nodes whose look-ups were wrong had the updates: before, later, or never."""
    looked_up = {one.node: one for one in events if isinstance(one, SchemaResolved)}
    known = any(isinstance(one, UpdateApplied) for one in events)
    for name in [] if known or case.is_layered else updates:
        for node, event in looked_up.items():
            first = next(
                (
                    one
                    for _, one in case.of(UpdateApplied)
                    if one.node == node and f"D{one.catalog_version}" == name
                ),
                None,
            )
            if first is None:
                yield f"{node} never applies {name}"
            elif first.at_us > event.at_us:
                yield f"at {as_ms(first.at_us)} ms {node} applies {name}"
            else:
                yield f"{node} had applied {name} at {as_ms(first.at_us)} ms"


def _update(case: Case, party: Party) -> str:
    """A statement with its timestamps, and when it was in the log, where that was after its Tu."""
    stamps = " and ".join(f"{name} = {value} ms" for name, value in party.stamps.items())
    logged = update_of(case, party.name)
    if logged is None or case.is_layered or logged.at_us < _ms_us(logged.activation_ts):
        return f"{party.name} is {party.did}, with {stamps}"
    return f"{party.name} is {party.did}, with {stamps}, in the log at {as_ms(logged.at_us)} ms"


def _ms_us(ts: int) -> int:
    return physical_ms(Timestamp(ts)) * US_PER_MS


def _counts(case: Case, violation: Violation) -> str:
    """Whether it counts, under which DD and CSmax, and of a finding what closes it."""
    design = f"the design {case.header.design.name}"
    status, _, finding = violation.status.partition(":")
    if finding:
        table = next(one for one in described() if one.id == finding)
        rules = ", ".join(f"{field} = {rule}" for field, rule in table.closing.items())
        close = "close" if len(table.closing) > 1 else "closes"
        closing = f"; {rules} {close} it" if rules else ""
        words = f"{design} has the known finding {finding} ({table.title}), no violation{closing}"
    elif status == "violation":
        words = f"{design} promises that this cannot happen, and all that it assumes holds"
        claimed = {claim.invariant for claim in case.header.design.claims}
        if violation.invariant not in claimed:
            words = f"{design} does not claim {violation.invariant}, which is judged all the same"
        words += _mutant(case.header.mutant)
    elif status == "stuck":
        words = f"the run is stuck, which counts whatever {design} claims"
        words += _mutant(case.header.mutant)
    else:
        because = f": {_bare(violation.because)}" if violation.because else ""
        words = f"{design} has this as {status.replace('_', ' ')}{because}"
        words += _mutant(case.header.mutant)
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
