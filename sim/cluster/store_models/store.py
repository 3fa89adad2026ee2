"""The model of the key-value store: what clients see of it is one order of all transactions.

It is given what commit proxies have accepted, which generations have begun, and what clients have
read. When the run has ended it is known what was committed (`store_states`), and then holds:

* A read at a version shows what was committed up to it, whichever storage server was asked.
* The metadata version that came with a read version is that of the last committed bump before it.
* Nothing that a committed transaction has read was written between its read version, or the version
  given with a key of the past, and its commit version.
* A transaction that a client has been answered as committed has committed.
* A storage server holds what was committed up to its version, and nothing else.

And at once: a read version is not below one that was given, or answered as committed, when it was
asked for; but for those that may be older: risky ones, and cached ones, which are not below what
the same client has committed.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import NamedTuple

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.store_models.store_states import Accepted, States
from ddlsim.fdb.config import FdbConfig, Parts
from ddlsim.fdb.connection import Check, Connection
from ddlsim.fdb.controller import Controller
from ddlsim.fdb.database import Database
from ddlsim.fdb.keys import is_local, pack, unpack
from ddlsim.fdb.log import Log
from ddlsim.fdb.messages import (
    Commit,
    Committed,
    Entry,
    Failed,
    Generation,
    Lock,
    Locked,
    ReadVersion,
    Resolved,
    Stale,
    Tail,
    VersionsGranted,
)
from ddlsim.fdb.proxy import Proxy
from ddlsim.fdb.settings import MISTAKES, FdbSettings
from ddlsim.fdb.storage import Storage
from ddlsim.layer.classes import LAYER_CLASSES, LayerClasses
from ddlsim.model.ports import Node


class Batch(NamedTuple):
    """What a proxy has accepted, up to the version `last`."""

    generation: int
    last: int
    accepted: tuple[Accepted, ...]


class StoreModel:
    """The store of one run."""

    def __init__(self, divergence: Divergence) -> None:
        self.floor = 0
        self._number = 1
        self.batches: list[Batch] = []
        self.tails: list[tuple[Tail, int]] = []
        self.built_on: dict[int, tuple[int, int]] = {}
        self._divergence = divergence
        self._answered: list[tuple[str, int]] = []
        self._versions: list[tuple[str, ReadVersion]] = []
        self._reads: list[tuple[str, bytes, int, object]] = []
        self._ranges: list[tuple[str, bytes, bytes, int, tuple[tuple[bytes, object], ...]]] = []

    # --- what clients see -------------------------------------------------------------------------

    def given(self, client: str, answer: ReadVersion, floor: int, *, older: bool) -> None:
        """A read version has come; `floor`: the last one known when it was asked for.

        `older`: it may be below what other clients knew.
        """
        self._versions.append((client, answer))
        if answer.version < floor:
            what = f"{client} reads at {answer.version}, and {floor} was known before it asked"
            self._divergence.found(what)
        if not older:
            self.floor = max(self.floor, answer.version)

    def answered(self, client: str, outcome: Committed) -> None:
        """A client has the answer that its transaction has committed."""
        self._answered.append((client, outcome.version))
        self._versions.append((client, outcome.seen_at))
        if outcome.seen_at.version < outcome.version:
            what = f"{client} has committed at {outcome.version}, and {outcome.seen_at} sees it"
            self._divergence.found(what)
        self.floor = max(self.floor, outcome.seen_at.version)

    def read(self, client: str, key: bytes, version: int, value: object) -> None:
        """A client has read a key."""
        self._reads.append((client, key, version, value))

    def scanned(
        self, client: str, begin: bytes, end: bytes, version: int, pairs: list[tuple[bytes, object]]
    ) -> None:
        """A client has read all of a range."""
        self._ranges.append((client, begin, end, version, tuple(pairs)))

    # --- the end ----------------------------------------------------------------------------------

    def states(self, generation: Generation, initial: Mapping[bytes, object]) -> States:
        """What was committed; `generation` is the present one."""
        ends: dict[int, float] = {}
        number, end = generation.number, inf
        while number not in ends:
            ends[number] = end
            number, end = self.built_on.get(number, (number, end))
        accepted: list[Accepted] = []
        for batch in self.batches:
            if batch.last <= ends.get(batch.generation, 0):
                accepted += batch.accepted
        return States(initial, accepted)

    def built(self, number: int, source: Tail) -> None:
        """A generation, or an attempt at one, begins with what a log of an earlier one had."""
        earlier = next(known for tail, known in self.tails if tail is source)
        self.built_on[number] = earlier, source.end

    def chosen(self, generation: Generation, source: Tail, jump: int) -> None:
        """A generation has a number of its own, and begins so far behind the end of a log."""
        number, start = generation.number, generation.start_version
        if number <= self._number:
            self._divergence.found(f"generation {number} comes behind {self._number}")
        if start != source.end + jump or generation.ends[-1] != (number, source.end):
            self._divergence.found(f"generation {number} begins at {start}, behind {source.end}")
        self._number = number

    def compare(self, states: States) -> None:
        """Compare what clients have seen, and what has committed."""
        found = self._divergence.found
        self._compare_versions(states)
        self._compare_reads(states)
        for version in states.committed:
            conflict = states.conflict(version)
            if conflict is not None:
                read, written = conflict
                found(f"{version} has committed and read {read!r}, written at {written}")

    def _compare_versions(self, states: States) -> None:
        found = self._divergence.found
        for client, version in self._answered:
            if version not in states.committed:
                found(f"{version} was answered to {client} as committed, and is not")
        for client, given in self._versions:
            bumped = states.bumped_at(given.version)
            if given.metadata_version != bumped:
                what = f"{client} has metadata version {given.metadata_version} at {given.version}"
                found(f"{what}, and it was {bumped}")

    def _compare_reads(self, states: States) -> None:
        found = self._divergence.found
        for client, key, version, value in self._reads:
            if value != (stored := states.at(key, version)):
                found(f"{client} read {value!r} at {version} of {key!r}, which was {stored!r}")
        for client, begin, end, version, pairs in self._ranges:
            if list(pairs) != (held := states.within(begin, end, version)):
                what = f"{client} read {pairs!r} at {version} from {begin!r} to {end!r}"
                found(f"{what}, where there was {held!r}")

    def compare_storage(
        self, name: str, storage: Storage, states: States, config: FdbConfig
    ) -> None:
        """Compare what a storage server holds."""
        shards = Parts(tuple(shard.begin for shard in config.shards))
        due = {
            unpack(key): value
            for key, value in states.within(b"", b"\xff", storage.version)
            if name in config.shards[shards.of(key)].team and not is_local(key)
        }
        held = dict(storage.values())
        for key in held.keys() | due.keys():
            if held.get(key) != due.get(key):
                what = f"{name} holds {held.get(key)!r} of {key} at {storage.version}"
                self._divergence.found(f"{what}, and committed is {due.get(key)!r}")
                return


def compare_store(model: StoreModel, config: FdbConfig, processes: Mapping[str, object]) -> None:
    """Compare the store when the run has ended; `processes` are those that run."""
    controller = processes[config.controller]
    assert isinstance(controller, Controller), controller
    generation = controller.generation
    states = model.states(generation, {pack(key): value for key, value in config.initial})
    model.compare(states)
    for name in config.storages:
        storage = processes.get(name)
        known = storage.generation if isinstance(storage, Storage) else None
        if isinstance(storage, Storage) and known is not None and known == generation:
            model.compare_storage(name, storage, states, config)


def does_as_promised(settings: FdbSettings) -> bool:
    """Whether none of the store's mistakes is switched on."""
    return not any(getattr(settings, name) for name in MISTAKES)


# --- the parts that feed it -----------------------------------------------------------------------


def watched(model: StoreModel) -> LayerClasses:
    """The classes of the plane, which give a model what they do."""
    return replace(
        LAYER_CLASSES,
        database=_database(model),
        log=_log(model),
        proxy=_proxy(model),
        controller=_controller(model),
    )


def _database(model: StoreModel) -> type[Database]:
    class WatchedConnection(Connection):
        own = 0

        async def read_version(self, check: Check, *, risky: bool, cached: bool) -> ReadVersion:
            floor = 0 if risky else self.own if cached else model.floor
            answer = await super().read_version(check, risky=risky, cached=cached)
            model.given(self.node.name, answer, floor, older=risky or cached)
            return answer

        async def get_from(
            self, team: tuple[str, ...], key: bytes, version: int, check: Check
        ) -> object:
            value = await super().get_from(team, key, version, check)
            model.read(self.node.name, key, version, value)
            return value

        async def get_range(
            self, begin: bytes, end: bytes, version: int, limit: int, check: Check
        ) -> tuple[list[tuple[bytes, object]], bytes]:
            pairs, upto = await super().get_range(begin, end, version, limit, check)
            model.scanned(self.node.name, begin, upto, version, pairs)
            return pairs, upto

        async def commit(self, request: Commit, check: Check) -> Committed | Failed:
            outcome = await super().commit(request, check)
            if isinstance(outcome, Committed):
                model.answered(self.node.name, outcome)
                self.own = max(self.own, outcome.version)
            return outcome

    class WatchedDatabase(Database):
        def __init__(self, node: Node, config: FdbConfig) -> None:
            self.connection = WatchedConnection(node, config)

    return WatchedDatabase


def _proxy(model: StoreModel) -> type[Proxy]:
    class WatchedProxy(Proxy):
        def _assemble(
            self, granted: VersionsGranted, requests: list[Commit], resolved: list[Resolved]
        ) -> tuple[dict[int, Failed], Entry]:
            refused, entry = super()._assemble(granted, requests, resolved)
            assert self.generation is not None, "a batch of no generation"
            numbered = enumerate(requests, granted.first)
            accepted = tuple(one for one in numbered if one[0] not in refused)
            model.batches.append(Batch(self.generation.number, granted.last, accepted))
            return refused, entry

    return WatchedProxy


def _controller(model: StoreModel) -> type[Controller]:
    class WatchedController(Controller):
        async def _recruit(self, chosen: Generation, source: Tail) -> bool:
            model.built(chosen.number, source)
            model.chosen(chosen, source, max(self.settings.recovery_jump, 1))
            return await super()._recruit(chosen, source)

    return WatchedController


def _log(model: StoreModel) -> type[Log]:
    class WatchedLog(Log):
        def lock(self, sender: str, request: Lock) -> Locked | Stale:
            answer = super().lock(sender, request)
            if isinstance(answer, Locked):
                model.tails.append((answer.tail, answer.generation))
            return answer

    return WatchedLog
