"""The FoundationDB plane: the processes of the key-value store, and one of the layer on each node.

Roles of faults: the "meta storage leader" is the first storage server that holds the schema, the
primary of a table the first one that holds its rows.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import structs

from ddlsim.cluster.adapters import Recorder
from ddlsim.cluster.cluster import ids_of, initial_schema
from ddlsim.cluster.designs import layer_design
from ddlsim.cluster.machines import Machines
from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.exchange import Exchange
from ddlsim.cluster.models.once import once_each
from ddlsim.cluster.schedule import scheduled
from ddlsim.cluster.store_models.beside import StoreModels
from ddlsim.cluster.store_models.beside_runs import beside
from ddlsim.cluster.store_models.parts import modelled_store
from ddlsim.cluster.store_models.store import StoreModel, compare_store, does_as_promised, watched
from ddlsim.fdb import keys
from ddlsim.fdb.config import FdbConfig, Shard, plain_config
from ddlsim.fdb.log import Log
from ddlsim.fdb.processes import boot
from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.storage import Storage
from ddlsim.history.world_events import SchemaBehind
from ddlsim.kernel.host import Host
from ddlsim.layer.classes import LayerClasses
from ddlsim.layer.client import LayerClient
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.final_state import contents, unrecorded, updates_in
from ddlsim.layer.keyspace import (
    CUTOVER,
    HEAD,
    INDEXES,
    JOBS,
    OUTCOMES,
    ROWS,
    SCHEMA,
    copy_key,
    rows_of,
    version_key,
)
from ddlsim.layer.part import LayerBoot
from ddlsim.layer.process import LayerProcess
from ddlsim.model.groups import META
from ddlsim.model.hlc import HybridClock
from ddlsim.model.ops import Key
from ddlsim.model.settings import Settings
from ddlsim.nemesis.roles import VacantRoleError
from ddlsim.plan.records import Plan, StorePlan
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.transaction.client import Connection
from ddlsim.units import US_PER_MS, Micros

BOOT_VERSION: Final = 0
"""Since when the initial schema is in force: the version at which the store begins."""
SPACES: Final = (ROWS, INDEXES, JOBS, SCHEMA, OUTCOMES)
"""The spaces of keys, each a shard of its own, in the order of the keys."""
MORE_MS: Final = 1_500
"""A watch is awaited for so much longer than it takes to arm it again."""
JUDGED: Final = ((ROWS,), (INDEXES,), (OUTCOMES,))
"""The spaces that are read back when a run has ended."""


class FdbCluster(Machines):
    """The machines of one run on the FoundationDB plane, and what runs on them."""

    def __init__(
        self, plan: Plan, design: LayerDesign, classes: LayerClasses, recorder: Recorder
    ) -> None:
        super().__init__(plan, recorder)
        assert plan.store is not None, "the plan has no store"
        self._design = design
        self._models = Models(recorder.record, self.loop)
        self._models.hosts = self.hosts
        self._beside = StoreModels(self._models)
        # A mutant that replaces a part is known by what follows from it.
        self._modelled = recorder.recording and plan.models and plan.mutant is None
        self._classes = classes
        self._roles = {name: role for role, name in plan.store.processes}
        for name in self._roles:
            self._add_host(name)
            self._settings[name] = Settings(**plan.nodes[0].settings)
        recorder.record = scheduled(plan, self.network, self.hosts, recorder.record)
        self.config = store_config(plan.store, design)
        self._model: StoreModel | None = None
        if self._modelled and does_as_promised(self.config.settings):
            self._model = StoreModel(self._models.divergence("store", self.config.controller))
            self._classes = watched(self._model)
        if self._modelled:
            self._classes = modelled_store(self._classes, self._beside)
            once_each(self._models, beside(design, Settings(**plan.nodes[0].settings), plan.seed))
        self._schema = initial_schema(plan.schema_sql)
        self._table_ids = ids_of(self._schema)
        self.stores: dict[str, object] = {}
        self.layers: dict[str, LayerProcess] = {}
        self._last: int | None = None
        self._newest = 0, 0
        self._record_clocks()
        for name in (*self._roles, *(node.name for node in plan.nodes)):
            self.open_port(name, HybridClock)
            self.boot(name, restarted=False)

    def boot(self, node: str, *, restarted: bool) -> None:
        """Start the process of a machine; only the disk of an earlier incarnation is left."""
        port = self.open_port(node, HybridClock) if restarted else self.ports[node]
        role = self._roles.get(node)
        if self._modelled:
            exchange = Exchange(self.hosts[node], port, None)
            self._beside.exchanges[node] = exchange
            self._models.at_end.append(exchange.settle)
        if role is not None:
            self.stores[node] = boot(role, port, self.config, restarted, self._classes)
            return
        first = LayerBoot(self._schema, BOOT_VERSION, self.config.settings, restarted)
        database = self._classes.database(port, self.config)
        process = self._classes.process(port, self._design, database, first)
        self.layers[node] = process
        process.start()

    def client(
        self, name: str, connection: Connection, timeout_us: Micros, *, session: bool
    ) -> LayerClient:
        """A client of the layer."""
        return LayerClient(name, connection, timeout_us, session=session)

    def compare_states(self) -> None:
        """Compare what clients have seen of the store, and what storage servers hold."""
        if self._model is not None:
            running = self._running()
            stores = {name: one for name, one in self.stores.items() if name in running}
            compare_store(self._model, self.config, stores)
        for compare in self._models.at_end:
            compare()

    def may_fail(self, node: str) -> bool:
        """The controller does not fail."""
        return super().may_fail(node) and self._roles.get(node) != "controller"

    # --- roles ------------------------------------------------------------------------------------

    @property
    def leader(self) -> str:
        """The first storage server that holds the schema."""
        return self.config.team_of(HEAD)[0]

    def leader_of(self, group: str | PartitionId) -> str:
        """The first storage server of the schema, or of a table's rows."""
        return self.leader if group == META else self.holder_of(self.place_of(group))

    def holder_of(self, place: PartitionId) -> str:
        """The first storage server that holds a table's rows."""
        return self.config.team_of(rows_of(place[0])[0])[0]

    def table_id(self, name: str) -> int:
        """The id of the table that had this name when the run began."""
        if name not in self._table_ids:
            raise VacantRoleError(f"there was no table {name}")
        return self._table_ids[name]

    def place_of_commit(self, tx: str, coordinator: str) -> PartitionId | None:
        """A transaction commits in no partition here."""
        return None

    def primary_known_to(self, node: str, table_name: str, key: Key) -> str | None:
        """Clients have no way to storage servers but through a process of the layer."""
        return None

    # --- the end ----------------------------------------------------------------------------------

    def has_open_work(self) -> bool:
        """Whether a machine is down, or a process of the layer has a transaction or a statement.

        Or a storage server lacks what the logs had when these were first over, or a process may
        still learn of an update by its watch.
        """
        running = self._running()
        if len(running) < len(self.hosts) or any(
            self.layers[node.name].has_open_work for node in self.plan.nodes
        ):
            self._last = None
            return True
        if self._last is None:
            self._last = max(log.last for log in self.stores.values() if isinstance(log, Log))
        return (
            any(
                isinstance(one, Storage) and one.version < self._last
                for one in self.stores.values()
            )
            or self._awaits_watches()
        )

    def _awaits_watches(self) -> bool:
        """Whether a watch may still tell a process of the newest update."""
        behind = list(self.schemas_behind())
        if not behind:
            return False
        if self._newest[0] != behind[0].newest:
            self._newest = behind[0].newest, self.loop.now_us
        least_us = (behind[0].again_ms + MORE_MS) * US_PER_MS
        return self.loop.now_us < max(self._newest[1], self.plan.load_until_us) + least_us

    def _running(self) -> dict[str, Host]:
        return {name: host for name, host in self.hosts.items() if host.alive}

    def left_open(self) -> Iterator[tuple[str, str, str]]:
        """What is open on processes of the layer that run: (node, transaction, what it is)."""
        running = self._running()
        for name, process in self.layers.items():
            if name in running:
                for tx, what in process.left_open():
                    yield name, tx, what

    def schemas_behind(self) -> Iterator[SchemaBehind]:
        """Processes that a watch should have told of an update."""
        settings = self.config.settings
        rest_ms = max(settings.watch_poll_ms, settings.version_rest_ms)
        again_ms = settings.watch_timeout_ms + rest_ms
        newest = max(process.part.log.number for process in self.layers.values())
        for name, process in self.layers.items():
            kept = process.watched_number
            if kept is not None and kept < newest and name in self._running():
                yield SchemaBehind(self.loop.now_us, name, kept, newest, again_ms)

    def not_at_rest(self) -> Iterator[tuple[str, str, str]]:
        """What no running server of a shard has yet, though all logs do: it may be committed."""
        behind = self._behind()
        for shard in self.config.shards:
            team = [(name, shard.begin[:1]) for name in shard.team if name in self._running()]
            if team and all(one in behind for one in team):
                yield team[0][0], "the catching up", "what the logs have"

    def _behind(self) -> dict[tuple[str, keys.Key], None]:
        """The storage servers, with the space, that lack rows, entries or outcomes which all logs
        have."""
        running = self._running()
        logs = [self.stores[name] for name in self.config.logs if name in running]
        found: dict[tuple[str, keys.Key], None] = {}
        for number, shard in enumerate(self.config.shards):
            if shard.begin[:1] not in JUDGED or not logs:
                continue
            for name in shard.team:
                server = self.stores[name]
                assert isinstance(server, Storage), f"{name} is no storage server"
                if all(
                    isinstance(one, Log) and one.has_more(number, server.version) for one in logs
                ):
                    found[name, shard.begin[:1]] = None
        return found

    def read_back(self) -> None:
        """Record the rows and the entries of indexes that the storage servers hold.

        Not of a server that is behind another one of the shard: what was removed may be there.
        """
        running = self._running()
        stores = {
            name: dict(process.values())
            for name, process in self.stores.items()
            if isinstance(process, Storage) and name in running
        }
        outcomes = {key: value for held in stores.values() for key, value in held.items()}
        part = max((one.part for one in self.layers.values()), key=lambda one: one.log.number)
        now = self.loop.now_us
        part.learn(updates_in(outcomes))
        for commit in unrecorded(now, outcomes, self.recorder.is_first, part.stamp):
            self.recorder.record(commit)
        behind = self._behind()
        for name, held in stores.items():
            here = [one for one in held.items() if (name, one[0][:1]) not in behind]
            for event in contents(name, now, here, outcomes, part.log, part.stamp):
                self.recorder.record(event)


def store_config(store: StorePlan, design: LayerDesign) -> FdbConfig:
    """The processes of a plan, with the shards of the layer's keys.

    The schema lies on the last storage server alone if there are several, so that it can be cut off
    from the rest; rows, entries and the rest lie on the others in turn. A design with
    `schema_replicas` has the schema on so many, or on all that there are; one with `copy_servers`
    has its copies on so many of the last ones, but leaves to the rows as many as these have
    replicas.
    """
    names = [name for role, name in store.processes if role == "storage"]
    count = {
        role: sum(one == role for one, _ in store.processes)
        for role in ("grv", "proxy", "resolver", "log")
    }
    apart = max(min(design.copy_servers, design.copies, len(names) - store.replicas), 1)
    others = names[:-apart] or names
    shards = [Shard((), tuple(others[: store.replicas]))]
    first = 0
    for space in SPACES:
        team = [*names[-1:], *others] if space == SCHEMA else others[first:] + others[:first]
        first = (first + (space != SCHEMA)) % len(others)
        replicas = (
            max(store.replicas, design.schema_replicas) if space == SCHEMA else store.replicas
        )
        shards.append(Shard((space,), tuple(team[:replicas])))
        if space == SCHEMA and apart > 1:
            shards += copy_shards(names[-apart:], shards[-1].team, design.copies)
    plain = plain_config(
        FdbSettings(**store.settings),
        grvs=count["grv"],
        proxies=count["proxy"],
        logs=count["log"],
        storages=len(names),
        resolver_begins=((), *((space,) for space in SPACES[1 : count["resolver"]])),
    )
    return structs.replace(plain, shards=tuple(shards))


def copy_shards(servers: Sequence[str], schema: tuple[str, ...], copies: int) -> Iterator[Shard]:
    """The copies of the schema or its version in as many parts as there are servers for them, and
    what lies between, where the `schema` is."""
    for key, behind in ((copy_key, CUTOVER), (version_key, None)):
        for part, server in enumerate(servers):
            first = -(-part * copies // len(servers))
            yield Shard(key(first), (server,))
        if behind is not None:
            yield Shard(behind, schema)


def schema_servers(plan: Plan) -> tuple[str, ...]:
    """The storage servers of a plan that hold the schema and nothing else, so that what reads from
    them reads the schema; none on a plane without such servers."""
    if plan.store is None:
        return ()
    shards = store_config(plan.store, layer_design(plan)[0]).shards
    own = {name for shard in shards if shard.begin[:1] == (SCHEMA,) for name in shard.team}
    others = {name for shard in shards if shard.begin[:1] != (SCHEMA,) for name in shard.team}
    return () if others & own or not others else tuple(sorted(own))
