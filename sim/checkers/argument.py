"""An argument against a history as data: its parties, their order and its reasons, what was seen.

The same in words is one paragraph. For a cycle the parties are its transactions and DDLs, in its
order; for anything else the transactions and nodes in its witnesses.
"""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from ddlsim.checkers.base import Step
from ddlsim.checkers.case.case import Case, Placed, Transaction
from ddlsim.checkers.case.statements import Answered, answered
from ddlsim.checkers.event_words import told
from ddlsim.checkers.explain import WIDTH
from ddlsim.checkers.judge import Violation
from ddlsim.history.events import AnyEvent, UpdateApplied, UpdateLogged
from ddlsim.model.records import Record
from ddlsim.units import US_PER_MS, decimal, show

ALIAS_END = "end of alias"
"""What the command of an update begins with that ends an alias."""
MOST_SQL = 120
"""So much of a statement is quoted."""


class Party(Record, frozen=True):
    """A transaction or DDL of an argument.

    `did` is its statement, or what it did in short; `node` its coordinator or the leader that
    logged it. `begins_ms` and `ends_ms` are when its client first asked and had its answer, in
    simulated milliseconds; `stamps` its timestamps by their names, as people read them.
    """

    name: str
    is_ddl: bool
    did: str
    node: str | None
    client: str | None
    begins_ms: float | None
    ends_ms: float | None
    stamps: dict[str, str]


class Moment(Record, frozen=True):
    """An event that the argument rests on, or that frames it."""

    at_ms: float
    event: str
    node: str | None
    text: str


class Argument(Record, frozen=True):
    """Everything there is to say of one violation."""

    paragraph: str
    parties: tuple[Party, ...]
    steps: tuple[Step, ...]
    moments: tuple[Moment, ...]


def argue(case: Case, violation: Violation) -> Argument:
    """The argument of one violation of this case."""
    parties = tuple(party_of(case, name) for name in names_of(violation))
    moments = tuple(_moments(case, violation, parties))
    if violation.steps:
        paragraph = _order(violation, parties)
    else:
        shown = _shown(moments)
        clauses = f" [{', '.join(violation.clauses)}]" if violation.clauses else ""
        paragraph = f"{_sentence(violation.summary + clauses)}{shown}"
    return Argument(paragraph, parties, violation.steps, moments)


def _shown(moments: Sequence[Moment]) -> str:
    """When the events are that show a violation, each instant once."""
    instants = list(dict.fromkeys(f"{decimal(one.at_ms)} ms" for one in moments))
    if not instants:
        return ""
    if len(moments) == 1:
        return f" An event at {instants[0]} shows it."
    return f" {len(moments)} events at {_listed(instants)} show it."


def names_of(violation: Violation) -> list[str]:
    """The parties, each once."""
    if violation.steps:
        return [step.source for step in violation.steps]
    names: dict[str, None] = {}
    for event in violation.witness:
        if isinstance(event, UpdateLogged | UpdateApplied):
            names[f"D{event.catalog_version}"] = None
        for field in ("tx", "writer"):
            name = getattr(event, field, None)
            if name is not None:
                names[name] = None
    return list(names)


# --- parties -------------------------------------------------------------------------------------


def party_of(case: Case, name: str) -> Party:
    """A transaction by its name, or a DDL by the catalog version that it made: `D4`."""
    update = update_of(case, name)
    if update is not None:
        return _ddl(case, name, update)
    tx = case.transactions.get(name)
    asked = statement_of(case, name)
    if tx is None and asked is not None:
        return _statement(case, asked)
    if tx is None:
        return Party(
            name,
            is_ddl=False,
            did="not known to any node",
            node=None,
            client=None,
            begins_ms=None,
            ends_ms=None,
            stamps={},
        )
    return _transaction(case, tx)


def update_of(case: Case, name: str) -> UpdateLogged | None:
    """The update that a name such as `D4` stands for, unless a transaction is called so."""
    number = name.removeprefix("D")
    if name in case.transactions or number == name or not number.isdigit():
        return None
    return case.schemas.catalog(int(number))


def statement_of(case: Case, name: str) -> Answered | None:
    """The statement without an update that a name such as `d2 (no-op)` stands for."""
    return next((one for one in answered(case) if one.label == name), None)


def _statement(case: Case, one: Answered) -> Party:
    operation = one.ddl.operation
    invoked = operation.invoked
    return Party(
        name=one.label,
        is_ddl=True,
        did=_short(case.statement(one.decided.op)),
        node=one.decided.node,
        client=None if invoked is None else invoked.client,
        begins_ms=None if invoked is None else invoked.at_us / US_PER_MS,
        ends_ms=_at_ms(case, operation.answered_at),
        stamps={
            "asked": show(one.decided.asked_ts),
            "rests on Tu": show(one.decided.activation_ts),
        },
    )


def _ddl(case: Case, name: str, update: UpdateLogged) -> Party:
    operation = None if update.op is None else case.operations.get(update.op)
    invoked = None if operation is None else operation.invoked
    return Party(
        name=name,
        is_ddl=True,
        did=_short(case.statement(update.op)) or _unasked(update),
        node=update.node,
        client=None if invoked is None else invoked.client,
        begins_ms=None if invoked is None else invoked.at_us / US_PER_MS,
        ends_ms=_at_ms(case, None if operation is None else operation.answered_at),
        stamps={
            "Tm": show(update.message_ts),
            "Tu": show(update.activation_ts),
        },
    )


def _unasked(update: UpdateLogged) -> str:
    """What an update is for which no client asked: the initial schema, or the end of an alias."""
    if update.op is None:
        return "the initial schema"
    if not update.op.startswith(ALIAS_END):
        return update.op
    return f"the end of the name {' and '.join(repr(one.name) for one in update.objects)}"


def _transaction(case: Case, tx: Transaction) -> Party:
    began = case.began.get(tx.name)
    stamps: dict[str, str] = {}
    if began is not None:
        stamps["begin_ts"] = show(began[1].begin_ts)
    if tx.read_ts is not None:
        stamps["read_ts"] = show(tx.read_ts)
    elif tx.committed is not None:
        stamps["commit_ts"] = show(tx.committed.commit_ts)
    return Party(
        name=tx.name,
        is_ddl=False,
        did=_doings(tx),
        node=None if began is None else began[1].node,
        client=tx.client,
        begins_ms=_at_ms(case, tx.begins_at),
        ends_ms=_at_ms(case, tx.ends_at),
        stamps=stamps,
    )


def _doings(tx: Transaction) -> str:
    counts = (
        (sum(not read.predicate for _, read in tx.reads), "read"),
        (sum(read.predicate for _, read in tx.reads), "scan"),
        (len(tx.writes), "write"),
        (len(tx.metadata), "metadata query"),
    )
    parts = [f"{count} {word}{'s' * (count > 1)}" for count, word in counts if count]
    parts = [one.replace("querys", "queries") for one in parts]
    if tx.aborted is not None:
        parts.append(f"aborted: {tx.aborted.reason}")
    elif tx.committed is None:
        parts.append("never committed")
    return ", ".join(parts) or "nothing"


def _at_ms(case: Case, position: int | None) -> float | None:
    return None if position is None else case.history.events[position].at_us / US_PER_MS


def _short(sql: str) -> str:
    sql = " ".join(sql.split())
    return sql if len(sql) <= MOST_SQL else f"{sql[: MOST_SQL - 3]}..."


# --- when ----------------------------------------------------------------------------------------


def _moments(case: Case, violation: Violation, parties: tuple[Party, ...]) -> Iterator[Moment]:
    """The events of an argument, in words, by their instants."""
    for _, event in evidence(case, violation, parties):
        node = getattr(event, "node", None)
        yield Moment(event.at_us / US_PER_MS, type(event).__name__, node, told(case, event))


def evidence(case: Case, violation: Violation, parties: Iterable[Party]) -> list[Placed[AnyEvent]]:
    """The witnesses, and of a cycle the beginning and the end of each party, by their instants."""
    events: dict[int, AnyEvent] = {id(event): event for event in violation.witness}
    if violation.steps:
        for party in parties:
            for event in _frame(case, party):
                events.setdefault(id(event), event)
    places = {id(event): at for at, event in enumerate(case.history.events) if id(event) in events}
    placed = [(places.get(one, -1), event) for one, event in events.items()]
    return sorted(placed, key=lambda one: (one[1].at_us, one[0]))


def _frame(case: Case, party: Party) -> Iterator[AnyEvent]:
    events = case.history.events
    if not party.is_ddl:
        tx = case.transactions.get(party.name)
        if tx is not None:
            yield from (events[at] for at in (tx.begins_at, tx.ends_at) if at is not None)
            yield from (event for event in (tx.committed, tx.aborted) if event is not None)
        return
    update, asked = update_of(case, party.name), statement_of(case, party.name)
    op = "" if update is None else update.op or ""
    operation = case.operations.get(op if asked is None else asked.decided.op)
    if operation is not None:
        ends = (operation.invoked_at, operation.answered_at)
        yield from (events[at] for at in ends if at is not None)


# --- in words ------------------------------------------------------------------------------------


def prose(argument: Argument) -> Iterator[str]:
    """A cycle's paragraph, and the events by their instants, in lines of limited width.

    What else there is to say is the violation's summary.
    """
    if argument.steps:
        yield from _wrapped(argument.paragraph, "  ", "  ")
    for moment in argument.moments:
        yield from _wrapped(f"{moment.at_ms:10.3f} ms  {moment.text}", "  ", " " * 6)


def _wrapped(text: str, indent: str, rest: str) -> list[str]:
    return wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _order(violation: Violation, parties: tuple[Party, ...]) -> str:
    """A cycle as sentences: its DDLs, the reason of each step, the conclusion."""
    names = [party.name for party in parties]
    sentences = [f"No serial order holds {_listed(names)}."]
    for party in parties:
        if party.is_ddl:
            stamps = ", ".join(f"{name} = {value}" for name, value in party.stamps.items())
            sentences.append(f"{party.name} is {party.did} ({stamps}).")
    sentences += [
        f"{step.source} comes before {step.target} ({step.edge}), because {_sentence(step.because)}"
        for step in violation.steps
    ]
    clauses = f" [{', '.join(violation.clauses)}]" if violation.clauses else ""
    sentences.append(f"So each would have to come before itself: {violation.kind}{clauses}.")
    if violation.strict_only:
        sentences.append("Only the strict graph shows it.")
    return " ".join(sentences)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
