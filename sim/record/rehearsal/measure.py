"""The figures of a rehearsal, from its recording: stalls, latencies, aborts and crossings.

A *wait* of a table is the time from the first statement on it that has no success yet to the next
success: no statement on the table gets its answer in between, though one is asked. The *stall* of a
statement of the migration is the longest wait, as far as it lies within the statement's own time.
Errors end no wait, so a table that is gone from the last statement on is waited for until the end.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Final, NamedTuple

from ddlsim.history.recording import STATEMENTS, Begun, Ended, Statement, record_of
from ddlsim.record.errors import DEFINITION, NO_ROW, PLAN, UNDEFINED
from ddlsim.record.rehearsal.loading import Target
from ddlsim.record.rehearsal.migration import Mark

MS: Final = 1e6
SCHEMA: Final = (UNDEFINED, DEFINITION, PLAN, NO_ROW)
"""Errors that a change of the schema brings about."""
CONTROL: Final = re.compile(r"\s*(?:BEGIN|START|COMMIT|ROLLBACK)\b", re.IGNORECASE)


class Call(NamedTuple):
    """A statement of a client and its outcome: `kind` is the class of its error, or empty.

    `rows` is how many rows it showed, `changed` how many it changed.
    """

    tx: int
    at: int
    until: int
    table: str
    kind: str
    text: str
    sql: str
    values: tuple[object, ...]
    rows: int | None
    changed: int | None = None


@dataclass(slots=True)
class Transacted:
    """A transaction of a client: when its last statement was sent, and when its first use of each
    table was answered.
    """

    sent: int
    end: int = 0
    outcome: str = ""
    why: str = ""
    used: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lines:
    """What clients did: statements in the order of their answers, and transactions."""

    calls: list[Call]
    transactions: dict[int, Transacted]


class Latency(NamedTuple):
    """Of statements that succeeded: how many, their quantiles in ms, and how many a second."""

    number: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    per_s: float


class Crossing(NamedTuple):
    """Transactions that surely were across a change, and how many of them ended with an error of
    the schema: a use of the table was answered before the statement was sent, and a statement of
    theirs was sent after the change had taken effect.
    """

    transactions: int
    aborted: int


class Measured(NamedTuple):
    """The figures of a statement of the migration."""

    stall_ms: float
    stalled: str
    """The table of the longest wait."""
    latency: Latency
    aborts: dict[str, int]
    examples: dict[str, str]
    crossing: Crossing


class Wait(NamedTuple):
    """A wait of a table; one that has not `ended` lasts until the last answer, an error."""

    table: str
    at: int
    until: int
    ended: bool = True


class Figures(NamedTuple):
    """All figures; `stall_ms` is the longest wait that overlaps the migration.

    So is one behind its last statement that never ends: where a table is gone, all are refused.
    """

    before: Latency
    after: Latency
    longest_before_ms: float
    stall_ms: float
    stalled: str
    aborts_before: dict[str, int]
    statements: list[Measured]


def lines_of(folder: Path, clients: int, targets: Sequence[Target], tables: Iterable[str]) -> Lines:
    """What clients did, from the recording in a folder."""
    known = _Tables(targets, tables)
    transactions: dict[int, Transacted] = {}
    calls: list[Call] = []
    with (folder / STATEMENTS).open("rb") as file:
        next(file)
        for line in file:
            found = record_of(line)
            if isinstance(found, Begun):
                if found.process % (clients + 2) < clients:
                    transactions[found.tx] = Transacted(found.at)
            elif isinstance(found, Statement) and found.tx in transactions:
                call = _call(found, known)
                transactions[found.tx].sent = call.at
                calls.append(call)
                if call.table:
                    transactions[found.tx].used.setdefault(call.table, call.until)
            elif isinstance(found, Ended) and found.tx in transactions:
                one = transactions[found.tx]
                one.end, one.outcome, one.why = found.at, found.outcome, found.why
    return Lines(sorted(_judged(calls, transactions), key=lambda one: one.until), transactions)


class _Tables:
    """The table that a statement is about: the first that it names."""

    def __init__(self, targets: Sequence[Target], tables: Iterable[str]) -> None:
        self._of = {sql: one.name for one in targets for sql in (one.read_sql, one.write_sql)}
        names = sorted(tables, key=len, reverse=True)
        self._named = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b", re.IGNORECASE)

    def of(self, sql: str) -> str:
        """Its name; empty for BEGIN, COMMIT and ROLLBACK."""
        found = self._of.get(sql)
        if found is None:
            matched = None if CONTROL.match(sql) else self._named.search(sql)
            found = self._of[sql] = "" if matched is None else matched[1]
        return found


def _call(found: Statement, known: _Tables) -> Call:
    kind, text = ("", "") if found.problem is None else found.problem[1:]
    rows = None if found.rows is None else len(found.rows)
    return Call(found.tx, found.at, found.until, known.of(found.sql), kind, text, found.sql,
                found.values, rows, found.count)  # fmt: skip


def _judged(calls: Sequence[Call], transactions: Mapping[int, Transacted]) -> Iterator[Call]:
    """Calls as their transactions took them: of one that ended for it, the last UPDATE that found
    no row is an error.
    """
    last = {one.tx: one for one in calls if one.changed == 0 and not one.kind}
    for one in calls:
        if transactions[one.tx].why == NO_ROW and last.get(one.tx) is one:
            yield one._replace(kind=NO_ROW, text="an UPDATE by the primary key found no row")
        else:
            yield one


def measure(lines: Lines, marks: Sequence[Mark]) -> Figures:
    """The figures; of marks that were never reached there are none."""
    run = [one for one in marks if one.has_run]
    end = max((one.until for one in lines.calls), default=0)
    begin = min((one.at for one in lines.calls), default=0)
    first, last = (run[0].at, run[-1].until) if run else (end, end)
    waits = waits_of(lines.calls)
    long = max(
        (one for one in waits if one.until > first and (one.at < last or not one.ended)),
        key=_length, default=Wait("", 0, 0),
    )  # fmt: skip
    nexts = [one.at for one in run[1:]] + [end + 1]
    calm = [one for one in waits if one.until <= first]
    return Figures(
        latency(lines.calls, begin, first, inside=True),
        latency(lines.calls, last, end + 1, inside=True),
        max(map(_length, calm), default=0) / MS,
        _length(long) / MS,
        long.table,
        _aborts(lines.calls, 0, first)[0],
        [_measured(lines, waits, one, until) for one, until in zip(run, nexts, strict=True)],
    )


def _length(one: Wait) -> int:
    return one.until - one.at


def waits_of(calls: Iterable[Call]) -> list[Wait]:
    """The waits of all tables, from calls in the order of their answers."""
    answered: dict[str, int] = {}
    since: dict[str, int] = {}
    latest: dict[str, int] = {}
    found: list[Wait] = []
    for call in calls:
        if not call.table:
            continue
        begins = max(call.at, answered.get(call.table, 0))
        begins = since[call.table] = min(begins, since.get(call.table, begins))
        latest[call.table] = call.until
        if not call.kind:
            found.append(Wait(call.table, begins, call.until))
            answered[call.table] = call.until
            del since[call.table]
    found += [Wait(table, at, latest[table], ended=False) for table, at in since.items()]
    return found


def _measured(lines: Lines, waits: Sequence[Wait], mark: Mark, until: int) -> Measured:
    within = [
        (min(one.until, mark.until) - max(one.at, mark.at), one.table)
        for one in waits
        if one.until > mark.at and one.at < mark.until
    ]
    stall, table = max(within, default=(0, ""))
    aborts, examples = _aborts(lines.calls, mark.at, until)
    return Measured(
        stall / MS, table, latency(lines.calls, mark.at, mark.until), aborts, examples,
        _crossing(lines.transactions.values(), mark),
    )  # fmt: skip


def latency(calls: Iterable[Call], at: int, until: int, *, inside: bool = False) -> Latency:
    """The latency of statements that overlap a time, or lie inside of it."""
    times = sorted(
        (one.until - one.at) / MS
        for one in calls
        if one.table and not one.kind
        and (one.at >= at and one.until <= until if inside else one.until > at and one.at < until)
    )  # fmt: skip
    if not times:
        return Latency(0, 0.0, 0.0, 0.0, 0.0)
    seconds = max(until - at, 1) / 1e9
    return Latency(
        len(times), _quantile(times, 0.5), _quantile(times, 0.99), times[-1], len(times) / seconds
    )


def _quantile(times: Sequence[float], share: float) -> float:
    """The nearest rank."""
    return times[max(0, ceil(share * len(times)) - 1)]


def _aborts(calls: Iterable[Call], at: int, until: int) -> tuple[dict[str, int], dict[str, str]]:
    """Errors by class in answers of a time, and the text of the first of each class."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for one in calls:
        if one.kind and at <= one.until < until and not one.sql.startswith("ROLLBACK"):
            counts[one.kind] += 1
            examples.setdefault(one.kind, one.text)
    return dict(sorted(counts.items())), examples


def _crossing(transactions: Iterable[Transacted], mark: Mark) -> Crossing:
    """Of the tables that the statement names."""
    said = {word.lower() for word in mark.order.words}
    across = [
        one
        for one in transactions
        if one.sent > mark.effect
        and any(at <= mark.at and table.lower() in said for table, at in one.used.items())
    ]
    return Crossing(len(across), sum(one.why in SCHEMA for one in across))
