"""Transactions of the client library beside a run, on a plain store, each compared with a model.

Designs use few of the library's calls, and each of them in one way. So beside each run transactions
take steps that follow from the run's seed, on a store that answers at once: a dict of values. The
model of a transaction is the list of its steps: what it reads is what the store had with all its
writes before carried out, and what it sends must have the same effect. Conflicts are compared key
by key: which keys of a few would conflict, however the ranges are cut.
"""

from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.fdb.config import CONTROLLER
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import METADATA_VERSION, SELF_CONFLICT, Key, pack, unpack
from ddlsim.fdb.messages import (
    ADD,
    CLEAR,
    SET,
    STAMPED_KEY,
    STAMPED_VALUE,
    Commit,
    Committed,
    Range,
    ReadVersion,
)
from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.transaction import Transaction, TxOptions

TRANSACTIONS: Final = 60
"""How many transactions there are beside a run."""
STEPS: Final = 14
KEYS: Final[tuple[Key, ...]] = (("a",), ("a", 1), ("b",), ("c",), ("d",))
BOUNDS: Final[tuple[Key, ...]] = (*KEYS, ("e",))
PROBES: Final = tuple(sorted({one for key in BOUNDS for one in (pack(key), pack(key) + b"\x00")}))
"""What conflicts are compared at: keys, and what lies right behind them."""
VERSION, COMMITTED, STORED_METADATA = 50, 70, 31
SMALL: Final = FdbSettings(
    key_bytes=12,
    value_bytes=20,
    transaction_bytes=1_000,
    past_read_conflicts=True,
    future_write_conflicts=True,
)
State = dict[bytes, object]
Step = Callable[[State], None]


class Unreadable(NamedTuple):
    """The value of a key that is made of the commit version."""

    make: Callable[[int], object]


UNREADABLE = ErrorCode.ACCESSED_UNREADABLE


def done(task: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits for nothing."""
    try:
        task.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("a store that answers at once is waited for")


class Served:
    """A connection to a store that is a dict: it answers at once."""

    def __init__(self, values: State, draws: Draws) -> None:
        self.values = values
        self.settings = SMALL
        self.config = None
        self.watches = 0
        self.sent: Commit | None = None
        self.gets: dict[bytes, int] = {}
        self.asked: list[tuple[bool, bool]] = []
        self._draws = draws
        self._number = 0
        self.node = SimpleNamespace(name="library", probe=lambda _name: None)

    async def read_version(self, _check: object, *, risky: bool, cached: bool) -> ReadVersion:
        self.asked.append((risky, cached))
        return ReadVersion(VERSION, VERSION - 7)

    def metadata_version_at(self, version: int) -> int | None:
        return None if version % 2 else version - 7

    async def get(self, key: bytes, version: int, _check: object) -> object:
        assert version in (VERSION, VERSION + 1), f"read at {version}"
        self.gets[key] = self.gets.get(key, 0) + 1
        return self.values.get(key)

    async def get_range(
        self, begin: bytes, end: bytes, _version: int, limit: int, _check: object
    ) -> tuple[list[tuple[bytes, object]], bytes]:
        """Parts of it, as several storage servers give them."""
        keys = sorted(key for key in self.values if begin <= key < end)
        limit = min(limit, 1 + self._draws.below(4))
        pairs = [(key, self.values[key]) for key in keys[:limit]]
        return pairs, pairs[-1][0] + b"\x00" if len(keys) > limit else end

    def next_number(self) -> int:
        self._number += 1
        return self._number

    async def commit(self, request: Commit, _check: object) -> Committed:
        self.sent = request
        return Committed(COMMITTED, ReadVersion(COMMITTED, VERSION))


class Model:
    """A transaction as its steps: `writes` in order, and the probes that it reads and writes."""

    def __init__(self, values: State) -> None:
        self.values = values
        self.writes: list[Step] = []
        self.stamped: list[tuple[Callable[[int], Key], object]] = []
        self.reads: set[bytes] = set()
        self.written: set[bytes] = set()
        self.pasts: list[tuple[bytes, int]] = []
        self.futures: list[tuple[bytes, int]] = []
        self.bumps = False

    def state(self) -> State:
        """What the store would have if all of it were carried out now."""
        found = dict(self.values)
        for write in self.writes:
            write(found)
        return found

    def is_own(self, key: bytes) -> bool:
        """Whether a key has, by its own writes, one value whatever the store has."""
        outcomes = []
        for before in (None, 1, 1000):
            found = {**self.values, key: before}
            for write in self.writes:
                write(found)
            outcomes.append(found.get(key))
        return bool(self.writes) and outcomes[0] == outcomes[1] == outcomes[2]

    def covers(self, begin: bytes, end: bytes) -> set[bytes]:
        """The probes of a range."""
        return {probe for probe in PROBES if begin <= probe < end}


def _set(key: bytes, value: object) -> Step:
    def step(state: State) -> None:
        state[key] = value

    return step


def _clear(begin: bytes, end: bytes) -> Step:
    def step(state: State) -> None:
        for key in (*state, *PROBES):
            if begin <= key < end:
                state[key] = None

    return step


def _add(key: bytes, delta: int) -> Step:
    def step(state: State) -> None:
        before = state.get(key)
        state[key] = before + delta if isinstance(before, int) else delta

    return step


class Tried:
    """One transaction and its model, step by step."""

    def __init__(self, divergence: Divergence, draws: Draws) -> None:
        self._divergence = divergence
        self._draws = draws
        values: State = {pack(key): draws.below(9) for key in KEYS if draws.below(3)}
        values[METADATA_VERSION] = STORED_METADATA
        self._served = Served(values, draws)
        self._model = Model(values)
        self._options = TxOptions(
            causal_read_risky=not draws.below(4),
            cached_read_version=not draws.below(4),
            causal_write_risky=not draws.below(4),
        )
        self._tx = Transaction(self._served, self._options)  # type: ignore[arg-type]  # stands in
        self._by_hand = draws.below(6)
        if self._by_hand < 2:
            self._tx.set_read_version(VERSION + self._by_hand)

    def take(self) -> None:
        """Take some steps, then commit."""
        steps = (self._read, self._read, self._scan, self._scan, self._write, self._write)
        others = (self._write_range, self._write_range, self._conflict, self._metadata)
        for _ in range(self._draws.below(STEPS)):
            self._draws.pick((*steps, *others))()
        self._commit()

    def _same(self, what: str, got: object, expected: object) -> None:
        self._divergence.compare(what, got, expected)

    def _given(self, task: Coroutine[Any, Any, Any]) -> Any:
        try:
            return done(task)
        except FdbError as error:
            return error.code

    # --- reads ------------------------------------------------------------------------------------

    def _read(self) -> None:
        key, snapshot = self._draws.pick(KEYS), not self._draws.below(3)
        packed, model = pack(key), self._model
        value = model.state().get(packed)
        got = self._given(self._tx.get(key, snapshot=snapshot))
        if isinstance(value, Unreadable):
            self._same(f"the value of {key}", got, UNREADABLE)
            return
        self._same(f"the value of {key}", got, value)
        if not snapshot and not model.is_own(packed):
            model.reads |= model.covers(packed, packed + b"\x00")

    def _scan(self) -> None:
        draws, model = self._draws, self._model
        ends = sorted((draws.pick(BOUNDS), draws.pick(BOUNDS)), key=pack)
        limit = draws.pick((None, None, None, 0, 1, 2, 3))
        snapshot = not draws.below(3)
        first, last = (pack(one) for one in ends)
        state = sorted(model.state().items())
        found = [(key, value) for key, value in state if first <= key < last and value is not None]
        wanted = found if limit is None else found[:limit]
        got = self._given(self._tx.get_range(*ends, snapshot=snapshot, limit=limit))
        if isinstance(got, ErrorCode):  # how far it looks ahead is its own affair
            unreadable = any(isinstance(value, Unreadable) for _, value in found)
            self._same(f"whether {ends} can be read", (got, unreadable), (UNREADABLE, True))
            return
        self._same(f"{ends}, up to {limit},", got, [(unpack(key), one) for key, one in wanted])
        full = limit is not None and len(wanted) == limit
        if not snapshot:
            end = last if not full else wanted[-1][0] + b"\x00" if wanted else first
            model.reads |= model.covers(first, end)

    def _metadata(self) -> None:
        draws, model = self._draws, self._model
        if not draws.below(3):
            self._tx.bump_metadata_version()
            model.bumps = True
            return
        snapshot = bool(draws.below(2))
        got = self._given(self._tx.metadata_version(snapshot=snapshot))
        stored = STORED_METADATA if self._by_hand == 1 else VERSION - 7
        self._same("the metadata version", got, None if model.bumps else stored)
        if not snapshot and not model.bumps:
            model.reads.add(METADATA_VERSION)

    # --- writes -----------------------------------------------------------------------------------

    def _write(self) -> None:
        draws, model, tx = self._draws, self._model, self._tx
        key, number = draws.pick(KEYS), draws.below(9)
        packed, what = pack(key), draws.below(12)
        before = model.state().get(packed)
        if what < 3:
            tx.set(key, number)
            model.writes.append(_set(packed, number))
        elif what < 5:
            tx.clear(key)
            model.writes.append(_set(packed, None))
        elif what < 9 and not isinstance(before, Unreadable):
            tx.add(key, number)
            model.writes.append(_add(packed, number))
        elif what < 11:
            make = draws.pick((lambda version: version, lambda version: (version, "x")))
            tx.set_versionstamped_value(key, make)
            model.writes.append(_set(packed, Unreadable(make)))
        else:
            tx.set_versionstamped_key(lambda version: ("a", version), number)
            model.stamped.append((lambda version: ("a", version), number))
            return
        model.written |= model.covers(packed, packed + b"\x00")

    def _write_range(self) -> None:
        model = self._model
        begin, end = self._draws.pick(BOUNDS), self._draws.pick(BOUNDS)
        first, last = pack(begin), pack(end)
        self._tx.clear_range(begin, end)
        if first < last:
            model.writes.append(_clear(first, last))
            model.written |= model.covers(first, last)

    def _conflict(self) -> None:
        draws, model, tx = self._draws, self._model, self._tx
        key, what = draws.pick(KEYS), draws.below(5)
        packed = pack(key)
        if what == 0:
            tx.add_read_conflict_key(key)
            model.reads |= model.covers(packed, packed + b"\x00")
        elif what == 1:
            tx.add_write_conflict_key(key)
            model.written |= model.covers(packed, packed + b"\x00")
        elif what == 2:
            tx.add_read_conflict_range(key, ("e",))
            model.reads |= model.covers(packed, pack(("e",)))
        elif what == 3:
            tx.add_read_conflict_key(key, since=3)
            model.pasts.append((packed, 3))
        else:
            tx.add_write_conflict_key(key, at=90)
            model.futures.append((packed, 90))

    # --- the end ----------------------------------------------------------------------------------

    def _commit(self) -> None:
        model, served = self._model, self._served
        before = len(served.asked)
        got = self._given(self._tx.commit())
        sent = served.sent
        self._same("how often a key is read", max([*served.gets.values(), 1]), 1)
        writes = bool(
            model.writes or model.stamped or model.written or model.bumps or model.futures
        )
        version = VERSION + (self._by_hand == 1)
        self._same("the version of the commit", got, COMMITTED if writes else version)
        self._same("whether a commit is sent", sent is not None, writes)
        self._compare_asked(before)
        if sent is not None:
            self._compare_sent(sent, version)

    def _compare_asked(self, before: int) -> None:
        """The read version is asked for once, with the options of the transaction.

        Without a read before the commit nothing could tell whether it is of the past.
        """
        asked, options = self._served.asked, self._options
        due = 0 if self._by_hand < 2 else 1
        self._same("how often the read version is asked for", len(asked), due)
        blind = not before and not self._model.reads
        for each in asked:
            expected = options.causal_read_risky or blind, options.cached_read_version
            self._same("how the read version is asked for", each, expected)

    def _compare_sent(self, sent: Commit, version: int) -> None:
        model = self._model
        self._same("the read version sent", sent.read_version, version)
        self._same("the conflicts sent", _probes(sent.reads) - {b""}, model.reads | _own(sent))
        written = model.written | ({METADATA_VERSION} if model.bumps else set())
        self._same("the writes sent", _probes(sent.writes), written | _own(sent))
        if any(isinstance(one, tuple) and one[0] >= one[1] for one in sent.reads + sent.writes):
            self._divergence.found("an empty range is sent")
        both = set(sent.reads) & set(sent.writes)
        if not both and not self._options.causal_write_risky:
            self._divergence.found("a transaction does not conflict with itself")
        got = (sent.pasts, sent.futures, sent.bump, sent.required)
        expected = (tuple(model.pasts), tuple(model.futures), model.bumps, ())
        self._same("what else is sent", got, expected)
        state, stamps = _carried_out(sent, self._served.values)
        due = {key: _stamped(value) for key, value in model.state().items()}
        due |= {pack(make(COMMITTED)): value for make, value in model.stamped}
        plain = [{k: v for k, v in one.items() if v is not None} for one in (state, due)]
        self._same("what the commit leaves", *plain)
        if stamps and not sent.has_stamps:
            self._divergence.found("a commit does not say that it rests on its version")


def _stamped(value: object) -> object:
    return value.make(COMMITTED) if isinstance(value, Unreadable) else value


def _own(sent: Commit) -> set[bytes]:
    """The key by which a transaction conflicts with itself, if it has one of its own."""
    return {one for one in sent.reads if isinstance(one, bytes) and one.startswith(SELF_CONFLICT)}


def _probes(ranges: tuple[Range, ...]) -> set[bytes]:
    """The probes, and keys of the system, that some of these ranges have."""
    found: set[bytes] = set()
    for one in ranges:
        begin, end = (one, one + b"\x00") if isinstance(one, bytes) else one
        found |= {probe for probe in PROBES if begin <= probe < end}
        if begin.startswith(b"\xff"):
            found.add(begin)
    return found


def _carried_out(sent: Commit, values: State) -> tuple[State, bool]:
    """What a store has once a commit is carried out, and whether that rests on its version."""
    state, stamps = dict(values), False
    for kind, key, value in sent.mutations:
        step: Step
        if kind == CLEAR:
            assert isinstance(value, bytes), f"{value!r} ends no range"
            step = _clear(key, value)
        elif kind == ADD:
            assert isinstance(value, int), f"{value!r} is added"
            step = _add(key, value)
        elif kind == SET:
            step = _set(key, value)
        elif kind == STAMPED_VALUE:
            stamps = True
            step = _set(key, value(COMMITTED))  # type: ignore[operator]  # a function
        else:
            assert kind == STAMPED_KEY, f"kind {kind}"
            assert isinstance(value, tuple), f"{value!r} makes no key"
            stamps = True
            step = _set(pack(value[0](COMMITTED)), value[1])
        step(state)
    return state, stamps


def walk_library(models: Models, seed: int) -> None:
    """Compare transactions of the library beside the run of this seed."""
    divergence, draws = models.divergence("library", CONTROLLER), Draws(seed, 4)
    for _ in range(TRANSACTIONS):
        Tried(divergence, draws).take()
