"""A sequential model of the store, beside random transactions with faults.

Every transaction that writes also sets a key of its own to its commit version, so that at the end
it is known of each whether it committed, also where its client was not told. The model applies the
committed ones one by one, in the order of their versions, to a dict; then each observation must be
what the model gives: reads at the read version, and, of a transaction that committed, what it read
without `snapshot` again at its commit version.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ddlsim.fdb.config import FdbConfig, plain_config
from ddlsim.fdb.database import Database
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import LAST, LOCAL, Key, pack
from ddlsim.fdb.processes import CLASSES, Classes
from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.transaction import Transaction, TxOptions
from ddlsim.kernel.channel import LinkProfile
from ddlsim.kernel.rng import Uniform
from ddlsim.kernel.rules import Block
from tests.support.fdb import FdbWorld

KEYS: tuple[Key, ...] = tuple(("k", number) for number in range(12))
COUNTER: Key = ("n",)
SCHEMA: Key = (LOCAL, "schema")
EVERYTHING: tuple[Key, Key] = (("k",), ("k", LAST))


@dataclass(slots=True)
class Seen:
    """What one transaction did and saw."""

    name: tuple[str, int]
    began_us: int
    options: TxOptions
    ended_us: int | None = None
    read_version: int | None = None
    by_hand: bool = False
    reads: list[tuple[Key, object, bool]] = field(default_factory=list)
    ranges: list[tuple[Key, Key, tuple[tuple[Key, object], ...], bool]] = field(
        default_factory=list
    )
    metadata: int | None = None
    writes: list[tuple[Any, ...]] = field(default_factory=list)
    required: object = None
    version: int | None = None
    error: ErrorCode | None = None

    @property
    def marker(self) -> Key:
        """The key that it sets to its commit version."""
        return ("tx", *self.name)


class Model:
    """The store as a dict, after each committed transaction."""

    def __init__(self, committed: list[tuple[int, Seen]]) -> None:
        self.versions = [0]
        self.states: list[dict[Key, object]] = [{}]
        self.bumps = [0]
        for version, seen in sorted(committed, key=lambda one: one[0]):
            state, bumped = dict(self.states[-1]), self.bumps[-1]
            for kind, *args in seen.writes:
                if kind == "bump":
                    bumped = version
                else:
                    write(state, version, kind, *args)
            self.versions.append(version)
            self.states.append({key: value for key, value in state.items() if value is not None})
            self.bumps.append(bumped)

    def at(self, version: int) -> dict[Key, object]:
        """All values at a version."""
        return self.states[bisect_right(self.versions, version) - 1]

    def bumped_at(self, version: int) -> int:
        """The metadata version at a version."""
        return self.bumps[bisect_right(self.versions, version) - 1]


def write(state: dict[Key, object], version: int, kind: str, *args: Any) -> None:
    """Carry out one write of a transaction on a dict."""
    if kind == "set":
        state[args[0]] = args[1]
    elif kind == "clear":
        state.pop(args[0], None)
    elif kind == "clear range":
        for key in within(state, args[0], args[1]):
            del state[key]
    elif kind == "add":
        before = state.get(args[0])
        state[args[0]] = (before if isinstance(before, int) else 0) + args[1]
    else:
        assert kind == "stamp", kind
        state[args[0]] = version


def within(state: dict[Key, object], begin: Key, end: Key) -> list[Key]:
    """The keys of a range, in order."""
    return sorted((key for key in state if in_range(key, begin, end)), key=pack)


def in_range(key: Key, begin: Key, end: Key) -> bool:
    """Whether a key lies in a range of keys."""
    return pack(begin) <= pack(key) < pack(end)


# --- the run --------------------------------------------------------------------------------------


class Oracle:
    """Random clients and faults on a cluster that the seed draws; `check` judges."""

    def __init__(
        self, seed: int, *, classes: Classes = CLASSES, faults: bool = True, ms: int = 4000
    ) -> None:
        self.random = Random(seed)
        self.config = drawn(self.random)
        self.world = FdbWorld(
            self.config, seed=seed, clients=4, latency=Uniform(0.2, 1.5), classes=classes
        )
        self.seen: list[Seen] = []
        self.ms = ms
        self.stopped = False
        for number, name in enumerate(self.world.clients):
            self.world.spawn(self._client(name, Random(f"{seed} {number}")), name)
        if faults:
            self._disturb()

    def run(self) -> "Oracle":
        """Let the load run, then heal and look at everything."""
        self.world.run(self.ms)
        self.stopped = True
        self.world.network.configure(LinkProfile(loss=0.0, duplication=0.0, reordering=0.0))
        for rule in list(self.world.network.rules):
            self.world.network.remove(rule)
        for name, host in self.world.hosts.items():
            if host.alive:
                host.resume()
            else:
                self.world.restart(name)
        self.world.run(20_000)
        return self

    # --- clients ----------------------------------------------------------------------------------

    async def _client(self, name: str, random: Random) -> None:
        database = self.world.databases[name]
        number = 0
        while not self.stopped:
            number += 1
            await self._transact(name, number, database, random)
            await self.world.hosts[name].sleep(random.randrange(1, 30_000))

    async def _transact(self, name: str, number: int, database: Database, random: Random) -> None:
        options = TxOptions(
            cached_read_version=random.random() < 0.1,
            causal_write_risky=random.random() < 0.1,
        )
        seen = Seen((name, number), self.world.loop.now_us, options)
        self.seen.append(seen)
        tx = database.transaction(options)
        try:
            await self._work(tx, seen, random)
            if not seen.writes and random.random() < 0.5:
                seen.read_version = await tx.commit()
                return
            self._stamp(tx, seen)
            seen.version = await tx.commit()
        except FdbError as error:
            seen.error = error.code
        seen.ended_us = self.world.loop.now_us

    def _stamp(self, tx: Transaction, seen: Seen) -> None:
        tx.set_versionstamped_value(seen.marker, lambda version: version)
        seen.writes.append(("stamp", seen.marker))

    async def _work(self, tx: Transaction, seen: Seen, random: Random) -> None:
        if random.random() < 0.1 and self.seen:
            known = [one.version for one in self.seen[-20:] if one.version is not None]
            if known:
                seen.by_hand = True
                tx.set_read_version(random.choice(known))
        own: dict[Key, object] = {}  # what the transaction itself must see of its writes
        for _ in range(random.randrange(1, 7)):
            await self._step(tx, seen, random, own)
            if random.random() < 0.2:
                await self.world.hosts[seen.name[0]].sleep(random.randrange(1, 20_000))

    async def _step(
        self, tx: Transaction, seen: Seen, random: Random, own: dict[Key, object]
    ) -> None:
        kind = random.choice(("get", "get", "range", "set", "set", "clear", "add", "more"))
        key, snapshot = random.choice(KEYS), random.random() < 0.3
        if kind == "get":
            value = await tx.get(key, snapshot=snapshot)
            if not any(touches(one, key) for one in seen.writes):
                seen.reads.append((key, value, snapshot))
            seen.read_version = await tx.read_version()
        elif kind == "range":
            await self._range(tx, seen, random, snapshot=snapshot)
        elif kind == "set":
            value = (seen.name, random.randrange(1000))
            tx.set(key, value)
            seen.writes.append(("set", key, value))
        elif kind == "clear":
            if random.random() < 0.5:
                tx.clear(key)
                seen.writes.append(("clear", key))
            else:
                begin = random.randrange(12)
                pair = ("k", begin), ("k", begin + random.randrange(1, 4))
                tx.clear_range(*pair)
                seen.writes.append(("clear range", *pair))
        elif kind == "add":
            tx.add(COUNTER, 1)
            seen.writes.append(("add", COUNTER, 1))
        else:
            await self._more(tx, seen, random)

    async def _range(self, tx: Transaction, seen: Seen, random: Random, *, snapshot: bool) -> None:
        if seen.writes:
            return
        begin = random.randrange(12)
        pair: tuple[Key, Key] = random.choice((EVERYTHING, (("k", begin), ("k", begin + 4))))
        limit = random.choice((None, None, 1, 3))
        found = await tx.get_range(*pair, snapshot=snapshot, limit=limit)
        seen.read_version = await tx.read_version()
        end = pair[1]
        if limit is not None and len(found) == limit:
            end = ("k", found[-1][0][1] + 1)  # type: ignore[operator]  # a number
        seen.ranges.append((pair[0], end, tuple(found), snapshot))

    async def _more(self, tx: Transaction, seen: Seen, random: Random) -> None:
        if random.random() < 0.3:
            if ("bump",) not in seen.writes:
                tx.bump_metadata_version()
                seen.writes.append(("bump",))
        elif random.random() < 0.5 and ("bump",) not in seen.writes:
            seen.metadata = await tx.metadata_version(snapshot=True)
            seen.read_version = await tx.read_version()
        elif self.config.settings.local_keys and seen.required is None:
            if not any(touches(one, SCHEMA) for one in seen.writes):
                value = await tx.local(SCHEMA)
                seen.reads.append((SCHEMA, value, True))
                seen.read_version = await tx.read_version()
                tx.require_local(SCHEMA, value)
                seen.required = (value,)
            if random.random() < 0.3:
                tx.set(SCHEMA, seen.name)
                seen.writes.append(("set", SCHEMA, seen.name))

    # --- faults -----------------------------------------------------------------------------------

    def _disturb(self) -> None:
        world, random = self.world, self.random
        if random.random() < 0.5:
            profile = LinkProfile(
                latency=None,
                loss=random.choice((0.0, 0.02)),
                duplication=random.choice((0.0, 0.02)),
                reordering=random.choice((0.0, 0.02)),
            )
            world.network.configure(profile)
        names = [name for name in world.roles if name != "controller"]
        for _ in range(random.randrange(4)):
            at_us = random.randrange(self.ms * 1000)
            length_us = random.randrange(1000, 1_500_000)
            name = random.choice(names)
            kind = random.choice((self._crash, self._crash, self._pause, self._cut))
            world.loop.call_at(at_us, kind, name, length_us)
        if len(self.config.logs) > 1 and random.random() < 0.3:
            world.loop.call_at(random.randrange(self.ms * 1000), self._part_logs)

    def _crash(self, name: str, length_us: int) -> None:
        self.world.crash(name)
        self.world.loop.call_later(length_us, self._restart, name)

    def _restart(self, name: str) -> None:
        if not self.stopped and not self.world.hosts[name].alive:
            self.world.restart(name)

    def _part_logs(self) -> None:
        """One log gets batches that the others lack, and dies: they never were committed."""
        longest, *others = self.config.logs
        for other in others:
            for proxy in self.config.proxies:
                rule = Block(proxy, other)
                self.world.network.install(rule)
                self.world.loop.call_later(600_000, rule.remove)
        self.world.loop.call_later(60_000, self._crash, longest, 900_000)

    def _pause(self, name: str, length_us: int) -> None:
        host = self.world.hosts[name]
        host.pause()
        self.world.loop.call_later(length_us, host.resume)

    def _cut(self, name: str, length_us: int) -> None:
        others = [other for other in self.world.hosts if other != name]
        several = self.random.sample(others, self.random.randrange(1, len(others) + 1))
        rules = [Block(*pair) for other in several for pair in ((name, other), (other, name))]
        for rule in rules:
            self.world.network.install(rule)
            self.world.loop.call_later(length_us, rule.remove)

    # --- the verdict ------------------------------------------------------------------------------

    def check(self) -> int:
        """Judge everything; how many transactions with writes committed."""
        stored = dict(self.world.do(self._everything(), within_ms=30_000))
        committed = list(self._committed(stored))
        model = Model(committed)
        final = model.states[-1]
        assert stored == final, difference(stored, final)
        assert len(dict(committed)) == len(committed), "two transactions have one version"
        for seen in self.seen:
            if seen.read_version is not None:
                self._check_reads(seen, model, seen.read_version, serial=False)
        for version, seen in committed:
            if seen.read_version is not None:
                assert seen.read_version < version, seen
            self._check_reads(seen, model, version - 1, serial=True)
            if seen.required is not None:
                assert (model.at(version - 1).get(SCHEMA),) == seen.required, seen
        self._check_real_time(committed)
        return len(committed)

    async def _everything(self) -> list[tuple[Key, object]]:
        tx = self.world.tx()
        while True:
            try:
                return await tx.get_range((), (LAST,))
            except FdbError as error:
                await tx.on_error(error)

    def _committed(self, stored: dict[Key, object]) -> Iterator[tuple[int, Seen]]:
        """The transactions with writes that committed, with their versions."""
        for seen in self.seen:
            version = stored.get(seen.marker)
            if seen.version is not None:
                assert version == seen.version, f"lost or moved: {version}, {seen}"
            refused = seen.error is not None and seen.error is not ErrorCode.COMMIT_UNKNOWN_RESULT
            assert not (refused and version is not None), f"refused, and committed: {seen}"
            if version is not None:
                assert isinstance(version, int)
                yield version, seen

    def _check_reads(self, seen: Seen, model: Model, version: int, *, serial: bool) -> None:
        """Compare what a transaction read with the model at a version."""
        state = model.at(version)
        for key, value, snapshot in seen.reads:
            if not (serial and snapshot):
                assert state.get(key) == value, f"{key} at {version}: {state.get(key)}; {seen}"
        for begin, end, found, snapshot in seen.ranges:
            if not (serial and snapshot):
                expected = tuple((key, state[key]) for key in within(state, begin, end))
                assert found == expected, f"at {version}: {expected}; {seen}"
        if seen.metadata is not None and not serial:
            assert seen.metadata == model.bumped_at(version), (seen, model.bumped_at(version))

    def _check_real_time(self, committed: list[tuple[int, Seen]]) -> None:
        """A read version is not below what was known to be committed before it was asked for."""
        ended = sorted(
            (seen.ended_us, version)
            for version, seen in committed
            if seen.ended_us is not None
            and (seen.version is not None or not seen.options.causal_write_risky)
        )
        highest = 0
        begun = sorted(
            (seen.began_us, seen.read_version)
            for seen in self.seen
            if seen.read_version is not None
            and not (seen.by_hand or seen.options.cached_read_version)
        )
        place = 0
        for began_us, version in begun:
            while place < len(ended) and ended[place][0] < began_us:
                highest = max(highest, ended[place][1])
                place += 1
            assert version >= highest, f"begun at {began_us} with {version}, below {highest}"


def touches(one: tuple[Any, ...], key: Key) -> bool:
    """Whether a write concerns a key."""
    kind, *args = one
    if kind == "clear range":
        return in_range(key, args[0], args[1])
    return kind != "bump" and args[0] == key


def difference(stored: dict[Key, object], expected: dict[Key, object]) -> str:
    """Where two stores differ."""
    keys = [key for key in {**stored, **expected} if stored.get(key) != expected.get(key)]
    return str([(key, stored.get(key), expected.get(key)) for key in keys])


def drawn(random: Random) -> FdbConfig:
    """A small cluster, drawn."""
    storages = random.randrange(1, 4)
    rate = random.choice((1000, 1_000_000))
    settings = FdbSettings(
        versions_per_second=rate,
        window_ms=random.choice((50, 300, 5000)),
        recovery_jump=random.choice((1, 300, 100_000_000)),
        grv_batch_us=random.choice((0, 500)),
        commit_batch_us=random.choice((0, 1000, 5000)),
        idle_commit_ms=random.choice((20, 200)),
        log_sync_us=random.choice((0, 700)),
        storage_read_us=random.choice((0, 100)),
        commit_timeout_ms=1000,
        ping_ms=50,
        ping_timeout_ms=100,
        request_ms=200,
        peek_ms=200,
        pop_ms=100,
        local_keys=random.random() < 0.5,
    )
    return plain_config(
        settings,
        grvs=random.randrange(1, 3),
        proxies=random.randrange(1, 4),
        logs=random.randrange(1, 4),
        storages=storages,
        replicas=random.randrange(1, storages + 1),
        shard_begins=random.choice((((),), ((), ("k", 4), ("k", 9)), ((), ("n",)))),
        resolver_begins=random.choice((((),), ((), ("k", 6)), ((), ("k", 3), ("l",)))),
    )
