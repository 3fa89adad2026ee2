"""Damage by a hand that knows the format: values are changed, and the digests made to fit.

What such a file says may be anything, so its verdict means nothing; but it is told in words.
"""

import hashlib
import json
from collections.abc import Sequence
from io import BytesIO
from random import Random
from typing import Any, Final

import msgspec
import pyarrow as pa

from ddlsim import sealed
from ddlsim.graph.history import DTYPES
from ddlsim.history.events import AnyEvent
from tests.fuzz import mutators

IN_A_LINE: Final = (mutators.number, mutators.word, mutators.text)
VALUES: Final = (-1, 0, 1, 2, 3, 6, 7, 255, 2**31 - 1, -(2**31), 2**63 - 1)
_events: Final = msgspec.json.Decoder(AnyEvent)


def history(data: bytes, others: Sequence[bytes], dice: Random) -> bytes:
    """A stored history, another in a few places, with the fingerprint and digest of what it is."""
    header, *events, last = data.rstrip(b"\n").split(b"\n")
    for _ in range(dice.choice((1, 1, 2, 5))):
        at = dice.randrange(len(events) + 1)
        if at == len(events):
            header = dice.choice(IN_A_LINE)(header, others, dice)
        elif dice.random() < 0.3:
            moved = events.pop(at)
            if dice.random() < 0.5:
                events.insert(dice.randrange(len(events) + 1), moved)
        else:
            events[at] = dice.choice(IN_A_LINE)(events[at], (header,), dice)
        if not events:
            break
    return b"\n".join([header, *events, _end(header, events, json.loads(last))]) + b"\n"


def _end(header: bytes, events: list[bytes], end: dict[str, Any]) -> bytes:
    """The end record, as the format says it is made."""
    seen = hashlib.sha256()
    try:
        for event in events:
            seen.update(msgspec.json.encode(_events.decode(event)))
    except (ValueError, RecursionError):
        pass
    end = {**end, "fingerprint": seen.hexdigest()[:16], "digest": ""}
    text = json.dumps(end, separators=(",", ":"), ensure_ascii=False).encode()
    whole = b"".join(line + b"\n" for line in (header, *events, text))
    digest = hashlib.sha256(whole).hexdigest()
    return text.replace(b'"digest":""', f'"digest":"{digest}"'.encode())


def columns(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """A history of columns with other values, types or metadata, and the digest of that."""
    table = sealed.read(BytesIO(data))
    for _again in range(dice.choice((1, 1, 2, 5))):
        at = dice.randrange(table.num_columns)
        name, values = table.column_names[at], table.column(at).to_pylist()
        how = dice.randrange(12)
        if how == 0:
            table = table.remove_column(at)
        elif how == 1:
            table = table.append_column(dice.choice(table.column_names), table.column(at))
        elif how == 2:
            table = table.set_column(at, name, pa.array([str(one) for one in values]))
        elif how == 3:
            said = dice.choice(
                (b"", b"[", b'{"format": "ddlsim-columns-2", "keys": ["a"]}', b"\xff")
            )
            table = table.replace_schema_metadata({b"ddlsim": said})
        elif how == 4:
            table = table.slice(dice.randrange(table.num_rows + 1))
        elif values:
            _change(values, dice)
            table = _with(table, at, name, values)
        if not table.num_columns:
            break
    out = BytesIO()
    sealed.write(table, out)
    return out.getvalue()


def _change(values: list[Any], dice: Random) -> None:
    place = dice.randrange(len(values))
    inner = values[place]
    if isinstance(inner, list) and inner and dice.random() < 0.8:
        inner[dice.randrange(len(inner))] = dice.choice(VALUES)
    elif isinstance(inner, list):
        values[place] = inner[1:]
    else:
        values[place] = dice.choice((None, *VALUES))


def _with(table: Any, at: int, name: str, values: list[Any]) -> Any:
    """The table with these values, of their old type where they fit."""
    wanted = table.schema.field(at).type
    for type_ in (wanted, None):
        try:
            if name in DTYPES and pa.types.is_boolean(wanted) and type_ is not None:
                values = [None if one is None else bool(one) for one in values]
            return table.set_column(at, name, pa.array(values, type_))
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            continue
    return table
