"""What the client library raises: FoundationDB's error codes, of those that occur here."""

from enum import Enum


class ErrorCode(Enum):
    """Number (FoundationDB's), sentence, and whether `on_error` tries again after it."""

    NOT_COMMITTED = (1020, "conflicts with another transaction", True)
    TRANSACTION_TOO_OLD = (1007, "the read version is older than the window", True)
    FUTURE_VERSION = (1009, "the storage server has not reached the read version", True)
    COMMIT_UNKNOWN_RESULT = (1021, "may have committed or not", True)
    TRANSACTION_TOO_LARGE = (2101, "larger than a transaction may be", False)
    KEY_TOO_LARGE = (2102, "longer than a key may be", False)
    VALUE_TOO_LARGE = (2103, "larger than a value may be", False)
    TIMED_OUT = (1031, "the transaction's time is over", False)
    ACCESSED_UNREADABLE = (1036, "read what its own versionstamp will set", False)
    TOO_MANY_WATCHES = (1032, "more watches than a client may have", False)

    @property
    def number(self) -> int:
        """FoundationDB's number."""
        return self.value[0]

    @property
    def sentence(self) -> str:
        """What it means."""
        return self.value[1]

    @property
    def retriable(self) -> bool:
        """Whether a client tries again."""
        return self.value[2]


class FdbError(Exception):
    """A transaction cannot go on, for the reason of its code; `conflicts` as in `Failed`."""

    def __init__(
        self, code: ErrorCode, conflicts: tuple[bytes | tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(f"{code.number}: {code.sentence}")
        self.code = code
        self.conflicts = conflicts
