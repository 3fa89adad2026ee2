"""Which processes there are, and which storage servers hold which keys."""

from bisect import bisect_left, bisect_right
from typing import Final

from ddlsim.fdb.keys import EMPTY, END, Key, pack
from ddlsim.fdb.settings import FdbSettings
from ddlsim.model.records import Record

CONTROLLER: Final = "controller"
"""The name of the process that does not fail."""


class Shard(Record, frozen=True):
    """The keys from `begin` to the next shard's begin, and the storage servers that hold them."""

    begin: Key
    team: tuple[str, ...]


class FdbConfig(Record, frozen=True):
    """Names of the processes by role, the shards by their begin, what each resolver begins with.

    The first shard and the first resolver begin with the empty key. `initial`: what the store holds
    at version 0. Of several sequencers one serves; the others stand by.
    """

    settings: FdbSettings = FdbSettings()
    controller: str = CONTROLLER
    sequencers: tuple[str, ...] = ("sequencer",)
    grvs: tuple[str, ...] = ("grv1",)
    proxies: tuple[str, ...] = ("proxy1",)
    resolvers: tuple[str, ...] = ("resolver1",)
    resolver_begins: tuple[Key, ...] = ((),)
    logs: tuple[str, ...] = ("log1",)
    shards: tuple[Shard, ...] = (Shard((), ("storage1",)),)
    initial: tuple[tuple[Key, object], ...] = ()

    @property
    def storages(self) -> tuple[str, ...]:
        """The storage servers, in the order in which the shards name them."""
        return tuple(dict.fromkeys(name for shard in self.shards for name in shard.team))

    def team_of(self, key: Key) -> tuple[str, ...]:
        """The storage servers that hold a key."""
        place = Parts(tuple(shard.begin for shard in self.shards)).of(pack(key))
        return self.shards[place].team

    @property
    def transactional(self) -> tuple[tuple[str, str], ...]:
        """Role and name of every process whose failure leads to a recovery."""
        roles = {
            "sequencer": self.sequencers,
            "grv": self.grvs,
            "proxy": self.proxies,
            "resolver": self.resolvers,
            "log": self.logs,
        }
        return tuple((role, name) for role, names in roles.items() for name in names)

    @property
    def processes(self) -> tuple[tuple[str, str], ...]:
        """Role and name of every process, the controller first."""
        storages = tuple(("storage", name) for name in self.storages)
        return (("controller", self.controller), *self.transactional, *storages)


DEFAULTS = FdbSettings()


def plain_config(
    settings: FdbSettings = DEFAULTS,
    *,
    grvs: int = 1,
    proxies: int = 1,
    logs: int = 1,
    storages: int = 1,
    replicas: int = 1,
    shard_begins: tuple[Key, ...] = ((),),
    resolver_begins: tuple[Key, ...] = ((),),
    initial: tuple[tuple[Key, object], ...] = (),
) -> FdbConfig:
    """Processes by their number; shard i is held by `replicas` storage servers from the i-th on."""
    assert 1 <= replicas <= storages, f"{replicas} replicas on {storages} storage servers"
    return FdbConfig(
        settings=settings,
        grvs=_names("grv", grvs),
        proxies=_names("proxy", proxies),
        resolvers=_names("resolver", len(resolver_begins)),
        resolver_begins=resolver_begins,
        logs=_names("log", logs),
        shards=tuple(
            Shard(begin, tuple(f"storage{1 + (i + j) % storages}" for j in range(replicas)))
            for i, begin in enumerate(shard_begins)
        ),
        initial=initial,
    )


def processes_of(
    *, grvs: int, proxies: int, resolvers: int, logs: int, storages: int
) -> tuple[tuple[str, str], ...]:
    """Role and name of every process by their numbers, the controller first."""
    return plain_config(
        grvs=grvs,
        proxies=proxies,
        logs=logs,
        storages=storages,
        resolver_begins=tuple((n,) if n else () for n in range(resolvers)),
        shard_begins=tuple((n,) if n else () for n in range(storages)),
    ).processes


def _names(role: str, count: int) -> tuple[str, ...]:
    return tuple(f"{role}{1 + i}" for i in range(count))


class Parts:
    """A key space cut into parts: which of them a key or a range belongs to."""

    def __init__(self, begins: tuple[Key, ...]) -> None:
        self.begins = [pack(begin) for begin in begins]
        assert self.begins[0] == EMPTY, f"the first part begins with {begins[0]}"
        assert self.begins == sorted(set(self.begins)), f"parts out of order: {begins}"

    def __len__(self) -> int:
        return len(self.begins)

    def of(self, packed: bytes) -> int:
        """The number of the part that a key belongs to."""
        return bisect_right(self.begins, packed) - 1

    def over(self, begin: bytes, end: bytes) -> range:
        """The numbers of the parts that a range reaches into."""
        return range(self.of(begin), max(bisect_left(self.begins, end), self.of(begin) + 1))

    def clip(self, number: int, begin: bytes, end: bytes) -> tuple[bytes, bytes]:
        """What of a range lies in a part."""
        last = number + 1 == len(self.begins)
        border = END if last else self.begins[number + 1]
        return max(begin, self.begins[number]), min(end, border)
