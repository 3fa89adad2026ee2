"""Why an operation failed or a transaction aborted: the closed list.

Every reason has a code that appears in histories, figures and plots, one sentence for people, and
tells whether the client should retry the transaction [110.flow.7].
"""

from enum import Enum


class Reason(Enum):
    """A reason: its code is the name, its value (sentence, retriable, schema-related)."""

    TABLE_NOT_FOUND = ("no table or view of this name at the operation's timestamp", False, True)
    COLUMN_NOT_FOUND = ("no column of this name in the enlisted schema", False, True)
    TABLE_DROPPED = ("the enlisted table does not exist at the operation's timestamp", True, True)
    SCHEMA_CHANGED = ("the schema at the operation differs from the enlisted one", True, True)
    SCHEMA_INCOMPATIBLE = ("the enlisted schema cannot commit on the later one", True, True)
    NEWER_ROW_VERSION = ("a row was written under a newer schema than the enlisted one", True, True)
    ROLLBACK_ONLY = ("an incompatible schema change activated before the commit", True, True)
    METADATA_LATE = ("a node's schema metadata was not complete in time", True, True)
    LOCK_TIMEOUT = ("a lock on a table was not free in time", True, False)
    LOCK_CONFLICT = ("an older transaction holds the lock (wait-die)", True, False)
    NODE_UNREACHABLE = ("a node did not answer in time", True, False)
    PRIMARY_EXPIRED = ("the primary that held its locks is primary no longer", True, False)
    PRIMARY_MISSING = ("no node was primary of the partition in time", True, False)
    TX_RECOVERED = ("its coordinator did not answer, so recovery aborted it", True, False)
    TX_TIMED_OUT = ("the transaction took too long", True, False)
    TX_CONFLICT = ("a key that it read was written before it could commit", True, False)
    SCHEMA_CONFLICT = ("the schema was written before it could commit", True, True)
    TX_TOO_OLD = ("its read version is older than what the store keeps", True, False)
    TX_TOO_LARGE = ("it reads or writes more than the store takes at once", False, False)
    READ_ONLY = ("a read-only transaction does not write", False, False)
    ROLLED_BACK = ("the client rolled the transaction back", False, False)
    TX_FINISHED = ("the transaction has already ended", False, False)
    BAD_ROW = ("the row does not fit the table's schema", False, False)
    KEY_EXISTS = ("a row with this key exists already", False, False)
    UNIQUE_VIOLATED = ("another row has the same values in a unique index", False, False)
    CHECK_VIOLATED = ("the row does not satisfy a CHECK constraint", False, False)
    DDL_REFUSED = ("the statement is not allowed on the present schema", False, False)
    DDL_CONFLICT = ("the catalog changed at every attempt to install it", True, False)
    OBJECT_EXISTS = ("an object of this name exists already", False, False)
    OBJECT_NOT_FOUND = ("no object of this name exists", False, False)

    @property
    def sentence(self) -> str:
        """Its meaning, in a sentence."""
        return self.value[0]

    @property
    def retriable(self) -> bool:
        """Whether the client should retry the whole transaction."""
        return self.value[1]

    @property
    def is_schema(self) -> bool:
        """Whether it counts into the schema abort rate."""
        return self.value[2]
