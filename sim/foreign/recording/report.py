"""The judgement of a recording: the histories' own judge, with tables and SQL in its words."""

from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import structs

from ddlsim.foreign import jepsen
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.foreign.recording import uniqueness, whole, with_sql
from ddlsim.foreign.recording.crossings import MEANING, Crossing, crossings
from ddlsim.foreign.recording.documented import DOCUMENTED
from ddlsim.foreign.recording.sent import head_at, statements
from ddlsim.foreign.recording.words import Words, place_of, tx_of
from ddlsim.foreign.report import Report, headline, of_verdict
from ddlsim.graph.history import Array
from ddlsim.graph.models import Model, model_of
from ddlsim.graph.verdict import Anomaly, Verdict
from ddlsim.history.recording import HISTORY, REHEARSAL, SPAN, Recording

MOST_KEYS: Final = 1 << 62
COPIED: Final = {"incompatible-order": "snapshot-isolation"}
"""Where DDL writes back rows that it has read, an element that is gone is a lost update of it."""
WORDED: Final = 3
"""Crossings of a type that have an argument with their SQL; all are counted."""


def judge(path: str, model: str | None) -> Report:
    """Judge the history beside a recording's statements, by a model, or by the one promised.

    Raises `ForeignError` where either file cannot be read.
    """
    head, beside = head_at(path), str(Path(path).with_name(HISTORY))
    lines = whole.Lines(path)
    unique = uniqueness.look(lines)
    unmatched = head.workload == REHEARSAL and not lines.closed
    history = whole.history_at(beside, unmatched=unmatched)
    whole.compare(lines, history, beside)
    head = structs.replace(head, tables=tuple(lines.tables))
    keys = _keys(history, lines, path)
    weakest = COPIED if head.copies else {}
    judged = jepsen.judge(_named(history, head.tables), model or head.promise, path, weakest)
    found = crossings(history, keys, head.clients + 1)
    verdict, told = _with_crossings(judged.verdict, found, path, head, history)
    verdict, more_told = _with_uniqueness(verdict, unique, path, head, history)
    if not lines.closed:
        verdict = replace(verdict, notes=(whole.KILLED, *verdict.notes))
    ended = ", ".join(f"{count:,} {how}" for how, count in judged.counts.items() if count)
    facts = f"{head.server}, {head.isolation}, {head.workload}: {ended}"
    checked = (
        ("database", head.server), ("isolation", f"{head.isolation}; it says {head.says}"),
        ("transactions", ended), ("workload", head.workload),
    )  # fmt: skip
    more = {"workload": judged.workload, "transactions": judged.counts}
    report = of_verdict(verdict, history.name, facts, checked, more)
    texts = {one.explanation for one in (*more_told, *told)}
    return report._replace(found=tuple(one for one in report.found if one[1] in texts))


def _keys(history: Transactions, lines: whole.Lines, path: str) -> Array:
    """The keys of a history as numbers; `ForeignError` for one that is of no table. Where the lines
    are cut off, names of tables may be too.
    """
    most = len(lines.tables) * SPAN if lines.closed else MOST_KEYS
    for key in history.keys:
        if not isinstance(key, int) or not 0 <= key < most:
            raise ForeignError(path, 0, f"key {key!r} of {HISTORY} beside it is of no table")
    return np.asarray(history.keys, np.int64)


def _named(history: Transactions, tables: tuple[str, ...]) -> Transactions:
    """The same history; keys are called by their table and row: `:t1/columns`, `:t1/5`."""
    return replace(history, keys=[_name(int(key), tables) for key in history.keys])


def _name(key: int, tables: tuple[str, ...]) -> str:
    table, row = place_of(key, tables)
    return f":{table}/{row or 'columns'}"


def _with_crossings(
    verdict: Verdict, found: list[Crossing], path: str, head: Recording, history: Transactions
) -> tuple[Verdict, list[Anomaly]]:
    """The verdict, its anomalies between schema and rows first; and those to be told.

    A cycle through a transaction that has read such a mixture is not told besides. What the model
    allows is a note: each is a case of what the judge has found, or allowed.
    """
    model = model_of(verdict.model)
    wrong = [one for one in found if model.forbids_type(one.shape)]
    named = _worded(wrong, path, head, history)
    mixed = {one.reader for one in wrong}
    verdict = _with_sql(verdict, mixed, path, history)
    others = [one for one in verdict.anomalies if mixed.isdisjoint(one.txns)]
    first = {one.type: one for one in reversed([*named, *others])}
    notes = [*_allowed(found, model), *verdict.notes]
    if more := len(verdict.anomalies) - len(others):
        notes.insert(0, f"the same as cycles, {more:,} of them: --output json has their steps")
    counts = Counter(one.type for one in wrong)
    made = replace(
        verdict,
        anomalies=(*named, *verdict.anomalies),
        counts=(*counts.items(), *verdict.counts),
        notes=tuple(notes),
    )
    return made, list(first.values())


def _with_sql(verdict: Verdict, mixed: set[int], path: str, history: Transactions) -> Verdict:
    """The verdict; the first anomalies of each type without a mixed reader, with their SQL."""
    many: Counter[str] = Counter()
    numbers: dict[int, tuple[int, ...]] = {}
    for at, one in enumerate(verdict.anomalies):
        if many[one.type] < WORDED and mixed.isdisjoint(one.txns):
            many[one.type] += 1
            numbers[at] = with_sql.parties(history, one)
    wanted = {tx_of(history, number) for some in numbers.values() for number in some}
    sent = statements(path, sorted(wanted))
    told = list(verdict.anomalies)
    for at, some in numbers.items():
        told[at] = with_sql.told(history, told[at], some, sent)
    return replace(verdict, anomalies=tuple(told))


def _with_uniqueness(
    verdict: Verdict, found: uniqueness.Found, path: str, head: Recording, history: Transactions
) -> tuple[Verdict, list[Anomaly]]:
    """The verdict, with the rows that break a unique index first; and those to be told."""
    many = len(found.duplicates)
    if many and head.isolation == uniqueness.DIRTY:
        note = f"{headline(uniqueness.DUPLICATE, many)}, which {uniqueness.DIRTY} allows"
        found.duplicates.clear()
        verdict = replace(verdict, notes=(note, *verdict.notes))
    first = found.duplicates[:WORDED]
    verdict = replace(verdict, notes=(*found.notes, *verdict.notes))
    if not first:
        return verdict, []
    wanted = {tx for one in first for tx in (one.created_by, one.reader)}
    words = Words(history, head.tables, statements(path, sorted(wanted)))
    told = [words.duplicate(one) for one in first]
    made = replace(
        verdict,
        valid=False,
        anomalies=(*told, *verdict.anomalies),
        counts=((uniqueness.DUPLICATE, many), *verdict.counts),
    )
    return made, told[:1]


def _worded(
    wrong: list[Crossing], path: str, head: Recording, history: Transactions
) -> list[Anomaly]:
    """The first of each type, those of the shortest readers, with their SQL."""
    size = np.bincount(history.tx, minlength=len(history))
    order = sorted(wrong, key=lambda one: (int(size[one.reader]), one.reader))
    kept = [
        one
        for type_ in MEANING
        for one in islice((each for each in order if each.type == type_), WORDED)
    ]
    wanted = {tx_of(history, number) for one in kept for number in one.parties}
    words = Words(history, head.tables, statements(path, sorted(wanted)))
    return [words.anomaly(one, DOCUMENTED.get((head.database, one.type), "")) for one in kept]


def _allowed(found: list[Crossing], model: Model) -> list[str]:
    allowed = Counter(one.type for one in found if not model.forbids_type(one.shape))
    return [
        f"{headline(type_, count)}, which {model.name} allows: {MEANING[type_]}"
        for type_, count in allowed.items()
    ]
