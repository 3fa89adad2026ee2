"""How transactions end at the nodes that took part, and what becomes of those that nobody ends.

The commit partition's replicated state is the commit point: the first outcome that is stored there
stays, whoever asks for another one is told that one. From there the participants are told, until
each has confirmed; a new primary goes on with what the last one left.

A transaction whose coordinator is gone ends too. Whoever finds its locks or intents in the way for
long asks its coordinator; if that does not answer, or knows nothing of it, the commit partition
stores an abort unless an outcome is stored. Recovery only ever aborts: a coordinator that still
wanted to commit is told so.

At the commit partition                           At each participant

    open                                              locks, intents
      | FinishTx of the coordinator or of recovery      | CleanUp, in the partition's own log
    outcome stored, `uncleaned`  ---- Cleanup --->    ended, then the locks are released
      | every participant has confirmed
    outcome stored

* `outcomes`, `uncleaned`, `ended` are the partition's, changed by its log alone. Two outcomes, and
  one participant commits what another one drops.
* `_active` is this class's: `saw` and `is_new` at each operation, `release` at the end. Without the
  operations in it a copy of a write would undo a later one.
* `_suspected`: a transaction is asked for by one task at a time.
* Locks are released once the clean-up is applied and not before: a reader would else find neither
  the intent's lock nor the committed row.
* `resume`: without it, what the last primary had not told stays locked until somebody asks.
"""

from ddlsim.model.ports import Future, Node, NoReplyType
from ddlsim.protocol.commands import Cleaned as CleanedCommand
from ddlsim.protocol.commands import CleanUp, FinishTx, Outcome
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import Cleaned, Cleanup, Finish, Finished, NotPrimary
from ddlsim.protocol.partition.replica_manager import LocalReplica, ReplicaManager, Submission
from ddlsim.protocol.replica_messages import Fate, RecoverTx, TxStateRequest
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.waiting import begun, patience
from ddlsim.units import US_PER_MS, Micros, Timestamp

PATIENCE = 40
"""How often a transaction is asked for that is about to end, before the asker gives up."""


class Active:
    """A transaction that has done something here: its commit partition, when, and which writes.

    Of each write, the start of the lease that it was executed under.
    """

    __slots__ = ("commit_place", "ops", "seen_us")

    def __init__(self, commit_place: PartitionId, seen_us: int) -> None:
        self.commit_place = commit_place
        self.seen_us = seen_us
        self.ops: dict[str, Timestamp] = {}


class Participant:
    """The ends of transactions at one node."""

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
        self._suspected: dict[TxId, None] = {}
        node.on(Finish, self.finish)
        node.on(Cleanup, self.clean_up)
        node.on(RecoverTx, self.recover)

    # --- who has been here ------------------------------------------------------------------------

    def saw(self, tx: TxId, commit_place: PartitionId) -> None:
        """A transaction does something here."""
        active = self._active.get(tx)
        if active is None:
            self._active[tx] = Active(commit_place, self.node.watch.now_us)
        else:
            active.seen_us = self.node.watch.now_us

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

    def forget_op(self, tx: TxId, op: str) -> None:
        """A write was given up before it was done: another copy of it is new."""
        active = self._active.get(tx)
        if active is not None:
            active.ops.pop(op, None)

    # --- the commit point -------------------------------------------------------------------------

    async def finish(self, _sender: str, request: Finish) -> Finished | NotPrimary:
        """Store the outcome, the commit point; clean up here and, in the background, elsewhere.

        A finish that is sent again finds the outcome stored and changes nothing.
        """
        node = self.node
        node.clock.update(request.sent_ts)
        local = self.replicas.at(request.place)
        if local is None or not self._is_primary(request.place):
            return NotPrimary(node.clock.now())
        known = local.machine.outcomes.get(request.tx)
        if known is not None:
            return self._told(known)
        if request.validate:
            return await self._validate_and_finish(request, local)
        command = FinishTx(request.tx, request.commit_ts, request.participants, request.tables)
        return await self._store(local, command)

    async def _validate_and_finish(self, request: Finish, local: LocalReplica) -> Finished:
        """Judge the schema here, where the outcome is stored (Apache Ignite 3)."""
        validate = self.strategy.validate_at_finish
        assert validate is not None, "nobody asked for it"
        reason, tables = await validate(self.replicas.sync, request)
        commit_ts = request.commit_ts if reason is None else None
        command = FinishTx(request.tx, commit_ts, request.participants, tables, reason=reason)
        finished = await self._store(local, command)
        return Finished(finished.sent_ts, finished.commit_ts, finished.reason, tables)

    async def _store(self, local: LocalReplica, command: FinishTx) -> Finished:
        """Run the command through the commit partition's group; tell what is stored there then."""
        outcome = await self.replicas.run(local, command)
        assert local.place not in outcome.participants, f"{command.tx.label} ends here with it"
        self._spread(local, command.tx, outcome)
        return self._told(outcome)

    def _told(self, outcome: Outcome) -> Finished:
        return Finished(self.node.clock.now(), outcome.commit_ts, outcome.reason)

    def _is_primary(self, place: PartitionId) -> bool:
        return self.leases.held(place)

    def _spread(self, local: LocalReplica, tx: TxId, outcome: Outcome) -> None:
        """Let every participant know; what is on this node at once."""
        me, commit_ts = self.node.name, outcome.commit_ts
        here: tuple[PartitionId, ...] = ()
        elsewhere: list[PartitionId] = []
        for place in outcome.participants:
            if self._holder(place) == me:
                here = (*here, place)
            else:
                elsewhere.append(place)
        if not elsewhere and not here:
            self.release(tx)
            return
        cleaning = self._begin_cleaning(tx, commit_ts, here)
        if cleaning or elsewhere:
            self.node.spawn(self._spread_later(local, tx, commit_ts, elsewhere, cleaning))
        elif here:
            self._forget(local, tx)

    async def _spread_later(
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
        self._forget(local, tx)

    def _forget(self, local: LocalReplica, tx: TxId) -> None:
        """Everybody has heard of the end: no later primary need tell it again."""
        if local.is_alone:  # nor would anybody else ever be primary
            local.machine.uncleaned.pop(tx, None)
            return
        submitted = self.replicas.submit(local, CleanedCommand(tx))
        if isinstance(submitted, Submission):
            self.node.spawn(self.replicas.result_of(submitted))

    def resume(self, place: PartitionId) -> None:
        """A new primary goes on telling participants what became of their transactions."""
        local = self.replicas.at(place)
        if local is None:
            return
        for tx in list(local.machine.uncleaned):
            self.node.probe("cleanup-resumed")
            self._spread(local, tx, local.machine.outcomes[tx])

    def _holder(self, place: PartitionId) -> str:
        lease = self.leases.of(place)
        return self.replicas.placement.replicas_of(place)[0] if lease is None else lease.holder

    # --- cleaning up ------------------------------------------------------------------------------

    async def clean_up_at(
        self, places: list[PartitionId], tx: TxId, commit_ts: Timestamp | None
    ) -> None:
        """Tell the primaries of these partitions the outcome until each has confirmed it."""
        assert places, f"{tx.label} took part nowhere"
        node, left, tries = self.node, list(places), 0
        while left:
            for name, there in self._by_holder(left):
                request = Cleanup(node.clock.now(), tx, commit_ts, tuple(there))
                began = node.watch.now_us
                wait_us = patience(node.settings, tries)
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
        """Whom to ask about which of these partitions."""
        if len(places) == 1:
            return [(self._holder(places[0]), places)]
        holders: dict[str, list[PartitionId]] = {}
        for place in places:
            holders.setdefault(self._holder(place), []).append(place)
        return list(holders.items())

    async def clean_up(self, _sender: str, request: Cleanup) -> Cleaned:
        """Another node's word that a transaction has ended."""
        self.node.clock.update(request.sent_ts)
        await self.clean_here(request.tx, request.commit_ts, request.places)
        return Cleaned(self.node.clock.now())

    async def clean_here(
        self, tx: TxId, commit_ts: Timestamp | None, places: tuple[PartitionId, ...]
    ) -> None:
        """See to the intents of a transaction that has ended, then release its locks."""
        await self._end_cleaning(tx, self._begin_cleaning(tx, commit_ts, places))

    def _begin_cleaning(
        self, tx: TxId, commit_ts: Timestamp | None, places: tuple[PartitionId, ...]
    ) -> list[Future[None]]:
        """Submit the clean-ups, and release the locks if all are applied; what is still to come."""
        cleaning: list[Future[None]] = []
        for place in places:
            local = self.replicas.at(place)
            if local is None or tx in local.machine.ended:
                continue
            submitted = self.replicas.submit(local, CleanUp(tx, commit_ts))
            if isinstance(submitted, Submission):
                cleaning.append(begun(self.node, self.replicas.result_of(submitted)))
        if not cleaning:
            self.release(tx)
        return cleaning

    async def _end_cleaning(self, tx: TxId, cleaning: list[Future[None]]) -> None:
        """Wait for the clean-ups that are still to come, then release the locks."""
        for each in cleaning:
            await each
        if cleaning:
            self.release(tx)

    def release(self, tx: TxId) -> None:
        """The transaction is over here: its locks are free."""
        self._active.pop(tx, None)
        self.locks.release_all(tx)
        assert not self.locks.any_of(tx), f"{tx.label} is over and holds locks"

    # --- transactions without a coordinator -------------------------------------------------------

    def suspect(self, tx: TxId) -> None:
        """Somebody is in the way; if for long, ask what has become of it."""
        active = self._active.get(tx)
        if active is None or tx in self._suspected:
            return
        idle_us = self.node.watch.now_us - active.seen_us
        if idle_us >= self.node.settings.orphan_check_ms * US_PER_MS:
            self._suspected[tx] = None
            self.node.spawn(self._look_for(tx, active.commit_place))

    def look_for_orphans(self) -> None:
        """Ask for whatever has been idle here for long, in the way or not."""
        limit_us = self.node.settings.orphan_sweep_ms * US_PER_MS
        now = self.node.watch.now_us
        for tx, active in list(self._active.items()):
            if now - active.seen_us >= limit_us:
                self.suspect(tx)
        for place, local in self.replicas.members.items():
            if local.machine.intents and self._is_primary(place):
                self._adopt_intents(local)

    def _adopt_intents(self, local: LocalReplica) -> None:
        """Intents that an earlier primary left are somebody's affair: this node's."""
        assert self._is_primary(local.place), f"{local.place} has another primary"
        for intent in local.machine.intents.values():
            if intent.tx not in self._active:
                self.saw(intent.tx, intent.commit_place)

    async def _look_for(self, tx: TxId, commit_place: PartitionId) -> None:
        outcome = await self.resolved(tx, commit_place)
        assert tx in self._suspected, f"{tx.label} is looked for twice"
        del self._suspected[tx]
        if outcome is None:
            return
        places = tuple(
            place
            for place, local in self.replicas.members.items()
            if tx in local.machine.open_transactions or self.locks.holds_at(tx, place)
        )
        await self.clean_here(tx, outcome.commit_ts, places)

    async def resolved(
        self, tx: TxId, commit_place: PartitionId, read_ts: Timestamp | None = None
    ) -> Outcome | None:
        """How a transaction ended; None while its coordinator says that it has not.

        With `read_ts`, None means that it will not have committed by then.
        """
        node = self.node
        assert 0 <= tx.ordinal < len(self._nodes), f"{tx.label} has no coordinator"
        coordinator = self._nodes[tx.ordinal]
        silence_us = node.settings.orphan_answer_ms * US_PER_MS
        tries = 0
        while read_ts is not None or tries < PATIENCE:  # a reader must know, however long it takes
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
        """Have the commit partition say how the transaction ended, or end it."""
        node, tries = self.node, 0
        while True:
            request = RecoverTx(node.clock.now(), tx, commit_place)
            holder = self._holder(commit_place)
            reply = await node.request(holder, request, patience(node.settings, tries))
            tries += 1
            if isinstance(reply, Finished):
                node.clock.update(reply.sent_ts)
                return Outcome(reply.commit_ts, ())
            await node.sleep(node.settings.retry_us)

    async def recover(self, _sender: str, request: RecoverTx) -> Finished | NotPrimary:
        """Store an abort unless an outcome is stored; tell what is."""
        node, tx = self.node, request.tx
        node.clock.update(request.sent_ts)
        local = self.replicas.at(request.place)
        if local is None or not self._is_primary(request.place):
            return NotPrimary(node.clock.now())
        known = local.machine.outcomes.get(tx)
        if known is not None:
            return self._told(known)
        if tx in local.machine.ended:  # committed in one phase, or cleaned up as aborted
            return Finished(node.clock.now(), local.machine.ended[tx])
        node.probe("coordinator-recovery")
        commit_ts = self.strategy.recovery_outcome(node.clock.now())
        command = FinishTx(tx, commit_ts, (request.place,), by_recovery=True)
        return await self._store(local, command)
