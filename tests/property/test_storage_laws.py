"""For any writes and outcomes a partition shows what a plain list of writes says."""

from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sim.protocol.messages import TxId
from sim.protocol.storage import Partition, RowVersion
from sim.units import Timestamp

KEYS = [1, 2, "x", (1, 2)]


class Written(NamedTuple):
    """A write, and in which place it was committed (None: not yet)."""

    tx: TxId
    key: object
    version: int
    row: tuple[int, ...] | None
    committed: int | None


class Storing(RuleBasedStateMachine):
    """Three transactions at a time; whoever ends is followed by another one."""

    def __init__(self) -> None:
        super().__init__()
        self.partition = Partition()
        self.writes: list[Written] = []
        self.begun = 0
        self.ends = 0
        self.open = [self.begin() for _ in range(3)]

    def begin(self) -> TxId:
        self.begun += 1
        return TxId(Timestamp(self.begun), 0, f"tx{self.begun}")

    @rule(
        who=st.integers(0, 2),
        key=st.sampled_from(KEYS),
        version=st.integers(1, 3),
        value=st.one_of(st.none(), st.integers(0, 9)),
    )
    def write(self, who: int, key: object, version: int, value: int | None) -> None:
        tx = self.open[who]
        if any(one.key == key and one.committed is None and one.tx != tx for one in self.writes):
            return  # the exclusive lock is another's
        row = None if value is None else (value,)
        self.partition.write(tx, key, version, row)  # type: ignore[arg-type]  # keys of all kinds
        self.writes.append(Written(tx, key, version, row, None))

    @rule(who=st.integers(0, 2), commits=st.booleans())
    def finish(self, who: int, commits: bool) -> None:
        tx, self.ends = self.open[who], self.ends + 1
        mine = {one.key: one for one in self.writes if one.tx == tx}
        for key in mine:
            outcome = Timestamp(self.ends) if commits else None
            self.partition.finish(tx, key, outcome)  # type: ignore[arg-type]  # keys of all kinds
        self.writes = [one for one in self.writes if one.tx != tx]
        if commits:
            self.writes += [one._replace(committed=self.ends) for one in mine.values()]
        self.open[who] = self.begin()

    @invariant()
    def everybody_reads_what_the_list_says(self) -> None:
        """The own last write, else what was committed last, else nothing."""
        for tx in self.open:
            for key in KEYS:
                under = [one for one in self.writes if one.key == key]
                own = [one for one in under if one.tx == tx]
                done = [one for one in under if one.committed is not None]
                seen = self.partition.read(tx, key)  # type: ignore[arg-type]  # keys of all kinds
                if own or done:
                    last = (own or done)[-1]
                    assert seen == (last.tx.label, last.version, last.row)
                else:
                    assert seen == (None, 0, None)

    @invariant()
    def everybody_scans_every_key_it_can_see_once(self) -> None:
        for tx in self.open:
            keys = self.partition.keys(tx)
            assert len(keys) == len(set(keys))
            assert set(keys) == {
                one.key for one in self.writes if one.committed is not None or one.tx == tx
            }

    @invariant()
    def every_committed_version_is_kept(self) -> None:
        """In the order of the commits."""
        for key, versions in self.partition.rows.items():
            done = [one for one in self.writes if one.key == key and one.committed is not None]
            assert versions == [
                RowVersion(one.tx.label, Timestamp(one.committed or 0), one.version, one.row)
                for one in done
            ]

    def teardown(self) -> None:
        for who in range(3):
            self.finish(who, commits=False)
        assert self.partition.intents == {}


Storing.TestCase.settings = settings(stateful_step_count=40)
TestStoring = Storing.TestCase
