"""Messages of the plane: of clients, of commits, of versions, of storage servers, of recoveries.

A conflict range is a packed key, or a pair of packed keys: begin, and end, which is not part of it.
A mutation is (kind, key, value); see the constants below.
"""

from typing import Final

from ddlsim.fdb.errors import ErrorCode
from ddlsim.model.ports import Request
from ddlsim.model.records import Record

Range = bytes | tuple[bytes, bytes]
SET: Final = 0
"""Set `key` to `value`; None: clear it."""
CLEAR: Final = 1
"""Clear from `key` to `value`, a packed key that is not part of it."""
ADD: Final = 2
"""Add the number `value` to what `key` holds, or to 0."""
STAMPED_VALUE: Final = 3
"""Set `key` to `value(commit version)`."""
STAMPED_KEY: Final = 4
"""`value` is (make, value): set `make(commit version)`, a key, to the inner value."""
Mutation = tuple[int, bytes, object]


class Failed(Record, frozen=True):
    """The request ended with an error.

    `conflicts`: of a commit, all that it read and that was written meanwhile, as FoundationDB's
    option `report_conflicting_keys` tells it.
    """

    code: ErrorCode
    conflicts: tuple[Range, ...] = ()


class Stale(Record, frozen=True):
    """The process does not serve the request's generation, or none yet: nothing was done."""


STALE: Final = Stale()


# --- clients --------------------------------------------------------------------------------------


class ReadVersion(Record, frozen=True):
    """A read version, and the metadata version at it."""

    version: int
    metadata_version: int


class GetReadVersion(Request[ReadVersion | Stale], frozen=True):
    """The last committed version; `risky`: without asking whether the logs still serve."""

    risky: bool


class Committed(Record, frozen=True):
    """The transaction has committed at a version.

    `seen_at`: a read version that sees it, the end of its batch.
    """

    version: int
    seen_at: ReadVersion


class Commit(Request[Committed | Failed | Stale], frozen=True):
    """Commit a transaction.

    `number`: of the client's commits. `pasts`: keys with the version since which they must not have
    been written. `futures`: versions at which keys count as written. `bump`: of the metadata
    version. `required`: keys of the local space with the values that they must have at the commit
    version. `has_stamps`: some mutations depend on the commit version.
    """

    number: int
    read_version: int
    reads: tuple[Range, ...]
    writes: tuple[Range, ...]
    mutations: tuple[Mutation, ...]
    pasts: tuple[tuple[bytes, int], ...] = ()
    futures: tuple[tuple[bytes, int], ...] = ()
    bump: bool = False
    required: tuple[tuple[bytes, object], ...] = ()
    has_stamps: bool = False


class Got(Record, frozen=True):
    """A value; None: there is none."""

    value: object


class Get(Request[Got | Failed], frozen=True):
    """Read a key at a version."""

    key: bytes
    version: int


class GotRange(Record, frozen=True):
    """Keys with their values, in order; `more`: the limit was reached."""

    pairs: tuple[tuple[bytes, object], ...]
    more: bool


class GetRange(Request[GotRange | Failed], frozen=True):
    """Read a range at a version, at most `limit` keys of it."""

    begin: bytes
    end: bytes
    version: int
    limit: int


class Fired(Record, frozen=True):
    """A watched key had another value at some version."""

    version: int


class WatchKey(Request[Fired | Failed], frozen=True):
    """Answer once a key's value differs from `value`, at `version` or later."""

    key: bytes
    value: object
    version: int


# --- commits --------------------------------------------------------------------------------------


class VersionsGranted(Record, frozen=True):
    """The versions `first` to `last` belong to a batch; `previous` ends the batch before it."""

    previous: int
    first: int
    last: int


class GetCommitVersions(Request[VersionsGranted | Stale], frozen=True):
    """Versions for `count` transactions; `number`: of the proxy's batches in this generation.

    `answered`: the proxy has all answers about its batches up to that number.
    """

    generation: int
    number: int
    answered: int
    count: int


class ToResolve(Record, frozen=True):
    """What a resolver needs of a transaction: its commit version and its conflict ranges."""

    version: int
    read_version: int
    reads: tuple[Range, ...]
    writes: tuple[Range, ...]
    pasts: tuple[tuple[bytes, int], ...]
    futures: tuple[tuple[bytes, int], ...]


class StateChange(Record, frozen=True):
    """What a transaction changes for all proxies, if the resolvers accept it and `required` holds.

    `mutations`: of the local space.
    """

    version: int
    bump: bool
    mutations: tuple[Mutation, ...]
    required: tuple[tuple[bytes, object], ...]
    futures: tuple[tuple[bytes, int], ...]
    accepted: bool = True


class Resolved(Record, frozen=True):
    """Which transactions are refused, by version, and state changes that the proxy has not seen."""

    refused: tuple[tuple[int, Failed], ...]
    changes: tuple[StateChange, ...]


class Resolve(Request[Resolved | Stale], frozen=True):
    """Decide which transactions of a batch conflict; `seen`: the proxy's last state, a version.

    `number`, `answered`: as in `GetCommitVersions`.
    """

    generation: int
    number: int
    answered: int
    previous: int
    last: int
    seen: int
    transactions: tuple[ToResolve, ...]
    changes: tuple[StateChange, ...]


class Logged(Record, frozen=True):
    """A batch is on the log's disk."""


LOGGED: Final = Logged()
Written = tuple[tuple[int, tuple[Mutation, ...]], ...]
"""Mutations by commit version."""


class Entry(Record, frozen=True):
    """A batch in a log: what it writes by shard (`EVERYWHERE`: on all storage servers)."""

    previous: int
    last: int
    written: dict[int, Written]
    changes: tuple[StateChange, ...] = ()


EVERYWHERE: Final = -1


class Push(Request[Logged | Stale], frozen=True):
    """Put a batch into the log, behind its predecessor; all logs have batches up to `committed`."""

    generation: int
    entry: Entry
    committed: int


class Reported(Record, frozen=True):
    """The sequencer has taken a report."""


REPORTED: Final = Reported()


class ReportCommitted(Request[Reported | Stale], frozen=True):
    """All logs have this version, and so all earlier ones."""

    generation: int
    version: int
    metadata_version: int


# --- read versions --------------------------------------------------------------------------------


class GetCommitted(Request[ReadVersion | Stale], frozen=True):
    """The last version that was reported as committed."""

    generation: int


class Confirmed(Record, frozen=True):
    """The log still serves the generation."""


CONFIRMED: Final = Confirmed()


class Confirm(Request[Confirmed | Stale], frozen=True):
    """Whether the log still serves a generation."""

    generation: int


# --- storage servers ------------------------------------------------------------------------------


class Peeked(Record, frozen=True):
    """Entries, of the shards asked for, and the version up to which that is all.

    What lies above `committed` may still be taken back by a recovery.
    """

    entries: tuple[Entry, ...]
    end: int
    committed: int


class Peek(Request[Peeked | Stale], frozen=True):
    """What the log has above version `above`; answered once there is something."""

    generation: int
    above: int


class Pop(Record, frozen=True):
    """The storage server needs nothing up to this version any more."""

    version: int


# --- recoveries -----------------------------------------------------------------------------------


class Generation(Record, frozen=True):
    """The processes that serve, since a version.

    `ends`: of every generation, from the first, the number of its successor and the version at
    which it ended: what a storage server has above it never was committed.
    """

    number: int
    start_version: int
    sequencer: str
    grvs: tuple[str, ...]
    proxies: tuple[str, ...]
    resolvers: tuple[str, ...]
    logs: tuple[str, ...]
    ends: tuple[tuple[int, int], ...] = ()


class Pong(Record, frozen=True):
    """The process lives, and serves this generation; 0: none."""

    generation: int


class Ping(Request[Pong], frozen=True):
    """Whether a process lives; storage servers take the generation from it."""

    generation: Generation


class Tail(Record, frozen=True):
    """What a log holds: entries from the oldest that a storage server needs, all state changes."""

    end: int
    entries: tuple[Entry, ...]
    changes: tuple[StateChange, ...]
    popped: tuple[tuple[str, int], ...]


class Locked(Record, frozen=True):
    """The log takes nothing of earlier generations any more; `generation`: the last it served."""

    generation: int
    tail: Tail


class Lock(Request[Locked | Stale], frozen=True):
    """Serve no generation below this one any more."""

    generation: int


class Recruited(Record, frozen=True):
    """The process serves the generation."""


RECRUITED: Final = Recruited()


class Recruit(Request[Recruited | Stale], frozen=True):
    """Serve a generation, which begins with what a log of the last one holds."""

    generation: Generation
    tail: Tail
