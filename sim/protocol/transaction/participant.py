"""Ends transactions at the nodes that took part, and recovers those without a coordinator.

The commit partition's replicated state is the commit point: the first outcome that is stored there
stays, and every later request is answered with it. Its primary sends the outcome to the
participants until each has confirmed; a new primary goes on where the last one stopped.

A node where a transaction's locks or intents block others for long probes its coordinator. If that
does not answer, or has no such transaction, the commit partition stores an abort unless an outcome
is stored. Recovery only ever aborts: a coordinator that still wanted to commit gets that answer.

At the commit partition                           At each participant

    open                                              locks, intents
      | FinishTx of the coordinator or of recovery      | CleanUp, in the partition's own log
    outcome stored, `uncleaned`  ---- Cleanup --->    ended, then the locks are released
      | every participant has confirmed
    outcome stored

* `outcomes`, `uncleaned`, `ended` are the partition's, changed by its log alone. Two outcomes, and
  one participant commits what another one drops.
* `_active` is this class's: `record_activity` and `is_new` at each operation, `release` at the end.
  Without the operations in it a copy of a write would undo a later one.
* `_probed`: one task at a time looks for the outcome of a transaction.
* Locks are released once the clean-up is applied and not before: a reader would else find neither
  the intent's lock nor the committed row.
* `resume`: without it, participants that the last primary had not reached keep their locks until
  a probe.
"""

from dataclasses import dataclass, field

from ddlsim.model.ports import Future, Node, NoReplyType
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import Cleaned as CleanedCommand
from ddlsim.protocol.commands import CleanUp, FinishTx, Outcome
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import Cleaned, Cleanup, Finish, Finished, NotPrimary
from ddlsim.protocol.partition.replica_manager import LocalReplica, ReplicaManager, Submission
from ddlsim.protocol.replica_messages import Fate, RecoverTx, TxStateRequest
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.waiting import resend_delay, spawned
from ddlsim.units import US_PER_MS, Micros, Timestamp

PROBES = 40
"""How often a coordinator is probed whose transaction is about to end, before giving up."""


@dataclass(slots=True)
class Active:
    """A transaction with activity in partitions of this node, the last at `seen_us`.

    `ops` are its writes, each with the start of the lease that it was executed under; `reads` are
    its reads, in the same way; `refused` are the writes that were refused, each with the start of
    that lease and the first reason. `lost` are the partitions whose logs have refused a write that
    was executed, with the start of its lease.
    """

    commit_place: PartitionId
    seen_us: int = 0
    places: dict[PartitionId, None] = field(default_factory=dict)
    ops: dict[str, Timestamp] = field(default_factory=dict)
    reads: dict[str, Timestamp] = field(default_factory=dict)
    refused: dict[str, tuple[Timestamp, Reason]] = field(default_factory=dict)
    lost: dict[PartitionId, Timestamp] = field(default_factory=dict)


class Participant:
    """Commits, aborts and recovers transactions at one node that takes part in them."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        locks: LockTable,
        replicas: ReplicaManager,
        leases: Leases,
        nodes: tuple[str, ...],
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.locks = locks
        self.replicas = replicas
        self.leases = leases
        self._nodes = nodes
        self._active: dict[TxId, Active] = {}
        self._probed: dict[TxId, None] = {}
        self._cleaning: dict[tuple[TxId, PartitionId], Future[None]] = {}
        node.on(Finish, self.finish)
        node.on(Cleanup, self.clean_up)
        node.on(RecoverTx, self.recover)

    # --- active transactions ----------------------------------------------------------------------

    def record_activity(self, tx: TxId, commit_place: PartitionId, place: PartitionId) -> None:
        """Record activity of `tx` in a partition of this node; resets its idle time."""
        active = self._active.get(tx)
        if active is None:
            active = self._active[tx] = Active(commit_place)
        active.seen_us = self.node.watch.now_us
        active.places[place] = None

    def is_active(self, tx: TxId) -> bool:
        """Whether a transaction has not ended on this node."""
        return tx in self._active

    def is_new(self, tx: TxId, op: str, lease_start: Timestamp) -> bool:
        """Whether a write was not executed under this lease: a copy must not undo a later one.

        What was executed under an earlier lease lost its locks with it, and is executed again.
        """
        active = self._active.get(tx)
        if active is None:
            return True
        if active.ops.get(op) == lease_start:
            return False
        active.ops[op] = lease_start
        return True

    def executes(self, tx: TxId, op: str, lease_start: Timestamp) -> bool:
        """Whether a write was executed under this lease, and not refused then."""
        active = self._active.get(tx)
        if active is None or active.ops.get(op) != lease_start:
            return False
        return self.refusal_of(tx, op, lease_start) is None

    def record_read(self, tx: TxId, op: str, lease_start: Timestamp) -> None:
        """Record that a read is executed under this lease."""
        active = self._active.get(tx)
        if active is not None:
            active.reads[op] = lease_start

    def has_run(self, tx: TxId, op: str, lease_start: Timestamp) -> bool:
        """Whether a message of an operation was executed under this lease, if another is refused.

        The answer to the first one may be lost, or come later than the refusal of its copy.
        """
        active = self._active.get(tx)
        return active is not None and lease_start in (active.ops.get(op), active.reads.get(op))

    def record_refusal(
        self, tx: TxId, place: PartitionId, op: str, lease_start: Timestamp, reason: Reason
    ) -> None:
        """Record that a write was refused: every copy of it is refused as well.

        Its transaction is active here until it has been cleaned up. Its commit partition is the one
        that it writes to.
        """
        self.record_activity(tx, place, place)
        if self.refusal_of(tx, op, lease_start) is None:
            self._active[tx].refused[op] = (lease_start, reason)

    def refusal_of(self, tx: TxId, op: str, lease_start: Timestamp) -> Reason | None:
        """Why a write was first refused under this lease; None if it was not."""
        active = self._active.get(tx)
        refused = None if active is None else active.refused.get(op)
        return None if refused is None or refused[0] != lease_start else refused[1]

    def record_loss(self, tx: TxId, place: PartitionId, lease_start: Timestamp) -> None:
        """Record that a partition's log has refused a write that was executed under this lease."""
        active = self._active.get(tx)
        if active is not None:
            active.lost[place] = lease_start

    def has_lost(self, tx: TxId, place: PartitionId, lease_start: Timestamp) -> bool:
        """Whether a partition's log has refused a write of a transaction under this lease."""
        active = self._active.get(tx)
        return active is not None and active.lost.get(place) == lease_start

    # --- the commit point -------------------------------------------------------------------------

    async def finish(self, _sender: str, request: Finish) -> Finished | NotPrimary:
        """Store the outcome, the commit point; clean up here and, in the background, elsewhere.

        A finish that is sent again finds the outcome stored and changes nothing.
        """
        node = self.node
        node.clock.update(request.sent_ts)
        local = self.replicas.at(request.place)
        if local is None or not self.leases.held(request.place):
            return NotPrimary(node.clock.now())
        known = local.machine.outcomes.get(request.tx)
        if known is not None:
            return self._finished(known)
        if request.validate:
            return await self._validate_and_finish(request, local)
        command = FinishTx(request.tx, request.commit_ts, request.participants, request.tables)
        return await self._store(local, command)

    async def _validate_and_finish(self, request: Finish, local: LocalReplica) -> Finished:
        """Judge the schema here, where the outcome is stored (Apache Ignite 3)."""
        validate = self.strategy.validate_at_finish
        assert validate is not None, "the design does not validate at finish"
        reason, tables = await validate(self.replicas.sync, request)
        commit_ts = request.commit_ts if reason is None else None
        command = FinishTx(request.tx, commit_ts, request.participants, tables, reason=reason)
        finished = await self._store(local, command)
        return Finished(finished.sent_ts, finished.commit_ts, finished.reason, tables)

    async def _store(self, local: LocalReplica, command: FinishTx) -> Finished:
        """Run the command through the commit partition's group; the outcome that is then stored."""
        outcome = await self.replicas.run(local, command)
        assert local.place not in outcome.participants, (
            f"{command.tx.label}: {local.place} takes part"
        )
        self._send_outcome(local, command.tx, outcome)
        return self._finished(outcome)

    def _finished(self, outcome: Outcome) -> Finished:
        """The answer with an outcome; the clock, which locks are released by, is beyond commit_ts.

        It may be behind where a leader on another node committed in one phase, and this node has
        that by the log alone.
        """
        clock, commit_ts = self.node.clock, outcome.commit_ts
        sent_ts = clock.now() if commit_ts is None else clock.beyond(commit_ts)
        return Finished(sent_ts, commit_ts, outcome.reason)

    def _send_outcome(self, local: LocalReplica, tx: TxId, outcome: Outcome) -> None:
        """Clean up at every participant: on this node now, on others by messages."""
        me, commit_ts = self.node.name, outcome.commit_ts
        here: tuple[PartitionId, ...] = ()
        elsewhere: list[PartitionId] = []
        for place in outcome.participants:
            if self._holder(place) == me:
                here = (*here, place)
            else:
                elsewhere.append(place)
        cleaning = self._begin_cleaning(tx, commit_ts, here)
        if not elsewhere and not here:  # recovery names no other participant
            if cleaning:
                self.node.spawn(self._end_cleaning(tx, cleaning))
            return
        if cleaning or elsewhere:
            self.node.spawn(self._send_outcome_on(local, tx, commit_ts, elsewhere, cleaning))
        elif here:
            self._mark_cleaned(local, tx)

    async def _send_outcome_on(
        self,
        local: LocalReplica,
        tx: TxId,
        commit_ts: Timestamp | None,
        elsewhere: list[PartitionId],
        cleaning: list[Future[None]],
    ) -> None:
        await self._end_cleaning(tx, cleaning)
        if elsewhere:
            await self.clean_up_at(elsewhere, tx, commit_ts)
        self._mark_cleaned(local, tx)

    def _mark_cleaned(self, local: LocalReplica, tx: TxId) -> None:
        """Every participant has confirmed the outcome: no later primary sends it again."""
        if local.is_alone:  # no other node can become primary
            local.machine.cleaned(tx)
            return
        submitted = self.replicas.submit(local, CleanedCommand(tx))
        if isinstance(submitted, Submission):
            self.node.spawn(self.replicas.result_of(submitted))

    def resume(self, place: PartitionId) -> None:
        """As a new primary, go on sending outcomes that participants have not confirmed."""
        local = self.replicas.at(place)
        if local is None:
            return
        for tx in list(local.machine.uncleaned):
            self.node.probe("cleanup-resumed")
            self._send_outcome(local, tx, local.machine.outcomes[tx])

    def _holder(self, place: PartitionId) -> str:
        lease = self.leases.of(place)
        return self.replicas.placement.replicas_of(place)[0] if lease is None else lease.holder

    # --- cleaning up ------------------------------------------------------------------------------

    async def clean_up_at(
        self, places: list[PartitionId], tx: TxId, commit_ts: Timestamp | None
    ) -> None:
        """Send the outcome to the primaries of these partitions until each has confirmed it."""
        assert places, f"{tx.label} took part nowhere"
        node, left, tries = self.node, list(places), 0
        while left:
            for name, there in self._by_holder(left):
                request = Cleanup(node.clock.now(), tx, commit_ts, tuple(there))
                began = node.watch.now_us
                wait_us = resend_delay(node.settings, tries)
                reply = await node.request(name, request, wait_us)
                if isinstance(reply, Cleaned):
                    node.clock.update(reply.sent_ts)
                    left = [place for place in left if place not in there]
                    continue
                node.probe("cleanup-resent")
                if node.watch.now_us - began < wait_us:
                    await node.sleep(node.settings.resend_us)
            tries += 1

    def _by_holder(self, places: list[PartitionId]) -> list[tuple[str, list[PartitionId]]]:
        """These partitions by the node that is primary of them."""
        if len(places) == 1:
            return [(self._holder(places[0]), places)]
        holders: dict[str, list[PartitionId]] = {}
        for place in places:
            holders.setdefault(self._holder(place), []).append(place)
        return list(holders.items())

    async def clean_up(self, _sender: str, request: Cleanup) -> Cleaned:
        """Handle the outcome of a transaction, sent by its commit partition or coordinator."""
        self.node.clock.update(request.sent_ts)
        await self.clean_here(request.tx, request.commit_ts, request.places)
        return Cleaned(self.node.clock.now())

    async def clean_here(
        self, tx: TxId, commit_ts: Timestamp | None, places: tuple[PartitionId, ...]
    ) -> None:
        """Commit or drop the intents of a transaction that has ended, then release its locks."""
        await self._end_cleaning(tx, self._begin_cleaning(tx, commit_ts, places))

    def _begin_cleaning(
        self, tx: TxId, commit_ts: Timestamp | None, places: tuple[PartitionId, ...]
    ) -> list[Future[None]]:
        """Submit the clean-ups; the pending ones. Releases the locks if there are none.

        One that is under way is waited for, not submitted again: while a partition has no leader,
        requests for the same clean-up would pile up, and the next leader would log each of them.

        An abort ends the transaction in every partition here in which it was active, whichever of
        them it is known to have been in: its write may be on its way to the log of another one, and
        were the locks released before that log has its end, it would come on top of others' writes.
        """
        cleaning: list[Future[None]] = []
        active = self._active.get(tx)
        if commit_ts is None and active is not None:
            places = tuple(dict.fromkeys((*places, *active.places)))
        for place in places:
            local = self.replicas.at(place)
            if local is None or tx in local.machine.ended:
                continue
            under_way = self._cleaning.get((tx, place))
            if under_way is None:
                submitted = self.replicas.submit(local, CleanUp(tx, commit_ts))
                if not isinstance(submitted, Submission):
                    continue
                under_way = spawned(self.node, self._run_cleaning(submitted, (tx, place)))
                self._cleaning[tx, place] = under_way
            cleaning.append(under_way)
        if not cleaning:
            self.release(tx)
        return cleaning

    async def _run_cleaning(
        self, submitted: Submission[None], what: tuple[TxId, PartitionId]
    ) -> None:
        await self.replicas.result_of(submitted)
        del self._cleaning[what]

    async def _end_cleaning(self, tx: TxId, cleaning: list[Future[None]]) -> None:
        """Wait for the pending clean-ups, then release the locks."""
        for each in cleaning:
            await each
        if cleaning:
            self.release(tx)

    def release(self, tx: TxId) -> None:
        """Release every lock of the transaction: it is over on this node."""
        self._active.pop(tx, None)
        self.locks.release_all(tx)
        assert not self.locks.holds_any(tx), f"{tx.label} is over and holds locks"

    # --- transactions without a coordinator -------------------------------------------------------

    def probe_coordinator(self, tx: TxId) -> None:
        """Look for the outcome of a blocking transaction, if it was idle for `orphan_check_ms`."""
        active = self._active.get(tx)
        if active is None or tx in self._probed:
            return
        idle_us = self.node.watch.now_us - active.seen_us
        if idle_us >= self.node.settings.orphan_check_ms * US_PER_MS:
            self._probed[tx] = None
            self.node.spawn(self._resolve(tx, active.commit_place))

    def probe_idle(self) -> None:
        """Look for the outcomes of transactions that were idle for `orphan_sweep_ms`."""
        limit_us = self.node.settings.orphan_sweep_ms * US_PER_MS
        now = self.node.watch.now_us
        for tx, active in list(self._active.items()):
            if now - active.seen_us >= limit_us:
                self.probe_coordinator(tx)
        for place, local in self.replicas.members.items():
            if local.machine.intents and self.leases.held(place):
                self._adopt_intents(local)

    def _adopt_intents(self, local: LocalReplica) -> None:
        """Take over the intents that an earlier primary left, so that their ends are found."""
        assert self.leases.held(local.place), f"{local.place} has another primary"
        for intent in local.machine.intents.values():
            if intent.tx not in self._active:
                self.record_activity(intent.tx, intent.commit_place, local.place)

    async def _resolve(self, tx: TxId, commit_place: PartitionId) -> None:
        """End a transaction in every partition here in which it was active.

        Also where it holds nothing: a copy of a one-phase write that comes later would else commit.
        """
        active = self._active.get(tx)
        outcome = await self.resolved(tx, commit_place)
        assert tx in self._probed, f"two tasks look for the outcome of {tx.label}"
        del self._probed[tx]
        if outcome is None:
            return
        active = self._active.get(tx) or active
        used = () if active is None else active.places
        places = tuple(
            place
            for place, local in self.replicas.members.items()
            if place in used or tx in local.machine.open_transactions
        )
        await self.clean_here(tx, outcome.commit_ts, places)

    async def resolved(
        self, tx: TxId, commit_place: PartitionId, read_ts: Timestamp | None = None
    ) -> Outcome | None:
        """The outcome of a transaction; None while its coordinator still has it open.

        With `read_ts`, None means that it will not have committed by then.
        """
        node = self.node
        assert 0 <= tx.ordinal < len(self._nodes), f"{tx.label} has no coordinator"
        coordinator = self._nodes[tx.ordinal]
        silence_us = node.settings.orphan_answer_ms * US_PER_MS
        tries = 0
        while (
            read_ts is not None or tries < PROBES
        ):  # a reader needs the outcome, however long it takes
            tries += 1
            request = TxStateRequest(node.clock.now(), tx, read_ts)
            state = await node.request(coordinator, request, Micros(silence_us))
            if isinstance(state, NoReplyType) or state.state is Fate.UNKNOWN:
                return await self._recovered(tx, commit_place)
            node.clock.update(state.sent_ts)
            if state.state is Fate.ABORTED:
                return Outcome(None, ())
            if state.state is Fate.PENDING:
                return None
            await node.sleep(node.settings.retry_us)
        return None

    async def _recovered(self, tx: TxId, commit_place: PartitionId) -> Outcome:
        """The outcome at the commit partition, which stores an abort if it has none."""
        node, tries = self.node, 0
        while True:
            request = RecoverTx(node.clock.now(), tx, commit_place)
            holder = self._holder(commit_place)
            reply = await node.request(holder, request, resend_delay(node.settings, tries))
            tries += 1
            if not isinstance(reply, NoReplyType):
                node.clock.update(reply.sent_ts)
            if isinstance(reply, Finished):
                return Outcome(reply.commit_ts, ())
            await node.sleep(node.settings.retry_us)

    async def recover(self, _sender: str, request: RecoverTx) -> Finished | NotPrimary:
        """Store an abort unless an outcome is stored; the stored one."""
        node, tx = self.node, request.tx
        node.clock.update(request.sent_ts)
        local = self.replicas.at(request.place)
        if local is None or not self.leases.held(request.place):
            return NotPrimary(node.clock.now())
        known = local.machine.outcomes.get(tx)
        if known is not None:
            return self._finished(known)
        if tx in local.machine.ended:  # committed in one phase, or cleaned up as aborted
            return self._finished(Outcome(local.machine.ended[tx], ()))
        node.probe("coordinator-recovery")
        commit_ts = self.strategy.recovery_outcome(node.clock.now())
        command = FinishTx(tx, commit_ts, (request.place,), by_recovery=True)
        return await self._store(local, command)
