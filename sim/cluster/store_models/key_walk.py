"""Keys beside a run: their bytes have their order, come back as they were, and lie in one part.

The keys of a run are few and much alike. So beside each run tuples of every type are packed: those
at which a length, a sign or a border turns, and what the run's seed makes of them.
"""

from functools import cmp_to_key
from itertools import pairwise
from typing import Final

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.fdb.config import CONTROLLER, FdbConfig, Parts, Shard, processes_of
from ddlsim.fdb.keys import (
    EMPTY,
    END,
    LAST,
    LOCAL,
    Atom,
    Key,
    Last,
    after,
    is_local,
    pack,
    prefix_range,
    reaches_local,
    unpack,
)

BYTES: Final[tuple[bytes, ...]] = (b"", b"\x00", b"\x00\xff", b"a", b"a\x00", b"a\x00b", b"\xff")
TEXTS: Final[tuple[str, ...]] = (
    "",
    "\x00",
    "a",
    "a\x00",
    "a\x00\x00b",
    "aa",
    "b",
    "é",
    "\U0001f600",
)
WHOLE: Final[tuple[int, ...]] = tuple(
    sign * number + by
    for number in (0, 1, 1 << 8, 1 << 16, 1 << 32, 1 << 63, 1 << 64, 1 << 80, 1 << 2100)
    for by in (-1, 0, 1)
    for sign in (-1, 1)
)
REAL: Final[tuple[float, ...]] = (
    float("-inf"), -1e300, -1.5, -1.0, -1e-300, 0.0, 1e-300, 0.5, 1.0, 1.5, 1e300, float("inf")
)  # fmt: skip
ATOMS: Final[tuple[Atom, ...]] = (None, *BYTES, *TEXTS, *WHOLE, *REAL, False, True)
RANKS: Final[dict[type, int]] = {
    type(None): 0,
    bytes: 1,
    str: 2,
    int: 3,
    float: 4,
    bool: 5,
    Last: 6,
}
"""The order of the types, `LAST` behind all."""
CONTROLS: Final = ("controller", "controller")
TUPLES: Final = 24
"""How many tuples are compared beside a run."""


def _compared(one: Key, other: Key) -> int:
    """Below 0 if a key comes before another one, element by element."""
    for mine, its in zip(one, other, strict=False):
        ranks = RANKS[type(mine)], RANKS[type(its)]
        if ranks[0] != ranks[1]:
            return ranks[0] - ranks[1]
        if mine != its:
            return -1 if mine < its else 1  # type: ignore[operator]  # of one type
    return len(one) - len(other)


def _types(key: Key) -> list[type]:
    return [type(one) for one in key]


class KeyWalk:
    """Keys of every kind, and what must come of them."""

    def __init__(self, divergence: Divergence, draws: Draws) -> None:
        self._divergence = divergence
        self._draws = draws
        drawn = [tuple(self._atom() for _ in range(draws.below(4))) for _ in range(TUPLES)]
        local = [(LOCAL, "head"), (LOCAL,), ("\x00locals",), ("\x00loca",)]
        self.keys: list[Key] = [*((one,) for one in ATOMS), *drawn, *local]

    def _atom(self) -> Atom:
        draws = self._draws
        kinds: tuple[tuple[Atom, ...], ...] = (BYTES, TEXTS, WHOLE, REAL, (None, False, True))
        return draws.pick(draws.pick(kinds))

    def compare(self) -> None:
        """Their bytes."""
        by_order = sorted(self.keys, key=cmp_to_key(_compared))
        by_bytes = sorted(by_order, key=pack)
        self._same("the order of keys", [*map(_shown, by_bytes)], [*map(_shown, by_order)])
        for key in self.keys:
            back = unpack(pack(key))
            self._same("a key", (back, _types(back)), (key, _types(key)))
        self._compare_ranges()
        self._compare_parts()

    def _same(self, what: str, got: object, expected: object) -> None:
        self._divergence.compare(what, got, expected)

    def _compare_ranges(self) -> None:
        """A prefix's range has the longer keys; the end of a key's range has that key alone."""
        each = [(key, pack(key), _types(key)) for key in self.keys]
        for prefix in self.keys[-TUPLES:]:
            begin, end = (pack(one) for one in prefix_range(prefix))
            single, size, types = (pack(prefix), after(pack(prefix))), len(prefix), _types(prefix)
            for key, packed, own_types in each:
                longer = len(key) > size and key[:size] == prefix and own_types[:size] == types
                if (begin <= packed < end) is not longer:
                    self._divergence.found(f"{key} under {prefix} should be {longer}")
                alike = _compared(key, prefix) == 0
                if (single[0] <= packed < single[1]) is not alike:
                    self._divergence.found(f"{key} as {prefix} should be {alike}")
        for key, packed, _ in each:
            self._same(f"{key} as local", is_local(packed), key[:1] == (LOCAL,))
        self._compare_reach(sorted(packed for _, packed, _ in each))

    def _compare_reach(self, packed: list[bytes]) -> None:
        """Which ranges reach the local keys."""
        packed += [pack((LOCAL, LAST)), END]
        drawn = [(self._draws.pick(packed), self._draws.pick(packed)) for _ in packed]
        for begin, end in [*drawn, (packed[-2], packed[-1])]:
            if begin < end:
                reached = end > pack((LOCAL,)) and begin < pack((LOCAL, LAST))
                self._same(f"{begin!r} to {end!r}", reaches_local(begin, end), reached)

    def _compare_parts(self) -> None:
        """Each key lies in one part, and the parts of a range are all of it."""
        draws = self._draws
        begins = sorted({pack(draws.pick(self.keys)) for _ in range(draws.below(4))} - {EMPTY})
        parts = Parts(((), *map(unpack, begins)))
        borders = [EMPTY, *begins, END]
        spans = list(pairwise(borders))
        self._same("the number of parts", len(parts), len(spans))
        packed = [pack(key) for key in self.keys] + begins
        for key in packed:
            inside = [number for number, (low, high) in enumerate(spans) if low <= key < high]
            self._same(f"the part of {key!r}", [parts.of(key)], inside)
        for begin, end in ((draws.pick(packed), draws.pick(packed)) for _ in range(TUPLES)):
            if begin < end:
                got = [parts.clip(number, begin, end) for number in parts.over(begin, end)]
                cut = [(max(low, begin), min(high, end)) for low, high in spans]
                rest = [one for one in cut if one[0] < one[1]]
                self._same(f"the parts from {begin!r} to {end!r}", got, rest)
        shards = tuple(
            Shard(key, (f"s{place}",)) for place, key in enumerate([(), *map(unpack, begins)])
        )
        config = FdbConfig(shards=shards)
        for one in self.keys[-TUPLES:]:
            team = config.team_of(one)
            self._same(f"the team of {one}", team, (f"s{parts.of(pack(one))}",))

    def compare_processes(self) -> None:
        """Every process has a name and a role, and each storage server comes once."""
        shards = (Shard((), ("s1", "s2")), Shard(("m",), ("s2", "s3")))
        config = FdbConfig(grvs=("g1", "g2"), proxies=("p1",), logs=("l1", "l2"), shards=shards)
        storages = [("storage", name) for name in ("s1", "s2", "s3")]
        others = [("sequencer", "sequencer"), ("grv", "g1"), ("grv", "g2"), ("proxy", "p1")]
        others += [("resolver", "resolver1"), ("log", "l1"), ("log", "l2")]
        self._same("the processes", list(config.processes), [CONTROLS, *others, *storages])
        named = [
            name for _, name in processes_of(grvs=2, proxies=1, resolvers=1, logs=1, storages=1)
        ]
        due = ["controller", "sequencer", "grv1", "grv2", "proxy1", "resolver1", "log1", "storage1"]
        self._same("the names of processes", named, due)


def _shown(key: Key) -> str:
    return repr(key)


def walk_keys(models: Models, seed: int) -> None:
    """Compare keys beside the run of this seed."""
    walk = KeyWalk(models.divergence("keys", CONTROLLER), Draws(seed, 3))
    walk.compare()
    walk.compare_processes()
