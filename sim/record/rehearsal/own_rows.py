"""Rows in the end under a load of the user's own, whose values may occur twice: which are there.

A row that was there before, or whose INSERT was acknowledged, is there in the end unless a
statement deletes rows or gives them other keys. Statements of the migration and of the load are
looked at for that, not what triggers and functions do.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ddlsim.record.rehearsal.deeds import deleting, rekeys
from ddlsim.record.rehearsal.load_file import Load, form_of
from ddlsim.record.rehearsal.loading import Target
from ddlsim.record.rehearsal.measure import Lines
from ddlsim.record.rehearsal.migration import Mark
from ddlsim.record.rehearsal.rows import LOST, VANISHED, Anomaly, key_text

KNOWN: Final = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|VALUES|WITH|SHOW)\b", re.IGNORECASE)
"""First words of statements of a load that say what rows they take away."""
CALLS: Final = re.compile(r"\bCALL\b", re.IGNORECASE)
"""Runs a procedure, which may delete rows of any table."""
INSERT: Final = re.compile(
    r"""\s*INSERT\s+INTO\s+["`]?(\w+)["`]?\s*\(([^()]*)\)\s*VALUES\s*\(([^()]*)\)\s*""",
    re.IGNORECASE,
)
VALUE: Final = re.compile(r"\s*:\w+\s*")
Key = tuple[str, ...]


class Inserts(NamedTuple):
    """A statement that inserts a row of a table: where among its values the key stands."""

    sql: str
    table: str
    places: tuple[int, ...]


def anomalies(
    lines: Lines,
    load: Load,
    mark: str,
    targets: Sequence[Target],
    ends: Sequence[frozenset[Key] | None],
    marks: Sequence[Mark],
    notes: list[str],
) -> list[Anomaly]:
    """Rows that are not there in the end; what could not be judged is added to the notes.

    `mark` is the driver's for a value, `ends` are the keys of the tables in the end.
    """
    own = [sql for one in load.table.transaction for sql in one.statements]
    sent = [*own, *(one.order.sql for one in marks if one.has_run)]
    if any(not KNOWN.match(sql) for sql in own) or any(map(_may_delete, sent)):
        notes.append("rows are not judged: a statement deletes rows, or may do so")
        return []
    if any(rekeys(sent, one.table) for one in targets):
        notes.append("rows are not judged: a statement gives rows other keys")
        return []
    found: list[Anomaly] = []
    for target, held in zip(targets, ends, strict=True):
        if held is None:
            continue
        gone = [key for key in target.keys if key_text(key) not in held]
        if gone:
            shown = f"row {', '.join(map(str, gone[0]))} is not there in the end"
            found.append(Anomaly(VANISHED, target.name, len(gone), shown))
        lost = [*_lost(lines, inserts(own, mark, target), held)]
        found += [Anomaly(LOST, target.name, len(lost), lost[0])] if lost else []
    return found


def _may_delete(sql: str) -> bool:
    return deleting(sql) or CALLS.search(sql) is not None


def inserts(own: Sequence[str], mark: str, target: Target) -> list[Inserts]:
    """The statements that insert a row of a table with values for its whole key."""
    found: list[Inserts] = []
    for sql in own:
        matched = INSERT.fullmatch(sql)
        if matched is None or matched[1].lower() != target.name.lower():
            continue
        columns = [name.strip().strip('"`').lower() for name in matched[2].split(",")]
        values = matched[3].split(",")
        key = [name.lower() for name in target.table.key]
        if len(columns) != len(values) or not set(key) <= set(columns):
            continue
        at = [columns.index(name) for name in key]
        if all(VALUE.fullmatch(values[one]) for one in at):
            before = [",".join(values[:one]) for one in at]
            places = tuple(len(form_of(text, mark).names) for text in before)
            found.append(Inserts(form_of(sql, mark).sql, target.name, places))
    return found


def _lost(lines: Lines, known: Sequence[Inserts], held: frozenset[Key]) -> Iterator[str]:
    """Rows whose INSERT was acknowledged, by keys of whole numbers, and that are not there."""
    places = {one.sql: one.places for one in known}
    for call in lines.calls:
        if call.sql not in places or call.kind or lines.transactions[call.tx].outcome != "ok":
            continue
        key = [call.values[one] for one in places[call.sql]]
        if all(isinstance(one, int) for one in key) and key_text(key) not in held:
            row = ", ".join(map(str, key))
            yield f"row {row} is not there in the end, though its INSERT was acknowledged"
