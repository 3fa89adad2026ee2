"""Two replicas beside a run, driven through an arbitrary order of commands on rows and entries.

A run has few builds of indexes: seldom does a command of one come late, twice, or behind the end of
its index, or a snapshot between a write and its commit. So beside each run of a design with builds
a partition of its own takes some commands in an order that follows from the run's seed, at one
replica in time and at another one late or by a snapshot. Each is compared with its model.
"""

from types import SimpleNamespace
from typing import Any, Final, cast

from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.partition.partition import ModelledPartition
from ddlsim.kernel.rng import mix
from ddlsim.model.ports import Node
from ddlsim.model.schema import PUBLIC, Column, ColumnType, Index, Table, Value
from ddlsim.protocol.commands import (
    CleanUp,
    Command,
    EraseIndex,
    FillIndex,
    FinishTx,
    FullWrite,
    StampedCommand,
    WriteIntent,
)
from ddlsim.protocol.ids import EntryChange, TxId
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamp

STEPS: Final = 120
"""How many commands a partition takes beside a run."""
KEYS: Final = 5
PATIENCE: Final = 12
"""How many commands come before the build of the next index."""
PLACE: Final = (1, 0)
COLUMNS: Final = {7: (2,), 8: (2, 1), 9: (3, 2), 10: (3,)}
"""The indexes, and their columns."""
BUILT: Final = {7: 3, 8: 3, 9: 5, 10: 5}
"""The version of the table in which the build of each index begins."""


def _versions() -> dict[int, Table]:
    number = ColumnType("INTEGER")
    key, plain = Column(1, "k", number, nullable=False), Column(2, "v", number)
    late = Column(3, "w", number, default=1, initial_default=1)
    found = {}
    for version in range(1, 6):
        columns = (key, plain, late) if version > 3 else (key, plain)
        indexes = tuple(
            Index(index_id, f"i{index_id}", of, state=_state(version - BUILT[index_id]))
            for index_id, of in COLUMNS.items()
            if version >= BUILT[index_id] - 1
        )
        found[version] = Table(1, "t", version, columns, (1,), "default", indexes)
    return found


def _state(versions: int) -> str:
    """The state of an index so many versions behind the one in which its build begins."""
    return ("write_only", "reorganization", PUBLIC)[min(versions, 1) + 1]


TABLES: Final = _versions()


class EntryWalk:
    """A partition with replicas `ahead` and `behind`; every choice follows from a number."""

    def __init__(self, models: Models, strategy: Strategy, number: int) -> None:
        self._number, self._drawn = number, 0
        self._models = Models(models.record, models.loop)
        self._strategy = strategy
        self._stamp, self._index = 1000, 0
        self._open: dict[TxId, bool] = {}
        self._ended: list[TxId] = []
        self._since: dict[int, int] = {}
        self._late: list[tuple[int, StampedCommand]] = []
        self.ahead, self.behind = self._born("ahead"), self._born("behind")

    def _born(self, name: str) -> ModelledPartition:
        # its transactions commit whenever they do, with no coordinator that has stamped them
        of_walk = {"models": self._models, "is_coordinated": False}
        kind = type("Partition", (ModelledPartition,), of_walk)
        node = SimpleNamespace(
            name=f"walk, {name}",
            watch=self._models.loop,
            recording=True,
            record=lambda _event: None,
            is_first=lambda _key: True,
            probe=lambda _name: None,
        )
        born: ModelledPartition = kind(
            cast("Node", node), self._strategy, PLACE, MIN_TIMESTAMP, lambda _: True
        )
        born.index.definition = lambda _, version: TABLES.get(version)
        return born

    def _below(self, bound: int) -> int:
        self._drawn += 1
        return mix(self._number, self._drawn) % bound

    def _one(self, choices: Any) -> Any:
        found = list(choices)
        return found[self._below(len(found))]

    def take(self, steps: int) -> None:
        """Take some commands, then compare all that there is."""
        for _ in range(steps):
            self._stamp += self._below(4) + 1
            self._index += 1
            stamped = StampedCommand(Timestamp(self._stamp), self._next())
            self.ahead.apply(self._index, 1, stamped)
            self._late.append((self._index, stamped))
            self._catch_up()
        for compare in self._models.at_end:
            compare()

    def _catch_up(self) -> None:
        """The replica behind takes a command, several, none, or a snapshot."""
        if self._below(12) == 0:
            self.behind.install(self.ahead.snapshot())
            self._late = []
            return
        for _ in range(self._one((0, 1, 1, 3))):
            if self._late:
                index, stamped = self._late.pop(0)
                self.behind.apply(index, 1, stamped)

    # --- commands ---------------------------------------------------------------------------------

    def _next(self) -> Command[Any]:
        what = self._below(40)
        if what < 18:
            return self._write()
        if what < 22:
            tx = TxId(Timestamp(self._stamp), self._drawn, f"one {self._drawn}")
            write = self._write_of(tx, knows=self._below(2) == 0)
            key, version, row, entries = write.key, write.version, write.row, write.entries
            full = FullWrite(tx, "o", write.op_ts, key, version, row, MIN_TIMESTAMP, 1)
            # a leader elsewhere may stamp it when its primary's lease is over
            left = mix(self._number, -self._index) % 7 - 2
            expires_ts = MAX_TIMESTAMP if left > 2 else Timestamp(self._stamp + left)
            return replace(full, entries=entries, expires_ts=expires_ts)
        if what < 30 and self._open:
            return self._end()
        return EraseIndex(self._one(BUILT)) if what == 39 else self._fill()

    def _write(self) -> WriteIntent:
        if not self._open or self._below(3) == 0:
            tx = TxId(Timestamp(self._stamp), self._drawn, f"tx {self._drawn}")
            self._open[tx] = self._below(2) == 0
        tx = self._one(self._open)
        return self._write_of(tx, knows=self._open[tx])

    def _write_of(self, tx: TxId, *, knows: bool) -> WriteIntent:
        """A write of a row, or its deletion; one that knows the indexes changes their entries."""
        free = [
            key
            for key in range(KEYS)
            if (intent := self.ahead.intents.get((key,))) is None or intent.tx == tx
        ]
        key = self._one(free or range(KEYS))
        version = self._one(TABLES)
        row: tuple[Value, ...] | None = None
        if self._below(4):
            row = (key, *(self._one((None, 1, 2)) for _ in TABLES[version].columns[1:]))
        entries = [self._change() for _ in range(self._below(4))] if knows else []
        op_ts = Timestamp(self._stamp - self._below(3))
        return WriteIntent(
            tx, "o", op_ts, (key,), version, row, MIN_TIMESTAMP, PLACE, 1, tuple(entries)
        )

    def _change(self) -> EntryChange:
        index_id = self._one(BUILT)
        values = tuple(self._one((None, 1, 2)) for _ in COLUMNS[index_id])
        return EntryChange(index_id, values, self._below(2) == 0)

    def _end(self) -> Command[Any]:
        """A transaction ends, here or at another partition, and perhaps not for the first time."""
        if self._ended and self._below(3) == 0:
            tx = self._one(self._ended)
        else:
            tx = self._one(self._open)
            self._ended.append(tx)
            if self._below(5):
                del self._open[tx]
        committed = self._below(3) > 0
        commit_ts = Timestamp(self._stamp - self._below(40)) if committed else None
        if self._below(2):
            return FinishTx(tx, commit_ts, (PLACE,))
        return CleanUp(tx, commit_ts)

    def _fill(self) -> FillIndex:
        """A step of a backfill, mostly the one that is due; its index may be gone."""
        index_id = self._one(list(BUILT)[: self._index // PATIENCE] or BUILT)
        if index_id not in self._since:
            later = [rows[-1] for rows in self.ahead.rows.values() if len(rows) > 1]
            since = self._one([row.commit_ts for row in later] or [self._stamp - 1])
            self._since[index_id] = since + self._below(2)
        begin = self.ahead.index.filled.get(index_id, 0)
        if self._below(5) == 0:
            begin = self._below(KEYS)
        since_ts = Timestamp(self._since[index_id])
        return FillIndex(index_id, BUILT[index_id], since_ts, begin, self._below(4) + 1, 1)


def walk_entries(models: Models, strategy: Strategy, seed: int) -> None:
    """Compare a partition beside the run of this seed, under a design that builds indexes."""
    EntryWalk(models, strategy, mix(seed, 2)).take(STEPS)
