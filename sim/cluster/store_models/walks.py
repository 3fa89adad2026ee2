"""Values and conflicts of the store beside a run, driven through an arbitrary order of steps.

A run writes few keys more than once in a window, and its recoveries seldom take back a part of what
a key has had; ranges of keys that came and went are rarer still. So beside each run a storage
server's values, and a resolver's window, of a few keys take some steps that follow from the run's
seed. Each is compared with its model, which forgets nothing; nothing else sees them.
"""

from typing import Final

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.resolver import Decisions, Writes
from ddlsim.cluster.store_models.storage import Values
from ddlsim.fdb.config import CONTROLLER, FdbConfig, Shard
from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.keys import LOCAL, Key, pack
from ddlsim.fdb.messages import ADD, CLEAR, SET, Failed, Mutation, Range, ToResolve
from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.storage import _initial
from ddlsim.fdb.store import Base, Store

STEPS: Final = 80
"""How many steps each takes beside a run."""
KEYS: Final = (b"", b"a", b"a\x00", b"b", b"c", b"d")
ENDS: Final = (*KEYS[1:], b"e")
MORE: Final = tuple(bytes((letter,)) for letter in b"abcdefghijkl")
"""The keys of conflicts: more, so that not everything conflicts."""
LATE: Final = tuple(key + b"+" for key in MORE)
"""The keys that come behind a crowd."""
CROWD: Final = 1_100
"""More keys that are gone than are kept in an order: it is made anew."""
WINDOW: Final = 20
MANY: Final = tuple(b"crowd%04d" % number for number in range(CROWD))


class StoreWalk:
    """The values of a storage server, and what they must be."""

    def __init__(self, divergence: Divergence, draws: Draws) -> None:
        self._divergence = divergence
        self._draws = draws
        first: dict[bytes, object] = {key: 0 for key in KEYS if draws.below(2)}
        self._base = Base(values=dict(first))
        self.store = Store(self._base)
        self.held = Values(first)
        self._ends = [0]
        self._wrote: list[tuple[int, bytes]] = []

    def take(self, steps: int) -> None:
        """Take some steps, and let many keys come and go at last."""
        for _ in range(steps):
            what = self._draws.below(10)
            if what < 6:
                self._batch()
            elif what < 8:
                self._trim(self.held.version - self._draws.below(WINDOW))
            elif what < 9:
                self._roll_back()
            else:
                self._restart()
            self._compare()
        self._crowd()

    def _batch(self) -> None:
        """The writes of one to three transactions, and some versions that write nothing."""
        writes: list[tuple[int, tuple[Mutation, ...]]] = []
        version = self.held.version
        for _ in range(1 + self._draws.below(3)):
            version += 1 + self._draws.below(3)
            writes.append((version, tuple(self._mutation() for _ in range(self._draws.below(4)))))
        self._apply(writes, version + self._draws.below(2))

    def _apply(self, writes: list[tuple[int, tuple[Mutation, ...]]], last: int) -> None:
        expected: set[bytes] = set()
        for version, mutations in writes:
            for mutation in mutations:
                touched = self._touched(mutation)
                expected.update(touched)
                self._wrote += [(version, key) for key in touched]
                self.held.take(version, mutation)
        self.held.version = last
        self._ends.append(last)
        written = self.store.apply(last, writes)
        self.store.version = last
        self._divergence.compare("the keys of a batch", sorted(set(written)), sorted(expected))

    def _touched(self, mutation: Mutation) -> list[bytes]:
        """The keys that a mutation writes: a range those that have a value."""
        kind, key, end = mutation
        if kind != CLEAR:
            return [key]
        assert isinstance(end, bytes), f"{end!r} ends no range"
        held = self.held
        return [one for one in held.written if key <= one < end and held.latest(one) is not None]

    def _mutation(self) -> Mutation:
        draws = self._draws
        key, number = draws.pick(KEYS), draws.below(9)
        what = draws.below(8)
        if what < 4:
            return SET, key, draws.pick((number, number, "text", None))
        if what < 6:
            return ADD, key, number
        return CLEAR, key, draws.pick(ENDS)

    def _trim(self, oldest: int) -> None:
        self.store.trim(oldest)
        self.held.oldest = max(self.held.oldest, oldest)
        got = self.store.oldest
        self._divergence.compare("the oldest version of a store", got, self.held.oldest)

    def _end(self) -> int:
        """The end of a batch: generations end there, and so does what is read behind a restart."""
        ends = [one for one in self._ends if self.held.oldest <= one <= self.held.version]
        return self._draws.pick(ends or [self.held.version])

    def _roll_back(self) -> None:
        held, end = self.held, self._end()
        expected = {key for version, key in self._wrote if version > end}
        self._drop(end)
        dropped = self.store.roll_back(end)
        self._divergence.compare("the keys taken back", sorted(set(dropped)), sorted(expected))
        self._divergence.compare("the version of a store", self.store.version, held.version)

    def _restart(self) -> None:
        """Only the disk is left."""
        self._trim(self._end())
        self._drop(self.held.oldest)
        self.store = Store(self._base)

    def _drop(self, end: int) -> None:
        self.held.drop(end)
        self._wrote = [one for one in self._wrote if one[0] <= end]
        self._ends = [one for one in self._ends if one <= end]

    def _crowd(self) -> None:
        """Many keys come, and all but a few go for good."""
        version = self.held.version
        self._apply([(version + 1, tuple((SET, key, 1) for key in MANY))], version + 1)
        self._apply([(version + 2, ((CLEAR, MANY[3], MANY[-1] + b"z"),))], version + 2)
        self._apply([(version + 3, ((SET, b"dd", 1),))], version + 3)
        for end in (version + 2, version + 3):
            self._trim(end)
            self._batch()
            self._compare()
        last, back = self.held.version + 1, MANY[CROWD // 2]
        self._apply([(last, ((SET, back, 1),))], last)
        scanned = list(self.store.scan(back, back + b"\x00", last))
        self._divergence.compare("a key that comes again", scanned, [(back, 1)])

    def _compare(self) -> None:
        """What it has at a version, and last of all."""
        held, draws = self.held, self._draws
        version = held.oldest + draws.below(held.version - held.oldest + 1)
        begin, last = draws.pick(KEYS), draws.pick(ENDS)
        scanned = list(self.store.scan(begin, last, version))
        within = held.within(begin, last, version)
        self._divergence.compare(f"a range at {version}", scanned, within)
        for key in KEYS:
            got = self.store.read(key, version), self.store.latest(key)
            expected = held.at(key, version), held.latest(key)
            self._divergence.compare(f"{key!r} at {version}, and its last value,", got, expected)


class ConflictWalk:
    """The window of a resolver, and what it must decide."""

    def __init__(self, divergence: Divergence, draws: Draws) -> None:
        self._divergence = divergence
        self._draws = draws
        self._version = began = draws.below(2) * 10
        self._keys = MORE
        futures = tuple((draws.pick(MORE), began + draws.below(9)) for _ in range(draws.below(3)))
        settings = FdbSettings(window_ms=WINDOW, versions_per_second=1000)
        self._decisions = Decisions(settings, Writes(began, futures))
        self.window = ConflictWindow(settings.window, began, futures)

    def take(self, steps: int) -> None:
        """Decide about some transactions, with one of very many keys among them."""
        crowded = self._draws.below(steps)
        for step in range(steps):
            if step == crowded:
                crowd = ToResolve(self._version, self._version, (), MANY, (), ())
                self._compare(crowd)
                self._version += 2 * WINDOW
                self._keys = tuple(sorted(MORE + LATE))
            self._compare(self._transaction())
            self._version += self._draws.below(4)
        self._late_future()

    def _late_future(self) -> None:
        """A version to come has gone by at the commit: the key was written since, and stays so."""
        key, written = self._draws.pick(MORE), self._version + 5
        at = written - 1 - self._draws.below(4)
        read = at + self._draws.below(written - at)
        self._compare(ToResolve(written, written, (), (key,), (), ()))
        self._compare(ToResolve(written + 1, written, (), (), (), ((key, at),)))
        self._compare(ToResolve(written + 2, read, (key,), (), (), ()))
        self._version = written + 2

    def _transaction(self) -> ToResolve:
        self._version += 1
        draws, version = self._draws, self._version
        read_version = max(version - 1 - draws.below(WINDOW + 3), 0)
        return ToResolve(
            version,
            read_version,
            tuple(self._range() for _ in range(draws.below(3))),
            tuple(self._range() for _ in range(draws.below(3))),
            tuple(self._past(version) for _ in range(max(draws.below(8) - 5, 0))),
            tuple(self._future(version) for _ in range(max(draws.below(8) - 5, 0))),
        )

    def _future(self, version: int) -> tuple[bytes, int]:
        return self._draws.pick(MORE), version + self._draws.below(9)

    def _past(self, version: int) -> tuple[bytes, int]:
        return self._draws.pick(MORE), max(version - 1 - self._draws.below(WINDOW + 3), 0)

    def _range(self) -> Range:
        draws = self._draws
        keys = self._keys
        place = draws.below(len(keys))
        return keys[place] if draws.below(3) else (keys[place], draws.pick((*keys[place:], b"m")))

    def _compare(self, tx: ToResolve) -> None:
        error = self.window.decide(tx)
        told = self.window.conflicting(tx) if error is ErrorCode.NOT_COMMITTED else ()
        got = None if error is None else self._decisions.in_window(tx, Failed(error, told))
        self._divergence.compare(f"what becomes of {tx}", got, self._decisions.decide(tx))


def compare_initial(divergence: Divergence) -> None:
    """What new storage servers hold: the initial values of their shards, and all local keys."""
    keys: tuple[Key, ...] = (("a",), ("m",), ("z",), (LOCAL, "head"))
    shards = Shard((), ("s1",)), Shard(("m",), ("s1", "s2")), Shard(("t",), ("s2",))
    for local in (False, True):
        initial = tuple((key, place) for place, key in enumerate(keys, 1))
        settings = FdbSettings(local_keys=local)
        config = FdbConfig(settings=settings, shards=shards, initial=initial)
        for name, own in (("s1", (0, 1, 3)), ("s2", (1, 2, 3) if local else (1, 2))):
            due = {pack(keys[place]): place + 1 for place in own}
            divergence.compare(f"what {name} begins with", _initial(name, config).values, due)


def walk_store(models: Models, seed: int) -> None:
    """Compare values and conflicts beside the run of this seed."""
    compare_initial(models.divergence("values", CONTROLLER))
    StoreWalk(models.divergence("values", CONTROLLER), Draws(seed, 1)).take(STEPS)
    ConflictWalk(models.divergence("conflicts", CONTROLLER), Draws(seed, 2)).take(STEPS)
