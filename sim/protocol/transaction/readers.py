"""Read-only transactions at a replica: the state at read_ts, without locks.

Any replica may answer once its partition safe time has reached read_ts: then it has applied every
command of its partition up to there. The primary does not wait for that: it moves its own clock
beyond read_ts, so that every later command is stamped later, and waits for those on their way. The
schema, too, is that at read_ts.

An intent may belong to a transaction that committed before read_ts and whose cleanup has not
arrived; its outcome is requested from its coordinator, or else from its commit partition. The
request carries read_ts, so that a transaction that is still open commits later than that.
"""

from ddlsim.model.ops import Key
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.commands import SafeTimeSync
from ddlsim.protocol.messages import Operated
from ddlsim.protocol.metastorage.schema_sync import MetadataLateError, SchemaSync
from ddlsim.protocol.partition.partition import Intent
from ddlsim.protocol.partition.replica_manager import LocalReplica, ReplicaManager, Submission
from ddlsim.protocol.replica_messages import Read
from ddlsim.protocol.schema.indexes import maintained, values_of
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.execution import NOTHING, Found
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import show


class Readers:
    """Serves the read-only reads of one node's replicas."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        sync: SchemaSync,
        replicas: ReplicaManager,
        replica: Replica,
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.sync = sync
        self.replicas = replicas
        self._replica = replica
        node.on(Read, self.read)

    async def read(self, _sender: str, request: Read) -> Operated | None:
        """Wait until the replica is complete up to read_ts, then read as of read_ts.

        Before its metadata is complete, a node may not know that it holds the replica.
        """
        node, read_ts = self.node, request.read_ts
        node.clock.update(request.sent_ts)
        label = request.tx.label
        table_id = request.table_id
        try:
            found = await self.sync.object_at(read_ts, label, request.op, "read-only", table_id)
        except MetadataLateError:
            return Operated(node.clock.now(), read_ts, Reason.METADATA_LATE)
        if not isinstance(found, Table) or found.version != request.version:
            return Operated(node.clock.now(), read_ts, Reason.SCHEMA_CHANGED)
        local = self.replicas.at((request.table_id, request.partition))
        if local is None:
            return Operated(node.clock.now(), read_ts, Reason.PRIMARY_MISSING)
        await self._complete(local, request)
        node.probe("read-only-read")
        keys: list[Key] = [request.key]
        if request.action == "scan":
            keys = list(local.machine.rows)
            keys += [key for key in local.machine.intents if key not in local.machine.rows]
        seen: list[tuple[Key, Found]] = []
        if request.action == "find":
            seen = await self._found(local, request, found)
            keys = []
        for key in keys:
            found_here = await self._seen(local, request, key)
            if found_here is not NOTHING or request.action == "get":
                seen.append((key, found_here))
        return self._replica.executor.shown(request, request.tx, read_ts, found, seen)

    async def _found(
        self, local: LocalReplica, request: Read, table: Table
    ) -> list[tuple[Key, Found]]:
        """The rows that an index had at read_ts under the values of a query.

        Rows with intents count by what these came to. Where the index is erased by now, every row
        is read instead.
        """
        (wanted,) = request.lookups
        index = next(one for one in maintained(table) if one.id == wanted.index_id)
        machine, entries = local.machine, self._replica.executor.entries
        by_row = {key: await self._seen(local, request, key) for key in list(machine.intents)}
        is_erased = wanted.index_id in machine.index.erased
        if is_erased:
            for key in [one for one in machine.rows if one not in by_row]:
                by_row[key] = await self._seen(local, request, key)
        seen: list[tuple[Key, Found]] = []
        for key, found in by_row.items():
            row = entries.shown(table, found[1:])
            if row is not None and values_of(index, table, row) == wanted.values:
                seen.append((key, found))
        if is_erased:
            return seen
        keys = machine.index.find(wanted.index_id, wanted.values, request.read_ts)
        others = [key for key in keys if key not in by_row]
        seen += [(key, await self._seen(local, request, key)) for key in others]
        entries.record_found(request, table, request.read_ts, seen)
        return seen

    async def _complete(self, local: LocalReplica, request: Read) -> None:
        """Wait until this replica has applied everything of its partition up to read_ts.

        A primary stamps nothing below read_ts once its clock is beyond it; but a one-phase write
        that is stamped and not applied may still commit at its stamp.
        """
        node, group, read_ts = self.node, local.group, request.read_ts
        if local.machine.safe_ts >= read_ts:
            return
        primary = self._replica.is_primary(local.place)
        if not primary and not group.is_alone:
            node.probe("read-only-wait")
            await self.replicas.safe_time_reaches(local, read_ts)
            assert local.machine.safe_ts >= read_ts, f"{local.place} is not at {show(read_ts)}"
            return
        node.clock.update(read_ts)
        if primary and group.is_leader and group.last_stamp <= local.machine.safe_ts:
            return  # nothing is on its way
        submitted = self.replicas.submit(local, SafeTimeSync())
        if not isinstance(submitted, Submission):
            return
        result = self.replicas.result_of(submitted)
        if group.is_alone:
            await result
        else:  # a command that is on its way may be enough
            node.spawn(result)
            await self.replicas.safe_time_reaches(local, read_ts)

    async def _seen(self, local: LocalReplica, request: Read, key: Key) -> Found:
        """The version of a row at read_ts; an intent may be one that is committed already."""
        intent: Intent | None = local.machine.intents.get(key)
        if intent is not None:
            self.node.probe("intent-resolved")
            participant = self._replica.participant
            outcome = await participant.resolved(intent.tx, intent.commit_place, request.read_ts)
            if outcome is not None and outcome.commit_ts is not None:
                newest = local.machine.as_of(key, request.read_ts)
                committed = outcome.commit_ts <= request.read_ts
                if committed and (newest is None or newest.commit_ts < outcome.commit_ts):
                    return intent.tx.label, intent.version, intent.row
        found = local.machine.as_of(key, request.read_ts)
        return NOTHING if found is None else (found.writer, found.version, found.row)
