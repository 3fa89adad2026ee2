"""The statements of some transactions, as they were sent, out of a recording of any length."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from ddlsim.files import HISTORY_MOST, unfit
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.graph.models import MODELS
from ddlsim.history.recording import FORMAT, Recording, Statement, head_of, record_of

LONGEST_HEAD: Final = 1 << 20
_PREFIX: Final = b'{"event":"Statement","tx":'
_FEW: Final = 8
"""Columns and elements that are shown; of more, only the last."""


def head_at(path: str) -> Recording:
    """The first line of a recording; `ForeignError` if it cannot be read."""
    try:
        if (why := unfit(path, HISTORY_MOST)) is not None:
            raise ForeignError(path, 0, why)
        with Path(path).open("rb") as file:
            head = head_of(file.readline(LONGEST_HEAD))
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ForeignError(path, 0, f"cannot be read ({why}); name what `record` wrote") from None
    except msgspec.DecodeError as error:
        raise ForeignError(path, 1, f"is no recording ({error}); record one anew") from None
    if why := _unknown(head):
        raise ForeignError(path, 1, f"{why}; record one anew")
    return head


def _unknown(head: Recording) -> str:
    """What of a head no recorder of this version writes."""
    if head.format != FORMAT:
        return f"has format {head.format}, and {FORMAT} is read"
    if head.promise not in MODELS:
        return f"promises {head.promise!r}, which is no model of isolation"
    return "" if head.clients > 0 and head.tables else "has no clients, or no tables"


def statements(path: str, wanted: Iterable[int]) -> dict[int, list[Statement]]:
    """What these transactions sent, in order; nothing of one whose lines are damaged or lost."""
    found: dict[int, list[Statement]] = {tx: [] for tx in wanted}
    if not found or unfit(path, HISTORY_MOST) is not None:
        return found
    starts = tuple(_PREFIX + b"%d," % tx for tx in found)
    with Path(path).open("rb") as file:
        for line in file:
            if line.startswith(starts):
                record = _read(line)
                if record is not None:
                    found[record.tx].append(record)
    return found


def _read(line: bytes) -> Statement | None:
    try:
        record = record_of(line)
    except msgspec.DecodeError:
        return None
    return record if isinstance(record, Statement) else None


def shown(one: Statement, rows: Iterable[int] = ()) -> str:
    """A statement with its values and its answer: the columns, and these of its rows."""
    said = one.sql if not one.values else f"{one.sql}  {_values(one.values)}"
    if one.problem is not None:
        return f"{said}\n    -> error {one.problem[0]}: {one.problem[2]}"
    if one.columns is None or one.rows is None:
        return said
    at = {name: place for place, name in enumerate(one.columns)}
    lists = {row[at["id"]]: row[at["v"]] for row in one.rows} if {"id", "v"} <= at.keys() else {}
    answer = f"columns {_few(one.columns)}; {len(one.rows)} rows"
    answer += "".join(
        f"; row {row}: {'[' + _few(str(lists[row]).split(',')) + ']' if row in lists else 'absent'}"
        for row in rows
    )
    return f"{said}\n    -> {answer}"


def _values(values: tuple[Any, ...]) -> str:
    return f"({', '.join(map(repr, values))})"


def _few(names: Iterable[str]) -> str:
    some = list(names)
    if len(some) <= _FEW:
        return ", ".join(some)
    return f"...[{len(some) - 3} more], {', '.join(some[-3:])}"
