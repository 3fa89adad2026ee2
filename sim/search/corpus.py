"""The corpus of a hunt: the worlds that reached something new, and the directory that keeps them.

`hunt.json` holds the state of the hunt (`State`), each entry is an ordinary scenario file beside
it. Files are written whole and renamed, the state last: a hunt that is killed goes on from its
latest state, and entries that the state does not name are overwritten.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar
from zlib import crc32

import msgspec
from msgspec import field
from msgspec.structs import replace

from ddlsim import files
from ddlsim.files import write_text
from ddlsim.model.records import Record
from ddlsim.problems import BadInputError
from ddlsim.search.explore import Seen, Stored, Target

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # a system that is no Unix has no such locks

STATE: Final = "hunt.json"
WRITER: Final = "ddlsim hunt"
FORMAT: Final = 1
ANOTHER: Final = "name another directory"
UNNAMED: Final = "of an earlier version"
R = TypeVar("R", bound=Record)


class CorpusError(BadInputError):
    """A directory that holds no corpus, or a damaged one; the message says what to do."""


class Entry(Record, frozen=True):
    """A world of the corpus; `features` are those that it was the first to show.

    `number` is its place among the worlds of the hunt; `file` its name in the directory, `crc` the
    checksum of its text.
    """

    number: int
    file: str
    crc: int
    world: Stored
    features: tuple[str, ...]


class Found(Record, frozen=True):
    """A signature with a status: how often it was met, and the first world that showed it.

    `cpu_s` is what the hunt had spent by then; `drawn` says that the world is the swarm's.
    """

    seen: Seen
    count: int
    number: int
    cpu_s: float
    world: Stored
    drawn: bool


class State(Record, frozen=True):
    """A hunt as far as it is: what it searches, how far it got, and what it has found.

    `number` is that of the next world. `hits` counts by feature the worlds that showed it; `rare`
    are the places of the entries that were the first with a rare feature when the present batch
    began. `stored` are worlds of another hunt, which are run before anything is drawn. `program` is
    the one that hunts; `before` what an earlier one has found in worlds of `stored`.
    """

    target: Target
    seed: int
    batch: int
    guided: bool
    number: int = 0
    entries: tuple[Entry, ...] = ()
    stored: tuple[Stored, ...] = ()
    hits: dict[str, int] = field(default_factory=dict)
    rare: tuple[int, ...] = ()
    found: tuple[Found, ...] = ()
    transactions: int = 0
    cpu_s: float = 0.0
    program: str = ""
    before: tuple[Seen, ...] = ()

    def continues(self, other: "State") -> bool:
        """Whether this is a later state of the same hunt as `other`."""
        own = (self.target, self.seed, self.batch, self.guided, self.program)
        return own == (other.target, other.seed, other.batch, other.guided, other.program)

    def not_shown(self) -> tuple[Seen, ...]:
        """What an earlier program has found and this one has not, once all its worlds were run."""
        shown = {(one.seen.id, one.seen.status) for one in self.found}
        gone = tuple(one for one in self.before if (one.id, one.status) not in shown)
        return gone if self.number >= len(self.stored) else ()


class _Kept(Record, frozen=True):
    """The state as `hunt.json` holds it: entries without their texts, which are files."""

    writer: str
    format: int
    state: State


class _Head(Record, frozen=True):
    """What any program can read of `hunt.json`."""

    writer: str
    format: int
    state: "_HeadOfState"


class _HeadOfState(Record, frozen=True):
    """Which program wrote the state; empty: one that did not say so."""

    program: str = ""


def entry_of(number: int, world: Stored, features: tuple[str, ...]) -> Entry:
    """The entry of the world with this number."""
    return Entry(number, f"world-{number}.toml", crc32(world.text.encode()), world, features)


def claim(directory: str) -> None:
    """Make the directory if there is none; raises `CorpusError` where it holds something else, or
    cannot be written."""
    path = Path(directory)
    files.no_file("--corpus", directory)
    if path.is_dir() and not (path / STATE).exists():
        names = sorted(entry.name for entry in path.iterdir())
        if names:
            what = f"holds {names[0]} and no {STATE}; name a new or empty directory"
            raise CorpusError(f"--corpus {directory}: {what}")
    files.make_folder(path)
    if not os.access(path, os.W_OK | os.X_OK):
        raise CorpusError(f"--corpus {directory}: nothing can be written there; {ANOTHER}")


@contextmanager
def held(directory: str) -> Iterator[None]:
    """Keep other hunts off a directory meanwhile; raises `CorpusError` where one is under way.

    Two of them would write worlds of one name over each other's. The system lets go of what a
    killed process held.
    """
    if fcntl is None:
        yield
        return
    opened = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            what = f"another hunt is under way there; wait for its end, or {ANOTHER}"
            raise CorpusError(f"--corpus {directory}: {what}") from None
        except OSError:  # a file system that has no locks
            pass
        yield
    finally:
        os.close(opened)


def load(directory: str, program: str = "") -> State | None:
    """The state that a directory holds; None where it is new. Raises `CorpusError`.

    What cannot be read is damaged where it is of this `program`, and else may be of another form.
    """
    path = Path(directory, STATE)
    if not path.exists():
        return None
    why = files.unfit(path, files.TEXT_MOST)
    if why is not None:
        raise CorpusError(f"{path}: {why}")
    text = path.read_bytes()
    head = _decoded(path, text, _Head)
    if (head.writer, head.format) != (WRITER, FORMAT):
        what = f"{head.writer} wrote it in format {head.format}; {ANOTHER}"
        raise CorpusError(f"{path}: {what}")
    other = head.state.program
    kept = _decoded(path, text, _Kept, "" if other == program else other or UNNAMED)
    entries = tuple(_with_text(directory, one) for one in kept.state.entries)
    return replace(kept.state, entries=entries)


def _decoded(path: Path, text: bytes, kind: type[R], other: str = "") -> R:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        what = f"it is damaged ({error}); restore it, or {ANOTHER}"
        if other:
            what = f"ddlsim {other} wrote it in a form that this one cannot read; {ANOTHER}"
        raise CorpusError(f"{path}: {what}") from None


def _with_text(directory: str, entry: Entry) -> Entry:
    path = Path(directory, entry.file)
    try:
        why = files.unfit(path, files.TEXT_MOST)
        if why is not None:
            raise CorpusError(f"{path}: {why}")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        what = f"{STATE} names this world, but {why}; restore it, or name another directory"
        raise CorpusError(f"{path}: {what}") from None
    if crc32(text.encode()) != entry.crc:
        what = "it was changed since the hunt wrote it; restore it, or name another directory"
        raise CorpusError(f"{path}: {what}")
    return replace(entry, world=replace(entry.world, text=text))


def save(directory: str, state: State, kept: int) -> int:
    """Write the entries from number `kept` on, then the state; return how many there are now."""
    for entry in state.entries[kept:]:
        write_text(Path(directory, entry.file), entry.world.text)
    bare = tuple(replace(one, world=replace(one.world, text="")) for one in state.entries)
    whole = _Kept(WRITER, FORMAT, replace(state, entries=bare))
    write_text(Path(directory, STATE), msgspec.json.encode(whole).decode() + "\n")
    return len(state.entries)
