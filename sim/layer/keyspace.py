"""How tables, indexes and their schema lie in the key-value store.

Every key is a tuple that begins with the name of a space:

    ("d", table, *key)                      a row: `StoredRow`
    ("i", index, *values, 0, *key)          an entry of an index or a unique constraint
    ("s", "head")                           the number of the newest schema update
    ("s", "log", number)                    a schema update
    ("s", "table", object)                  the newest update of one object
    ("s", "copy", place)                    a copy of the log; ("s", "version", place) of the head
    ("s", "step", number)                   written by the update of this number
    ("s", "flag")                           there after every other update
    ("s", "cutover")                        counts as written when an update comes into force
    ("s", "lease", process, number)         the version at which a process's lease on a schema ends
    ("s", "taken", process, number)         written by what takes such a lease away
    ("s", "lock", object, transaction)      the version at which a lock on a table ends
    ("s", "queue", object)                  a DDL statement that waits for such locks, and its end
    ("s", "broken", transaction)            written by what takes locks that have ended away
    ("s", "record")                         two numbers and when the second is in force
    ("j", process, op)                      a DDL statement that takes several transactions
    (LOCAL, "head")                         the head, where storage servers hold it all
    ("m", …)                                modes, and which processes have switched
    ("m", "started", process)               written by a process that starts again
    ("x", transaction)                      of one that wrote: `Outcome`

A deleted row stays as one without values, so that readers see which transaction deleted it. The 0
after the values of an entry bounds the range of all entries with equal values.
"""

from typing import Final

from ddlsim.fdb.keys import LAST, LOCAL, METADATA_VERSION, Key, pack, prefix_range
from ddlsim.model.ops import Key as RowKey
from ddlsim.model.schema import Value
from ddlsim.protocol.ids import Tuple

Range = tuple[Key, Key]
"""The keys from the first one on and below the second one."""
StoredRow = tuple[str, int, int, Tuple | None]
"""(writer, version, format, values): the transaction that wrote it, the schema version that this
used, the newest version up to that one that changed the columns; values None: deleted."""
Outcome = tuple[int, str, tuple[tuple[int, int], ...]]
"""(commit version, process, schema versions used by table); version 0: it never commits."""

ROWS: Final = "d"
INDEXES: Final = "i"
SCHEMA: Final = "s"
JOBS: Final = "j"
MODES: Final = "m"
OUTCOMES: Final = "x"
HEAD: Final[Key] = (SCHEMA, "head")
FLAG: Final[Key] = (SCHEMA, "flag")
CUTOVER: Final[Key] = (SCHEMA, "cutover")
RECORD: Final[Key] = (SCHEMA, "record")
LOCAL_HEAD: Final[Key] = (LOCAL, "head")
MODE: Final[Key] = (MODES, "mode")
LOG_END: Final[Key] = (SCHEMA, "log", LAST)
LEASES: Final[Range] = prefix_range((SCHEMA, "lease"))
SWITCHED: Final[Range] = prefix_range((MODES, "switched"))
_OF_SCHEMA: Final = (pack((SCHEMA,)), pack(LOCAL_HEAD), METADATA_VERSION)


def is_of_schema(conflict: bytes | tuple[bytes, bytes]) -> bool:
    """Whether a key, or a range of them, tells of the schema: its own, or a copy of its number."""
    first = conflict if isinstance(conflict, bytes) else conflict[0]
    return first.startswith(_OF_SCHEMA)


def row_key(table_id: int, key: RowKey) -> Key:
    """Where a row lies."""
    return (ROWS, table_id, *key) if isinstance(key, tuple) else (ROWS, table_id, key)


def key_of_row(stored: Key) -> RowKey:
    """The primary key of the row that lies there."""
    return _row_key(stored[2:])


def rows_of(table_id: int) -> Range:
    """Where the rows of a table lie."""
    return prefix_range((ROWS, table_id))


def entry_key(index_id: int, values: tuple[Value, ...], key: RowKey) -> Key:
    """Where the entry of a row lies in an index."""
    keys = key if isinstance(key, tuple) else (key,)
    return (INDEXES, index_id, *values, 0, *keys)


def entries_with(index_id: int, values: tuple[Value, ...]) -> Range:
    """Where the entries of an index with these values lie."""
    return prefix_range((INDEXES, index_id, *values, 0))


def entries_of(index_id: int) -> Range:
    """Where all entries of an index lie."""
    return prefix_range((INDEXES, index_id))


def key_of_entry(stored: Key, columns: int) -> RowKey:
    """The primary key of the row that an entry of an index over so many columns belongs to."""
    return _row_key(stored[3 + columns :])


def _row_key(values: Key) -> RowKey:
    return values[0] if len(values) == 1 else values  # type: ignore[return-value]  # of a row


def log_key(number: int) -> Key:
    """Where a schema update lies."""
    return (SCHEMA, "log", number)


def object_key(object_id: int) -> Key:
    """The number of an object's newest update."""
    return (SCHEMA, "table", object_id)


def copy_key(place: int) -> Key:
    """One of the copies of the log."""
    return (SCHEMA, "copy", place)


def version_key(place: int) -> Key:
    """One of the copies of the head."""
    return (SCHEMA, "version", place)


def step_key(number: int) -> Key:
    """What the update of this number writes."""
    return (SCHEMA, "step", number)


def lease_key(process: str, number: int) -> Key:
    """Where a process's lease on a schema lies."""
    return (SCHEMA, "lease", process, number)


def leases_of(process: str) -> Range:
    """Where the leases of a process lie."""
    return prefix_range((SCHEMA, "lease", process))


def taken_key(process: str, number: int) -> Key:
    """What is written where a process's lease on a schema is taken away."""
    return (SCHEMA, "taken", process, number)


def lock_key(object_id: int, tx: str) -> Key:
    """Where a transaction's lock on a table lies."""
    return (SCHEMA, "lock", object_id, tx)


def locks_on(object_id: int) -> Range:
    """Where the locks on a table lie."""
    return prefix_range((SCHEMA, "lock", object_id))


def queue_key(object_id: int) -> Key:
    """Where the statement stands that waits for the locks on a table."""
    return (SCHEMA, "queue", object_id)


def broken_key(tx: str) -> Key:
    """What is written where a transaction's locks are taken away."""
    return (SCHEMA, "broken", tx)


def job_key(process: str, op: str) -> Key:
    """How far a statement of several transactions is."""
    return (JOBS, process, op)


def jobs_of(process: str) -> Range:
    """The statements that a process has under way."""
    return prefix_range((JOBS, process))


def started_key(process: str) -> Key:
    """What a process writes when it starts again."""
    return (MODES, "started", process)


def switched_key(process: str) -> Key:
    """The newest mode that a process has switched to."""
    return (MODES, "switched", process)


def outcome_key(tx: str) -> Key:
    """Where the commit version of a transaction lies."""
    return (OUTCOMES, tx)
