"""Rows and acknowledged writes in the end, held against their own recording.

Each row of a judged table is a register. Writes of it are ordered in time as far as one begins
after the transaction of another has ended: the first is replaced then, whatever the level of
isolation.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple

from ddlsim.history.recording import as_told
from ddlsim.record.errors import NO_ROW
from ddlsim.record.rehearsal.deeds import deletes, mentions, rekeys
from ddlsim.record.rehearsal.loading import Target
from ddlsim.record.rehearsal.measure import Lines
from ddlsim.record.rehearsal.migration import Mark

Type = Literal["vanished-rows", "lost-write", "unwritten-value"]
VANISHED: Final = "vanished-rows"
LOST: Final = "lost-write"
UNWRITTEN: Final = "unwritten-value"
MEANING: Final = {
    VANISHED: "a row was not found that was there before and that nothing deletes",
    LOST: "an acknowledged write is gone: the row is not there, or has an older value, in the end",
    UNWRITTEN: "a value is there that no client wrote, in a column that the migration leaves alone",
}


class Anomaly(NamedTuple):
    """An anomaly of a type in a table: how often, and the first case in words.

    `passing`: all rows were there in the end.
    """

    type: Type
    table: str
    number: int
    example: str
    passing: bool = False


class Written(NamedTuple):
    """A write of a row: when its statement was sent, when its transaction ended, how it ended."""

    at: int
    end: int
    outcome: str
    value: int


def anomalies(
    lines: Lines,
    targets: Sequence[Target],
    last: Sequence[tuple[Any, ...] | None],
    marks: Sequence[Mark],
    notes: list[str],
) -> list[Anomaly]:
    """All of them; what could not be judged is added to the notes."""  # fmt: skip
    sent = [one.order.sql for one in marks if one.has_run]
    found: list[Anomaly] = []
    for target, held in zip(targets, last, strict=True):
        if rekeys(sent, target.table):
            notes.append(f"{target.name}: the migration gives its rows other keys; not judged")
            continue
        if deletes(sent, target.table):
            notes.append(f"{target.name}: the migration deletes rows of it; none are missed")
            notes += _empty_updates(lines, target)
        else:
            gone = [*_gone(target, held)]
            vanished = _counted(VANISHED, target, [*_missing(lines, target), *gone])
            found += [one._replace(passing=held is not None and not gone) for one in vanished]
        if held is None or target.column is None:
            continue
        ends = [*_ends(lines, target, held)]
        strange = [text for kind, text in ends if kind == UNWRITTEN]
        if strange and mentions(sent, target.column):
            what = "the migration names it, and its values are not the load's; not judged"
            notes.append(f"{target.name}.{target.column}: {what}")
            strange = []
        found += _counted(LOST, target, [text for kind, text in ends if kind == LOST])
        found += _counted(UNWRITTEN, target, strange)
    return found


def key_text(values: Sequence[Any]) -> tuple[str, ...]:
    """A key whatever the types of its columns have become."""
    return tuple(str(as_number(one)) for one in values)


def as_number(value: Any) -> Any:
    """A number in one form for all types of numbers, as 5 and 5.00; any other value as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value
    made = Decimal(str(value))
    if not made.is_finite():
        return value
    return int(made) if made == made.to_integral_value() else made.normalize()


def _counted(type_: Type, target: Target, cases: Sequence[str]) -> list[Anomaly]:
    return [Anomaly(type_, target.name, len(cases), cases[0])] if cases else []


def _empty_updates(lines: Lines, target: Target) -> Iterator[str]:
    """A note of updates that found no row and went on, as the migration deletes rows."""
    number = sum(one.sql == target.write_sql and not one.kind and one.changed == 0
                 for one in lines.calls)  # fmt: skip
    if number:
        updates = "1 UPDATE" if number == 1 else f"{number:,} UPDATEs"
        yield (
            f"{target.name}: {updates} of rows that the migration may have deleted found none; "
            "this counts as no abort"
        )


def _missing(lines: Lines, target: Target) -> Iterator[str]:
    """Reads and updates of rows by their key that found none, in transactions that committed."""
    for call in lines.calls:
        read = call.sql == target.read_sql and call.rows == 0
        if read and lines.transactions[call.tx].outcome == "ok":
            yield f"{call.sql}, of {_shown(call.values)}: no row"
        elif call.sql == target.write_sql and call.kind == NO_ROW:
            yield f"{call.sql}, of {_shown(call.values[1:])}: no row"


def _gone(target: Target, held: tuple[Any, ...] | None) -> Iterator[str]:
    for key, value in zip(target.keys, held or (), strict=False):
        if value is None:
            yield f"row {_shown(key)} is not there in the end, or its {target.column} is NULL"


def _ends(lines: Lines, target: Target, held: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    """Rows whose last value is not one that can be the last."""
    rows = {_text(as_told(key)): row for row, key in enumerate(target.keys)}
    writes: list[list[Written]] = [[] for _ in held]
    for call in lines.calls:
        if call.sql == target.write_sql and not call.kind and call.changed != 0:
            one = lines.transactions[call.tx]
            row = rows[_text(call.values[1:])]
            value = int(str(call.values[0]))
            writes[row].append(Written(call.at, one.end, one.outcome, value))
    for row, value in enumerate(held):
        if value is None:
            continue
        number = target.value_of(row, value)
        kind, text = _end(writes[row], min(target.sent[row]), number)
        if kind:
            shown = str(value)[:60]
            yield kind, f"row {_shown(target.keys[row])} has {target.column} = {shown!r}{text}"


def _end(writes: Sequence[Written], first: int, value: int | None) -> tuple[str, str]:
    """What is wrong with a last value."""
    kept = [one for one in writes if one.outcome == "ok"]
    by = next((one for one in writes if one.value == value and one.outcome != "fail"), None)
    if value is None or (by is None and value != first):
        return UNWRITTEN, ", which no committed transaction wrote"
    until = 0 if by is None else by.end
    later = [one for one in kept if one is not by and one.at > until]
    if not later or (by is not None and by.outcome != "ok"):
        return "", ""  # what is in doubt may have taken effect at any later time
    newest = max(later, key=lambda one: one.at)
    return LOST, f", but {newest.value} was written after it, and its commit was acknowledged"


def _shown(values: Sequence[Any]) -> str:
    return ", ".join(str(one)[:40] for one in values)


def _text(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(str, values))
