"""A client's transaction in its process.

    ACTIVE --commit--> COMMITTING --> COMMITTED
      '---- refusal, roll-back, time limit, failed commit ----> ABORTED

Its read version is known from its first read on; one that only writes gets it when it commits. What
it records names that version, so its events wait for it in `unrecorded`.
"""

from collections.abc import Callable, Iterator
from enum import Enum

from ddlsim.fdb.versions import stamp
from ddlsim.history.events import SchemaResolved, TxAborted, TxBegan, TxCommitted
from ddlsim.layer.keyspace import outcome_key
from ddlsim.layer.schema import Used
from ddlsim.layer.store import StoreTransaction
from ddlsim.model.ports import Future, Node, Timer
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.units import MIN_TIMESTAMP, Micros, Timestamp

COMMITTED = "committed"
"""With the name of a transaction: what says that its commit is recorded."""
Made = Callable[[Micros, Timestamp], object]
"""Makes an event of the instant at which it is recorded and the stamp of the read version."""


class State(Enum):
    """Where a transaction is."""

    ACTIVE = "active"
    COMMITTING = "committing"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Turn:
    """The turn of an operation; `over` once it has ended. Seldom does anything wait for that."""

    __slots__ = ("_ended", "over")

    def __init__(self) -> None:
        self.over = False
        self._ended: Future[None] | None = None

    def awaited(self, node: Node) -> Future[None]:
        """What comes when it ends; it has not yet."""
        if self._ended is None:
            self._ended = node.future()
        return self._ended

    def end(self) -> None:
        """Let what waits for it go on."""
        self.over = True
        if self._ended is not None:
            self._ended.set(None)


class LayerTx:
    """One transaction: on the store, and with the schema that it uses from its first use on.

    `version` is its read version, known since `version_at_us`; `schema_version` is the read version
    at which the process had read its schema. `tables` are those that it has used, by id; `wrote` is
    whether it has written any row or entry, `outdated` whether the schema is among what its commit
    conflicted with. `last` is the turn of its last operation so far. `lease` is the number of the
    schema on whose lease it commits, where its design has leases in the store; `locks` are
    the tables that it has locked, where its design locks tables; `too_new` are indexes made, or
    written anew, behind its read version.
    """

    def __init__(
        self,
        node: Node,
        label: str,
        store: StoreTransaction,
        per_second: int,
        *,
        read_only: bool = False,
        implicit: bool = False,
    ) -> None:
        self.node = node
        self.label = label
        self.store = store
        self.read_only = read_only
        self.state = State.ACTIVE
        self.reason: Reason | None = None
        self.version: int | None = None
        self.version_at_us: Micros | None = None
        self.used: Used | None = None
        self.schema_version = 0
        self.tables: dict[int, Table] = {}
        self.wrote = False
        self.outdated = False
        self.last: Turn | None = None
        self.lease: int | None = None
        self.locks: set[int] = set()
        self.too_new: frozenset[int] = frozenset()
        self.limit: Timer | None = None
        self.unrecorded: list[Made] = []
        self._per_second = per_second
        self._read_ts = MIN_TIMESTAMP  # the stamp of the read version, once that is known
        self.record(
            lambda now, ts: TxBegan(now, label, node.name, ts, implicit, ts if read_only else None)
        )

    async def read_version(self) -> int:
        """The version that it reads at; asks the store at the first call."""
        if self.version is None:
            version = self.version = await self.store.read_version()
            now, ts = self.node.watch.now_us, stamp(version, self._per_second)
            self.version_at_us, self._read_ts = now, ts
            made, self.unrecorded = self.unrecorded, []
            for one in made:
                self.node.record(one(now, ts))
        return self.version

    def without_read_version_us(self, since_us: Micros) -> Micros:
        """How long ago `since_us` is, without the wait for the read version: it needs that in any
        case."""
        known_us = self.version_at_us
        return Micros(self.node.watch.now_us - max(since_us, known_us or since_us))

    def record(self, made: Made) -> None:
        """Record an event, now or once the read version is known."""
        node = self.node
        if node.recording and self.state is not State.ABORTED:
            if self.version is None:
                self.unrecorded.append(made)
            else:
                node.record(made(node.watch.now_us, self._read_ts))

    def mark_outcome(self) -> None:
        """Write, in the transaction itself, at which version it commits and under which schemas."""
        name, used = self.node.name, tuple((one.id, one.version) for one in self.tables.values())
        self.store.set_versionstamped_value(
            outcome_key(self.label), lambda version: (version, name, used)
        )

    def aborted(self, reason: Reason) -> None:
        """Record that it is aborted; one without a read version has done nothing that is seen."""
        node = self.node
        self.unrecorded = []  # of one whose read version comes too late
        if node.recording and self.version is not None:
            node.record(TxAborted(node.watch.now_us, node.name, self.label, reason.name))
        node.probe(f"abort-{reason.name.lower().replace('_', '-')}")

    def committed(self, version: int) -> None:
        """Record that it has committed at a version, and under which schemas."""
        node = self.node
        if not node.recording or self.version is None or not node.is_first((COMMITTED, self.label)):
            return
        used = tuple((one.id, one.version) for one in self.tables.values())
        ts = stamp(version, self._per_second)
        for event in commit_events(
            node.watch.now_us, node.name, self.label, ts, used, wrote=self.wrote
        ):
            node.record(event)


def commit_events(
    now: Micros,
    node: str,
    tx: str,
    ts: Timestamp,
    used: tuple[tuple[int, int], ...],
    *,
    wrote: bool,
) -> Iterator[SchemaResolved | TxCommitted]:
    """What is recorded of a commit; `used` are (table, schema version)."""
    for table_id, version in used if wrote else ():
        yield SchemaResolved(now, node, tx, None, "commit", None, table_id, ts, version, 0)
    yield TxCommitted(now, node, tx, ts, tuple((one, version, version) for one, version in used))
