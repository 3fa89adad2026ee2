"""The events of one operation, one transaction, one DDL."""

from typing import Final, NamedTuple, TypeVar

from ddlsim.history.event import Event
from ddlsim.history.events import (
    DdlDecided,
    Enlisted,
    Failed,
    Invoked,
    MetadataRead,
    Ok,
    ReadExecuted,
    SchemaResolved,
    TxAborted,
    TxCommitted,
    Unknown,
    UpdateLogged,
    WriteExecuted,
)

AT_THE_PRIMARY: Final = ("arrival", "after-locks")
"""The purposes of the look-ups that an operation is judged by."""
E = TypeVar("E", bound=Event)
Placed = tuple[int, E]
"""An event with its position in the history."""


class Use(NamedTuple):
    """An operation that ran under a schema version, or a metadata query that showed it."""

    object_id: int
    version: int
    position: int
    event: ReadExecuted | WriteExecuted | MetadataRead


class Operation:
    """One operation of a client: its invocation, its end, and what it did."""

    __slots__ = ("ended", "ended_at", "invoked", "invoked_at", "name", "txs")

    def __init__(self, name: str) -> None:
        self.name = name
        self.invoked: Invoked | None = None
        self.invoked_at: int | None = None
        self.ended: Ok | Failed | Unknown | None = None
        self.ended_at: int | None = None
        self.txs: dict[str, None] = {}

    @property
    def asked(self) -> tuple[Invoked, ...]:
        """Its invocation, as part of a witness."""
        return () if self.invoked is None else (self.invoked,)

    @property
    def answered_at(self) -> int | None:
        """Where its client received a certain outcome; None for "unknown" and no answer."""
        return None if isinstance(self.ended, Unknown) else self.ended_at


class Transaction:
    """One transaction: what it did, in the order of the history, and how it ended."""

    __slots__ = (
        "_uses",
        "aborted",
        "aborted_at",
        "begins_at",
        "chosen",
        "client",
        "committed",
        "committed_at",
        "ends_at",
        "enlisted",
        "forgotten",
        "given_up",
        "implicit",
        "metadata",
        "name",
        "ops",
        "read_ts",
        "reads",
        "resolved",
        "session",
        "writes",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.implicit = False
        self.read_ts: int | None = None
        """Of a read-only transaction: the timestamp at which it reads."""
        self.chosen = False
        """Whether its client chose that timestamp: then it owes nothing to its session."""
        self.client: str | None = None
        self.session = False
        """Whether its client carries a causal token."""
        self.ops: dict[str, None] = {}
        self.reads: list[Placed[ReadExecuted]] = []
        self.writes: list[Placed[WriteExecuted]] = []
        self.metadata: list[Placed[MetadataRead]] = []
        self.enlisted: list[Placed[Enlisted]] = []
        self.forgotten: dict[int, None] = {}
        """Objects that it enlisted, and then another in their place, before anything had run."""
        self.given_up: dict[int, None] = {}
        """Where it looked up what it enlisted so; it may enlist the same object later, as another
        name's."""
        self.resolved: list[Placed[SchemaResolved]] = []
        self.committed: TxCommitted | None = None
        self.committed_at = -1
        self.aborted: TxAborted | None = None
        self.aborted_at = -1
        self.begins_at: int | None = None
        """Where a client first invoked an operation of it."""
        self.ends_at: int | None = None
        """Where it ended for its client, with the acknowledged commit; None if it did not.

        A read-only transaction ends with its last answer, which may come later.
        """
        self._uses: list[Use] | None = None

    @property
    def stamp(self) -> int:
        """Where a committed transaction stands: at its commit_ts, read-only at its read_ts."""
        assert self.committed is not None, self.name
        return self.committed.commit_ts if self.read_ts is None else self.read_ts

    @property
    def ended_us(self) -> list[int]:
        """When it was committed or aborted; both where nodes disagreed."""
        return [end.at_us for end in (self.committed, self.aborted) if end is not None]

    @property
    def accesses(self) -> list[ReadExecuted | WriteExecuted]:
        """What was executed for it, the reads first."""
        return [*(event for _, event in self.reads), *(event for _, event in self.writes)]

    def uses(self) -> list[Use]:
        """Each use of a schema version by an operation or a metadata query, in order.

        Gathered once, when first asked for: by then it is known what the transaction did.
        """
        if self._uses is None:
            found: list[Placed[ReadExecuted | WriteExecuted | MetadataRead]]
            found = [*self.reads, *self.writes, *self.metadata]
            found.sort(key=_by_position)
            self._uses = [Use(e.object_id, e.version, at, e) for at, e in found]
        return self._uses


def _by_position(placed: tuple[int, object]) -> int:
    return placed[0]


class Ddl:
    """One DDL operation: its invocation, decision, update and answer."""

    __slots__ = ("decided", "logged", "logged_at", "operation")

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.decided: DdlDecided | None = None
        self.logged: UpdateLogged | None = None
        self.logged_at = -1
