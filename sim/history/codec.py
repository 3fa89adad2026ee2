"""History ⇄ a file: the header, every event, and an end record that shows truncation.

A file is JSON lines, or Parquet with such a line in each row (`ddlsim.history.parquet`).

One line is one record. The first is the `Header`, the last the `End`, which repeats the run's
fingerprint over the events between them and holds a digest over every byte of header, events and
of itself: a file that was cut off, changed by hand or made by another program is refused with the
line and the remedy, never judged in part. The digest proves that nothing was changed; it does not
prove its author.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from ddlsim import files
from ddlsim.files import beside, make_folder, unfit
from ddlsim.history import parquet
from ddlsim.history.events import (
    AnyEvent,
    Invoked,
    LockWaited,
    ReadExecuted,
    RowFinal,
    RowRead,
    WriteExecuted,
)
from ddlsim.history.history import FINGERPRINT_DIGITS, HISTORY_FORMAT, Header, History
from ddlsim.history.index_events import (
    IndexFilled,
    IndexFinal,
    IndexPartRead,
    IndexRead,
    IndexWritten,
)
from ddlsim.model.records import Record
from ddlsim.problems import BadInputError

_KEYED: Final = (
    *(Invoked, WriteExecuted, LockWaited, RowFinal),
    *(IndexWritten, IndexFilled, IndexFinal),
)
"""Events with one `key`: where it has several columns, JSON gives back a list for the tuple."""


CHANGED: Final = "it was changed after the run; run the scenario again"


class BadHistory(BadInputError):  # noqa: N818 - what is bad is the history, not the program
    """Raised for a file that is no whole, undamaged history; the message has line and remedy."""

    def __init__(self, path: str | Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        self.path = str(path)
        self.line = line
        self.message = message


class End(Record, frozen=True, tag_field="event", tag="End"):
    """The last record of a history: nothing is missing before it.

    `fingerprint` is that of the events, for comparing runs; `digest` the SHA-256 of every line
    before this record and of this record without it.
    """

    end_us: int
    probes: dict[str, int]
    executed_events: int
    fingerprint: str
    digest: str = ""


class _Named(Record, frozen=True):
    """What every line has: the kind of its record."""

    event: str


LATEST_US: Final = 2**62
"""The largest instant; beyond it a float of milliseconds is not exact."""
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are no record: not JSON, not UTF-8, nested too deeply."""
_encoder: Final = msgspec.json.Encoder()
_names: Final = msgspec.json.Decoder(_Named)
_headers: Final = msgspec.json.Decoder(Header)
_ends: Final = msgspec.json.Decoder(End)
_events: Final = msgspec.json.Decoder(AnyEvent)


class Sealing:
    """The lines of a history as its records come, and the digests over them, for its end record."""

    def __init__(self) -> None:
        self._seen = hashlib.sha256()
        self._events = hashlib.sha256()

    def header(self, header: Header) -> bytes:
        """The first line."""
        line = _encoder.encode(header)
        _see(self._seen, line)
        return line

    def event(self, event: AnyEvent) -> bytes:
        """The line of the next event."""
        line = _encoder.encode(event)
        self._events.update(line)
        _see(self._seen, line)
        return line

    def end(self, history: History) -> bytes:
        """The last line; of the history, only what is not in the lines before is looked at."""
        probes = dict(sorted(history.probes.items()))
        fingerprint = self._events.hexdigest()[:FINGERPRINT_DIGITS]
        end = End(history.end_us, probes, history.executed_events, fingerprint)
        return _encoder.encode(_sealed(end, self._seen))


def lines(history: History) -> Iterator[bytes]:
    """The records of a history, one JSON object each, in order."""
    sealing = Sealing()
    yield sealing.header(history.header)
    for event in history.events:
        yield sealing.event(event)
    yield sealing.end(history)


def _see(seen: Any, line: bytes) -> None:
    """Update a digest with a line."""
    seen.update(line)
    seen.update(b"\n")


def _sealed(end: End, seen: Any) -> End:
    """An end record with the digest of the lines before it and of itself."""
    digest = seen.copy()
    _see(digest, _encoder.encode(msgspec.structs.replace(end, digest="")))
    return msgspec.structs.replace(end, digest=digest.hexdigest())


def save(history: History, path: str | Path) -> None:
    """Write a history; a file of that name is replaced as a whole.

    One that is called `….events.parquet` becomes Parquet, any other JSON lines.
    """
    make_folder(Path(path).parent)
    with beside(path) as partial:
        if str(path).endswith(parquet.SUFFIX):
            parquet.save(history, list(lines(history)), partial)
            return
        with partial.open("wb") as file:
            for line in lines(history):
                file.write(line)
                file.write(b"\n")


def load(path: str | Path) -> History:
    """Read a history back; `BadHistory` unless it is whole and its digest agrees."""
    try:
        if (why := unfit(path, files.HISTORY_MOST)) is not None:
            raise BadHistory(path, 0, why)
        data = Path(path).read_bytes()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise BadHistory(path, 0, f"cannot be read ({why}); give a file of --out DIR") from error
    if not data.startswith(parquet.MAGIC):
        records = data.split(b"\n")
        del data  # a long history is there once, not twice
        return parse(records, path)
    try:
        return parse(parquet.records(path), path)
    except parquet.OtherFormat as error:
        raise BadHistory(path, 0, f"{error}; run the scenario again") from error
    except parquet.TooLarge as error:
        raise BadHistory(path, 0, str(error)) from error
    except parquet.Unreadable as error:
        raise BadHistory(path, 0, _foreign(str(error))) from error
    except parquet.Damaged as error:
        what = f"is damaged ({error}): {CHANGED}"
        raise BadHistory(path, 0, what) from error


def parse(records: list[bytes], path: str | Path) -> History:
    """A history from its lines; `path` is only what errors call it."""
    while records and not records[-1].strip():
        records.pop()
    if not records:
        raise BadHistory(path, 0, "is empty; name a file that holds a history")
    history = History(_header(records[0], path))
    end = _end(records, path)
    append, decode = history.events.append, _events.decode
    line = 1
    try:
        for line, record in enumerate(records[1:-1], 2):
            event = decode(record)
            if not 0 <= event.at_us <= LATEST_US:
                raise BadHistory(path, line, f"at_us: {_brief(event.at_us)} is no instant of a run")
            append(event)
    except UNREADABLE as error:
        raise BadHistory(path, line, _damaged(error)) from error
    _mend_keys(history.events)
    _check_whole(history, end, records, path)
    return history


def _header(record: bytes, path: str | Path) -> Header:
    try:
        fields: Any = msgspec.json.decode(record)
    except UNREADABLE as error:
        disguise = files.disguise(record)
        what = _foreign("it is not JSON") if disguise is None else f"cannot be read: {disguise}"
        raise BadHistory(path, 1, what) from error
    if not isinstance(fields, dict) or fields.get("event") != "Header":
        raise BadHistory(path, 1, _foreign("its first line is no Header"))
    if fields.get("format") != HISTORY_FORMAT:
        found = _brief(fields.get("format"))
        what = f"has format {found}, this program reads {HISTORY_FORMAT}; run the scenario again"
        raise BadHistory(path, 1, what)
    try:
        return _headers.decode(record)
    except UNREADABLE as error:
        raise BadHistory(path, 1, _damaged(error)) from error


def _end(records: list[bytes], path: str | Path) -> End:
    last = len(records)
    try:
        named = _names.decode(records[-1])
    except UNREADABLE:
        named = None
    if named is None or named.event != "End" or last == 1:
        raise BadHistory(
            path, last, "ends without its End record, so it was cut off; run the scenario again"
        )
    try:
        return _ends.decode(records[-1])
    except UNREADABLE as error:
        raise BadHistory(path, last, _damaged(error)) from error


def _check_whole(history: History, end: End, records: list[bytes], path: str | Path) -> None:
    last = len(records)
    found = history.fingerprint()
    if found != end.fingerprint:
        what = f"its events have the fingerprint {found}, not {_brief(end.fingerprint)} as recorded"
        raise BadHistory(path, last, f"{what}: {CHANGED}")
    if not _is_sealed(end, records):
        what = "its events are those of the run, its header or this record are not"
        raise BadHistory(path, last, f"{what}: {CHANGED}")
    history.probes.update(end.probes)
    history.end_us = end.end_us
    history.executed_events = end.executed_events


def _is_sealed(end: End, records: Iterable[bytes]) -> bool:
    """Whether the lines are, byte for byte, those that the digest was taken over."""
    *before, last = records
    seen = hashlib.sha256()
    for line in before:
        _see(seen, line)
    return _encoder.encode(_sealed(end, seen)) == last


def _mend_keys(events: list[AnyEvent]) -> None:
    """Make composite keys tuples again: they are compared, and stand in dictionaries."""
    for at, event in enumerate(events):
        mended = with_keys(event)
        if mended is not event:
            events[at] = mended


def event_of(line: bytes) -> AnyEvent:
    """An event from a line that this process wrote."""
    return with_keys(_events.decode(line))


def with_keys(event: AnyEvent) -> AnyEvent:
    """An event whose composite keys are tuples again."""
    if isinstance(event, ReadExecuted):
        if any(isinstance(row.key, list) for row in event.rows):
            rows = tuple(_mended(row) for row in event.rows)
            return msgspec.structs.replace(event, rows=rows)
    elif isinstance(event, IndexRead | IndexPartRead):
        if any(isinstance(key, list) for key in event.keys):
            return msgspec.structs.replace(event, keys=tuple(map(_tupled, event.keys)))
    elif isinstance(event, _KEYED) and isinstance(event.key, list):
        return msgspec.structs.replace(event, key=tuple(event.key))
    return event


def _tupled(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key


def _mended(row: RowRead) -> RowRead:
    if not isinstance(row.key, list):
        return row
    return msgspec.structs.replace(row, key=tuple(row.key))


def _foreign(why: str) -> str:
    return (
        f"is not a history of this program ({why}), and none of another tool was recognised; "
        "give a .jsonl file of --out DIR, or name its kind with --input"
    )


def _brief(value: object) -> str:
    """A value of a file as a message shows it."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _damaged(error: Exception) -> str:
    return f"cannot be understood ({error}): {CHANGED}"
