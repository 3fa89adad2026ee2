"""What a recording of a real database leaves behind: its lines, and how keys are numbered.

A folder has two files, both written while the clients run: `recording.jsonl`, a line for each
statement with its SQL, answer and times, and `history.edn`, the same transactions as lists in
Jepsen's form. A transaction is called by the index of its invocation in `history.edn`.

The schema of a table is a list too: key `table * SPAN`, one element for each column that was added;
row r of the table is key `table * SPAN + r`. An element of a list was appended once.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

FORMAT: Final = 1
STATEMENTS: Final = "recording.jsonl"
HISTORY: Final = "history.edn"
SPAN: Final = 10_000_000
"""Keys of a table: its schema, then its rows."""
REHEARSAL: Final = "rehearsal"
"""The workload of a recording that is a rehearsal's."""
ADDED: Final = re.compile(r"c(\d+)")
"""The columns that are elements of a table's schema, by their names."""
UNIQUE: Final = "unique-violation"
"""The class of the error that a unique index gives."""


def key_of(table: int, row: int = 0) -> int:
    """The key of a row; of the table's schema without one."""
    return table * SPAN + row


class _Line(msgspec.Struct, frozen=True, tag_field="event", gc=False):
    """A line of `recording.jsonl`."""


class Recording(_Line, frozen=True):
    """The first line. `promise` is the model of isolation that the database documents for the
    level, `says` what it answers when it is asked for its level; times are nanoseconds of `clock`.
    `tables` are those in use at first. `copies`: DDL reads rows of a table and writes them back,
    which the lists do not show.
    """

    format: int
    writer: str
    database: str
    server: str
    driver: str
    settings: dict[str, str]
    isolation: str
    says: str
    promise: str
    clock: str
    workload: str
    seed: int
    clients: int
    ddl_per_s: float
    prepared: bool
    copies: bool
    tables: tuple[str, ...]


class Begun(_Line, frozen=True):
    """A transaction that a client of a process has begun."""

    tx: int
    at: int
    process: int


class Statement(_Line, frozen=True):
    """A statement with its answer; `problem` is the error's code, its class and its text."""

    tx: int
    at: int
    until: int
    sql: str
    values: tuple[Any, ...] = ()
    columns: tuple[str, ...] | None = None
    rows: tuple[tuple[Any, ...], ...] | None = None
    count: int | None = None
    problem: tuple[str, str, str] | None = None


class Ended(_Line, frozen=True):
    """The end of a transaction: `ok`, `fail` or `info`, and the class of the error, or nothing.

    `index` is that of its completion in `history.edn`, `statements` the number of the lines of its
    statements before this one; None: the recorder did not count them.
    """

    tx: int
    at: int
    outcome: str
    why: str
    index: int
    statements: int | None = None


class Disturbed(_Line, frozen=True):
    """What was done to clients or the server, and when."""

    at: int
    what: str


class Renewed(_Line, frozen=True):
    """Tables that take the place of those that were in use, by their names, numbered from `first`.

    It stands before the transaction that makes them. There may be none such: then the next ones
    have other names.
    """

    at: int
    first: int
    names: tuple[str, ...]


class Closed(_Line, frozen=True):
    """The last line of a recording that came to its end."""

    at: int


AnyLine = Recording | Begun | Statement | Ended | Disturbed | Renewed | Closed
_ENCODER: Final = msgspec.json.Encoder(enc_hook=str)
_DECODER: Final = msgspec.json.Decoder(AnyLine)
_HEAD: Final = msgspec.json.Decoder(Recording)


def line_of(record: AnyLine) -> bytes:
    """A record as a line; a value that JSON does not have is written as its text."""
    return _ENCODER.encode(record) + b"\n"


def lines_of(records: Sequence[AnyLine]) -> bytes:
    """Records as lines, each as `line_of` has it."""
    return _ENCODER.encode_lines(records)


def as_told(values: Sequence[Any]) -> tuple[Any, ...]:
    """Values as they stand in a line once it is read again: bytes and instants are texts."""
    return tuple(msgspec.json.decode(_ENCODER.encode(tuple(values))))


def record_of(line: bytes) -> AnyLine:
    """The record of a line; raises `msgspec.DecodeError` for any other line."""
    found: AnyLine = _DECODER.decode(line)
    return found


def head_of(line: bytes) -> Recording:
    """The first line of a recording; raises `msgspec.DecodeError` for any other line."""
    return _HEAD.decode(line)


def told(type_: str, value: str, process: int, at: int, index: int) -> str:
    """A line of `history.edn`, with its operations as EDN."""
    return (
        f"{{:type :{type_}, :f :txn, :value [{value}], :process {process}, :time {at}, "
        f":index {index}}}\n"
    )


_FORM: Final = re.compile(r"\{:type :(\w+), .*?:value \[(.*)\], :process (\d+),")
_FOUND: Final = re.compile(r"(\[:r \d+) \d+\]")


def asking_for_found(lines: Sequence[str]) -> list[str]:
    """The lines of a rehearsal's history, without reads in invocations whose completion lacks them.

    A completion lacks a read of a row or a column that was not there, for which a history of
    registers has no word. A line of another form stays as it is.
    """
    made = list(lines)
    invoked: dict[str, int] = {}
    for at, line in enumerate(made):
        found = _FORM.match(line)
        if found is None:
            continue
        kind, value, process = found.groups()
        if kind == "invoke":
            invoked[process] = at
            continue
        first = made[invoked[process]] if process in invoked else ""
        asked = _FORM.match(first)
        if kind == "ok" and asked is not None and value.count("[") < asked[2].count("["):
            shown = _FOUND.sub(r"\1 nil]", value)
            made[invoked[process]] = first[: asked.start(2)] + shown + first[asked.end(2) :]
    return made
