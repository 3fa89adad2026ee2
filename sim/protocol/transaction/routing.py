"""Routes operations: to the primary of a partition under a lease, or to any of its replicas.

The first operation of a transaction on a partition fixes the primary *and* the start of its lease;
every later one goes to the same node with the same token, so that an operation never runs under
other locks than those before it.
"""

from collections.abc import Awaitable

from ddlsim.model.ports import NO_REPLY, Node, NoReplyType
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import IndexKey, PartitionId
from ddlsim.protocol.leases import Lease, Leases
from ddlsim.protocol.messages import ClientOperation, Operate, Operated
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.replica_messages import Read
from ddlsim.protocol.transaction_record import ABORTED, Enlistment, Transaction
from ddlsim.protocol.waiting import spawned
from ddlsim.units import US_PER_MS, Micros

Answered = Operated | NoReplyType | Reason
"""A primary's answer, none in time, or why there was no primary to send to."""


class Router:
    """Sends the operations of one coordinator."""

    def __init__(self, node: Node, leases: Leases, placement: Placement) -> None:
        self.node = node
        self.leases = leases
        self._placement = placement

    def ask_primary(
        self,
        tx: Transaction,
        request: ClientOperation,
        enlistment: Enlistment,
        partition: int,
        *,
        one_phase: bool = False,
        again: bool = False,
        lookups: tuple[IndexKey, ...] = (),
    ) -> Awaitable[Answered]:
        """The primary's answer, `NO_REPLY`, or the reason why there is no primary.

        `again`: resend the operation, to the node that is primary now. With `lookups` these are
        looked up in the partition instead, but by a find, whose own they are.
        """
        place = (enlistment.table.id, partition)
        tx.asks(enlistment.table.id)
        lease = None if again else tx.participants.get(place)
        if lease is None:
            lease = self.leases.valid_at(place, self.node.clock.current())
            if lease is None:
                later = self._ask_later(
                    tx,
                    request,
                    enlistment,
                    place,
                    one_phase=one_phase,
                    again=again,
                    lookups=lookups,
                )
                return spawned(self.node, later)
            tx.touched(place, lease)
        return self._ask(
            tx, request, enlistment, place, lease, one_phase=one_phase, lookups=lookups
        )

    async def _ask_later(
        self,
        tx: Transaction,
        request: ClientOperation,
        enlistment: Enlistment,
        place: PartitionId,
        *,
        one_phase: bool,
        again: bool,
        lookups: tuple[IndexKey, ...],
    ) -> Answered:
        """Wait for a primary, up to the time limit of an operation, then send.

        A transaction that was aborted meanwhile has been cleaned up: it may use nothing more.
        """
        node = self.node
        node.probe("primary-awaited")
        until_us = node.watch.now_us + node.settings.operation_timeout_us
        lease: Lease | None = None
        while lease is None:
            if node.watch.now_us >= until_us:
                return Reason.PRIMARY_MISSING
            await node.sleep(node.settings.retry_us)
            if tx.state is ABORTED:
                return tx.reason or Reason.TX_FINISHED
            lease = None if again else tx.participants.get(place)
            lease = lease or self.leases.valid_at(place, node.clock.current())
        if again or place not in tx.participants:
            tx.touched(place, lease)
        return await self._ask(
            tx, request, enlistment, place, lease, one_phase=one_phase, lookups=lookups
        )

    def _ask(
        self,
        tx: Transaction,
        request: ClientOperation,
        enlistment: Enlistment,
        place: PartitionId,
        lease: Lease,
        *,
        one_phase: bool,
        lookups: tuple[IndexKey, ...],
    ) -> Awaitable[Operated | NoReplyType]:
        node, table = self.node, enlistment.table
        assert tx.participants[place] is lease, f"{tx.id.label} runs under another lease"
        message = Operate(
            node.clock.now(),
            tx.id,
            request.op,
            "lookup" if lookups and request.action != "find" else request.action,
            table.id,
            place[1],
            enlistment.version if not enlistment.views else table.version,
            request.key,
            None if lookups else request.row,
            enlistment.views,
            lease.start_ts,
            tx.commit_place or place,
            one_phase,
            request.sets,
            request.strict,
            lookups,
        )
        timeout_us = node.settings.operation_timeout_us
        return node.request(lease.holder, message, timeout_us, request.label + place[1])

    async def ask_replica(
        self,
        tx: Transaction,
        request: ClientOperation,
        enlistment: Enlistment,
        partition: int,
        lookups: tuple[IndexKey, ...] = (),
    ) -> Operated | NoReplyType:
        """The answer of any replica: each attempt asks another one."""
        node, table = self.node, enlistment.table
        assert tx.read_ts is not None, f"{tx.id.label} is not read-only"
        replicas = self._placement.replicas_of((table.id, partition))
        first = node.spread("replica", Micros(len(replicas)))
        until_us = node.watch.now_us + node.settings.operation_timeout_us
        tried = 0
        while node.watch.now_us < until_us:
            message = Read(
                node.clock.now(),
                tx.id,
                request.op,
                request.action,
                table.id,
                partition,
                table.version,
                request.key,
                tx.read_ts,
                lookups,
            )
            to = replicas[(first + tried) % len(replicas)]
            tried += 1
            wait_us = Micros(node.settings.read_resend_ms * US_PER_MS)
            answer = await node.request(to, message, wait_us, request.label + partition)
            if isinstance(answer, Operated):
                return answer
            node.probe("read-at-another-replica")
            await node.sleep(node.settings.retry_us)
        return NO_REPLY
