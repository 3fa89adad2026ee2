"""A witness log, line by line: what nodes of a real cluster wrote down, one JSON object each.

scenarios/README.md describes the format. Everything is strict: a line that cannot be read, a key
that is missing, misspelt or of another type, and an entry that contradicts an earlier one becomes a
*problem* that names file, line and key. What has a problem is not judged, and the verdict is never
"ok" then.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from ddlsim.foreign.readers.problems import ForeignError, contents
from ddlsim.foreign.repeated import repeated
from ddlsim.units import LOGICAL_BITS, LOGICAL_MASK

FORMAT: Final = 1
PURPOSES: Final = ("enlist", "arrival", "after-locks", "commit", "metadata")

_HLC: Final = re.compile(r"(\d{1,18})(?:\+(\d{1,18}))?", re.ASCII)
_PATH: Final = re.compile(r"^(.*) - at `\$\.?(.*)`$")
_KEY: Final = re.compile(r"^(Object missing required field|Object contains unknown field) `(.+)`$")


class Problem(NamedTuple):
    """An entry that could not be judged: where it stands and why."""

    file: str
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


class Entry(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="record", forbid_unknown_fields=True
):
    """What every entry has: the node, its hybrid clock and its wall clock when it was written."""

    node: str
    hlc: int | str
    wall_ms: float


class SchemaActivated(Entry, frozen=True, tag="schema_activated"):
    """A version of a table or view with its activation timestamp, and the statement that made it.

    The first entry of an object is the CREATE of that version.
    """

    object: int
    version: int
    activation: int | str
    sql: str


class SchemaApplied(Entry, frozen=True, tag="schema_applied"):
    """The node's state machine has applied a version: from now on the node sees it."""

    object: int
    version: int


class SchemaResolved(Entry, frozen=True, tag="schema_resolved"):
    """The node looked up an object's schema at a reference timestamp, for a transaction.

    `object` and `version` are 0 where it found nothing under the name `table`. `started_ms` is when
    the operation was asked for, on the wall clock of `clock` (default: the node).
    """

    transaction: str
    purpose: str
    at: int | str
    object: int
    version: int
    table: str | None = None
    operation: str | None = None
    started_ms: float | None = None
    clock: str | None = None
    read_only: bool = False


class DdlAcknowledged(Entry, frozen=True, tag="ddl_acknowledged"):
    """A version was acknowledged to its client, at `wall_ms` on the clock `clock`."""

    object: int
    version: int
    clock: str | None = None


class Use(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The version of an object that a transaction was enlisted with."""

    object: int
    version: int


class TransactionCommitted(Entry, frozen=True, tag="transaction_committed"):
    """A transaction committed at a timestamp, with what it was enlisted with."""

    transaction: str
    commit: int | str
    tables: tuple[Use, ...]


class Cluster(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="record",
    tag="cluster",
    forbid_unknown_fields=True,
):
    """The first entry: the format, and how much two wall clocks may differ at one instant."""

    format: int
    clock_error_ms: float


AnyEntry = SchemaActivated | SchemaApplied | SchemaResolved | DdlAcknowledged | TransactionCommitted
KINDS: Final = ("cluster", *(kind.__struct_config__.tag for kind in AnyEntry.__args__))
_decoder: Final = msgspec.json.Decoder(Cluster | AnyEntry)


class Line(NamedTuple):
    """An entry and the line it stands on."""

    number: int
    entry: AnyEntry


class Log(NamedTuple):
    """What could be read of a file: its entries in order, and what is wrong with the others."""

    file: str
    clock_error_ms: float
    lines: list[Line]
    problems: list[Problem]

    def problem(self, number: int, key: str, message: str) -> None:
        """Note what is wrong with an entry."""
        self.problems.append(Problem(self.file, number, key, message))


def hlc(value: int | str) -> int | None:
    """A hybrid timestamp as one integer: given so, or as `"1763700000123+4"`; None if it is not."""
    if isinstance(value, int):
        return value if value >= 0 else None
    found = _HLC.fullmatch(value)
    if found is None or int(found.group(2) or 0) > LOGICAL_MASK:
        return None
    return int(found.group(1)) << LOGICAL_BITS | int(found.group(2) or 0)


def load(path: str) -> Log:
    """Read a file; `ForeignError` if it is no witness log at all."""
    return parse(contents(path, "witness log").removeprefix(BOM_UTF8).splitlines(), path)


def recognises(head: bytes) -> bool:
    """Whether a file that begins so is a witness log: its first line is an entry."""
    lines = head.removeprefix(BOM_UTF8).splitlines()
    first = next((line for line in lines if line.strip()), b"")
    try:
        found = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(found, dict) and "record" in found


def parse(texts: Iterable[bytes], file: str) -> Log:
    """The entries of a log; the first must be the `cluster` entry."""
    numbered = [(number, text) for number, text in enumerate(texts, 1) if text.strip()]
    if not numbered:
        raise ForeignError(file, 0, "is empty; a witness log begins with a cluster entry")
    cluster = _decoded(*numbered[0], file)
    if isinstance(cluster, Problem):
        what = f"{cluster.key}: {cluster.message}" if cluster.key else cluster.message
        raise ForeignError(file, cluster.line, what)
    if not isinstance(cluster, Cluster):
        raise ForeignError(file, numbered[0][0], "record: the first entry must be of the cluster")
    if cluster.format != FORMAT:
        what = f"format: is {cluster.format}, this program reads {FORMAT}"
        raise ForeignError(file, numbered[0][0], what)
    if not cluster.clock_error_ms >= 0:
        raise ForeignError(file, numbered[0][0], "clock_error_ms: must not be negative")
    log = Log(file, cluster.clock_error_ms, [], [])
    for number, text in numbered[1:]:
        entry = _decoded(number, text, file)
        if isinstance(entry, Problem):
            log.problems.append(entry)
        elif isinstance(entry, Cluster):
            log.problem(number, "record", "a second cluster entry; keep the logs apart")
        else:
            problems = list(_senseless(entry))
            log.problems.extend(Problem(file, number, *problem) for problem in problems)
            log.lines.extend([] if problems else [Line(number, entry)])
    _in_order(log)
    return log


def _decoded(number: int, text: bytes, file: str) -> Cluster | AnyEntry | Problem:
    try:
        entry: Cluster | AnyEntry = _decoder.decode(text)
        key = repeated(text)
    except msgspec.ValidationError as error:
        return Problem(file, number, *_said(str(error)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Problem(file, number, "", f"is not JSON ({error}); it may have been cut off")
    return entry if key is None else Problem(file, number, key, "stands there twice")


def _said(message: str) -> tuple[str, str]:
    """The key and the words of msgspec's complaint."""
    found = _PATH.match(message)
    words, path = (found.group(1), found.group(2)) if found else (message, "")
    if "Invalid value" in words and path == "record":
        return "record", f"no entry is called so; known: {', '.join(KINDS)}"
    named = _KEY.match(words)
    if named is None:
        return path or "record", words
    what = "is missing" if "missing" in named.group(1) else "is not known here"
    return f"{path}.{named.group(2)}" if path else named.group(2), what


def _senseless(entry: AnyEntry) -> Iterator[tuple[str, str]]:
    """(key, what is wrong): values that no entry can have."""
    for key in ("hlc", "activation", "at", "commit"):
        value = getattr(entry, key, None)
        if value is not None and hlc(value) is None:
            yield key, f'expected a hybrid timestamp, such as "1763700000123+4", not {value!r}'
    if isinstance(entry, SchemaResolved):
        yield from _senseless_look_up(entry)
    else:
        for part in entry.tables if isinstance(entry, TransactionCommitted) else (entry,):
            for key in ("object", "version"):
                if getattr(part, key) < 1:
                    yield key, f"expected a number from 1 up, not {getattr(part, key)}"


def _senseless_look_up(entry: SchemaResolved) -> Iterator[tuple[str, str]]:
    if entry.purpose not in PURPOSES:
        yield "purpose", f"is {entry.purpose!r}; known: {', '.join(PURPOSES)}"
    if min(entry.object, entry.version) < 0 or (entry.object == 0) != (entry.version == 0):
        yield "version", "object and version are both 0 (nothing was found) or neither"
    if entry.object == 0 and entry.table is None:
        yield "table", "is missing: what was looked for and not found"


def _in_order(log: Log) -> None:
    """A node writes its entries in the order of its hybrid clock; what does not fit is dropped."""
    latest: dict[str, tuple[int, int]] = {}
    kept = []
    for line in log.lines:
        ts = hlc(line.entry.hlc) or 0
        before, number = latest.get(line.entry.node, (0, 0))
        if ts < before:
            what = f"is lower than in the entry of {line.entry.node} before it, line {number}"
            log.problem(line.number, "hlc", f"{what}: a log in another order proves nothing")
            continue
        latest[line.entry.node] = (ts, line.number)
        kept.append(line)
    log.lines[:] = kept
