"""The second stage of a rename with an alias: the old name ends [110.later.3].

The meta storage's leader removes an alias by an update of its own, sent as soon as that cannot be
active before Tu1 + A, where Tu1 is the activation of the rename and A the alias's window. The
update is a compare-and-set like any other and is built again if a statement came before it; so the
alias ends at Tu1 + A, or as much later as the log is late, and never before.

Why not one update with two activations: catalog versions are whole and build upon each other. The
second would be a version whose activation lies far ahead, and a statement that comes meanwhile is
built upon it: either it has to wait until A is over, or its own activation, which is earlier, would
take the alias along (IGNITE-20498).

Every node that has applied the rename waits for the end, and the node that leads then submits the
update: whether it is still due follows from the catalog, so a crash of a leader, a coordinator or a
client loses nothing.
"""

from ddlsim.model.ports import Node
from ddlsim.model.schema import Alias
from ddlsim.protocol.messages import CatalogUpdate
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl_answers import dropped
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import Timestamp, plus_ms


class AliasEnds:
    """Ends, on the node that leads the meta storage, the aliases of this node's catalog."""

    def __init__(
        self, node: Node, strategy: Strategy, catalog: Catalog, metastorage: MetaStorage
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.catalog = catalog
        self.metastorage = metastorage
        self.under_way: dict[int, None] = {}

    @property
    def has_open_work(self) -> bool:
        """Whether an alias is still to be ended."""
        return bool(self.under_way)

    def watch(self, applied: AppliedUpdate) -> None:
        """Handle an update that this node has applied: the aliases it creates will be ended."""
        for change in applied.update.objects:
            if isinstance(change.definition, Alias):
                self.under_way[change.object_id] = None
                self.node.spawn(self._end(change.definition, applied.activation_ts))

    def due_ts(self, alias: Alias, activation_ts: Timestamp) -> Timestamp:
        """Tu1 + A: the alias ends then at the earliest."""
        return plus_ms(activation_ts, alias.window_ms)

    async def _end(self, alias: Alias, activation_ts: Timestamp) -> None:
        """Wait until the end is due; then remove the alias, or wait for the leader to do so."""
        node, catalog = self.node, self.catalog
        due_ts = self.due_ts(alias, activation_ts)
        assert due_ts >= activation_ts, f"{alias.name} is to end before it begins"
        tries = 0
        while True:
            ahead = self._active_at(due_ts) - due_ts
            await node.clock_passes(Timestamp(due_ts - ahead))
            snapshot = catalog.latest()
            if snapshot.by_id(alias.id) is None:
                self.under_way.pop(alias.id, None)
                return
            if not self.metastorage.group.is_leader:
                await node.sleep(node.settings.resend_us)
            elif self._active_at(node.clock.current()) >= due_ts:  # DD may have changed meanwhile
                command_id = f"end of alias {alias.id}/{node.name}.{tries}"
                delay_ms = node.settings.delay_duration_ms
                update = CatalogUpdate(command_id, snapshot.version, delay_ms, (dropped(alias),))
                tries += 1
                reply = await self.metastorage.submit(update)
                await self.metastorage.catalog_reaches(reply.catalog_version)
                if reply.accepted:
                    node.probe("alias-ended")

    def _active_at(self, message_ts: Timestamp) -> Timestamp:
        """When an update that is stamped so is active."""
        return self.strategy.activation_ts(message_ts, self.node.settings.delay_duration_ms)
