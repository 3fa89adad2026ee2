"""The model of a participant: how transactions end, by messages, and by what their replicas hold.

From protocol.md, section 4:

* The commit partition answers with the outcome that its replica has stored, the first that came, or
  as a transaction has ended there without one; and it has ended there as it is answered, later than
  commit_ts by the clock: what then gets its locks is stamped behind it.
  Every participant is then sent it, until each has confirmed.
* A clean-up is sent to those that have not confirmed, at the present primary, each time waited for
  twice as long. It is confirmed once every replica here has ended the transaction as it says, and
  no lock of it is left. What wrote nothing may have ended as an abort, and has committed.
* Locks are released once no write of the transaction can come behind that: each one here is
  applied, or its partition has the end of the transaction in its log, which refuses it.
* A coordinator is requested for the state of its transactions. Where it has none, or is silent, the
  commit partition is requested to end it, and not elsewhere. What decides ends the look. What is
  about to be decided is requested again: for a reader until it is decided, else `PROBES` times.
* A new primary sends the outcomes that its predecessor had no confirmation of.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.exchange import Exchange, Sent
from ddlsim.cluster.models.transaction.under_way import Cleaning, Look
from ddlsim.cluster.models.words import when, words
from ddlsim.kernel.deadlines import Asked
from ddlsim.model.hlc import HybridClock
from ddlsim.model.ports import Future, NoReplyType
from ddlsim.protocol.commands import Outcome
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.messages import Cleaned, Cleanup, Finish, Finished, NotPrimary
from ddlsim.protocol.partition.replica_manager import LocalReplica, Submission
from ddlsim.protocol.replica_messages import (
    AreReplicated,
    Fate,
    LeaseFenced,
    RecoverTx,
    Replicated,
    TxState,
    TxStateRequest,
)
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.units import US_PER_MS, Timestamp, show

PROBES: Final = 40
"""How often a coordinator is requested for what is about to end, before that blocks for longer."""


class ModelledParticipant(Participant):
    """A participant whose clean-ups and looks for outcomes are compared; `listen` begins it."""

    models: ClassVar[Models]

    def listen(self, exchange: Exchange, leader: Callable[[], str | None]) -> None:
        """Compare the messages of this node, and what follows from them.

        `leader` leads the meta storage, as far as the node knows.
        """
        self.leader = leader
        self._waits = self.strategy.before_commit_ts.__name__ != "stamp_at_once"
        self._fenced_ts = Timestamp(-1)
        self._seen_us: dict[TxId, int] = {}
        self._exchange = exchange
        self._divergence: Divergence = self.models.divergence("participant")
        self._cleanings: dict[TxId, list[Cleaning]] = {}
        self._noted: dict[TxId, object] = {}
        self._looks: dict[TxId, list[Look]] = {}
        self._left: list[PartitionId] | None = None
        """For the look that begins: the partitions with intents of what it finds to have ended."""
        self.begun_cleaning: dict[TxId, dict[PartitionId, None]] = {}
        self._known: dict[TxId, Outcome | None] = {}
        self._written_us: dict[tuple[TxId, PartitionId], int] = {}
        for listeners, kind, heard in (
            (exchange.on_arrival, Finish, self._finish_came),
            (exchange.on_arrival, AreReplicated, self._are_replicated),
            (exchange.on_reply, Finish, self._finish_answered),
            (exchange.on_reply, Cleanup, self._cleanup_answered),
            (exchange.on_reply, RecoverTx, self._recovery_answered),
            (exchange.on_reply, TxStateRequest, self._state_answered),
            (exchange.on_request, Cleanup, self._cleanup_sent),
            (exchange.on_request, TxStateRequest, self._state_requested),
            (exchange.on_request, RecoverTx, self._recovery_sent),
            (exchange.on_answer, Cleanup, self._cleaned),
            (exchange.on_answer, TxStateRequest, self._state_came),
            (exchange.on_answer, RecoverTx, self._recovered_came),
            (exchange.on_send, Replicated, self._replicated_sent),
            (exchange.on_send, LeaseFenced, self._fenced_sent),
        ):
            listeners.setdefault(kind, []).append(heard)
        self._reported: dict[tuple[TxId, str], int] = {}
        self._executed: dict[TxId, dict[str, Timestamp]] = {}
        self.leases.watch(self._lease_began)

    def _wrong(self, what: str) -> None:
        self._divergence.found(what)

    @property
    def _longest_us(self) -> int:
        settings = self.node.settings
        return max(settings.operation_timeout_us, settings.resend_us)

    # --- writes -----------------------------------------------------------------------------------

    def is_new(self, tx: TxId, op: str, lease_start: Timestamp) -> bool:
        """A write is executed once under each lease, while its transaction is open here."""
        is_active, executed = self.is_active(tx), self._executed.setdefault(tx, {})
        expected = not is_active or executed.get(op) != lease_start
        found: bool = super().is_new(tx, op, lease_start)
        if found is not expected:
            self._wrong(f"whether {op} is new under the lease of {show(lease_start)} is {found}")
        if is_active:
            executed[op] = lease_start
        return found

    def release(self, tx: TxId) -> None:
        """Locks outlast writes, on their way to a log or applied, until the log has their end."""
        for place, local in self.replicas.members.items():
            on_its_way = any(one.tx == tx for one in local.pending.values())
            if on_its_way and tx not in local.machine.ended:
                self._wrong(f"{tx.label} has no locks, and its write to {place} is on its way")
            if local.machine.ops_of(tx) and self.locks.holds_at(tx, place):
                self._wrong(f"{tx.label} has no locks, and its intents in {place} stay")
        super().release(tx)
        self._executed.pop(tx, None)

    # --- the commit point -------------------------------------------------------------------------

    def is_stored(self, tx: TxId) -> bool:
        """Whether a replica here has stored an outcome of the transaction."""
        return any(tx in local.machine.outcomes for local in self.replicas.members.values())

    def _finish_came(self, request: Finish) -> None:
        local = self.replicas.members.get(request.place)
        self._known[request.tx] = None if local is None else local.machine.outcomes.get(request.tx)

    def _finish_answered(self, request: Finish, value: Any) -> None:
        known = self._known.pop(request.tx, None)
        self._compare_outcome(request.tx, request.place, value, known)
        if isinstance(value, Finished) and known is None:
            if value.commit_ts is not None and value.commit_ts != request.commit_ts:
                self._wrong(f"{request.tx.label} has ended at another commit_ts than it was sent")
            self._owe_outcome(request.tx, request.place)

    def _recovery_answered(self, request: RecoverTx, value: Any) -> None:
        self._compare_outcome(request.tx, request.place, value, None)

    def _compare_outcome(
        self, tx: TxId, place: PartitionId, value: Any, known: Outcome | None
    ) -> None:
        local = self.replicas.members.get(place)
        if isinstance(value, NotPrimary):
            if local is not None and self.leases.held(place):
                self._wrong(f"the outcome of {tx.label} was refused by the primary of {place}")
            return
        stored = None if local is None else local.machine.outcomes.get(tx)
        if local is not None and tx in local.machine.ended:
            ended = local.machine.ended[tx]
            stored = stored or Outcome(ended, ())  # in one phase, or by a clean-up
            if ended != value.commit_ts:
                self._wrong(f"{tx.label} ended as {when(ended)}, answer {when(value.commit_ts)}")
        if stored is None or (value.commit_ts, value.reason) != (stored.commit_ts, stored.reason):
            self._wrong(f"{tx.label}: answer {when(value.commit_ts)}, stored {words(stored)}")
        if known is not None and stored is not known and stored != known:
            self._wrong(f"{tx.label} has another outcome than the first")
        late = value.commit_ts is None or value.sent_ts > value.commit_ts
        if not late and type(self.node.clock) is HybridClock:
            self._wrong(f"{tx.label} commits behind {show(value.sent_ts)}, when it is answered")

    def _owe_outcome(self, tx: TxId, place: PartitionId) -> None:
        """What is stored is sent to every participant: elsewhere now, here by a command."""
        local = self.replicas.members[place]
        others = local.machine.outcomes[tx].participants if tx in local.machine.outcomes else ()

        def compare() -> None:
            if tx not in local.machine.uncleaned and not local.is_alone:
                return
            now = self.node.watch.now_us
            if any(self._written_us.get((tx, one.place), -1) >= now for one in here):
                return  # those here come first, and this disk takes its time
            sent = self.begun_cleaning.get(tx, {})
            for other in elsewhere:
                if other not in sent:
                    self._wrong(f"{tx.label} has ended, and {other} is not sent how")
            for replica in here:
                if tx not in replica.machine.ended:
                    self._wrong(f"{tx.label} has ended, and {replica.place} here has not ended it")

        holders = {other: self.leases.of(other) for other in others}
        me, members = self.node.name, self.replicas.members
        elsewhere = [one for one, lease in holders.items() if lease and lease.holder != me]
        here = [members[one] for one in others if one not in elsewhere and one in members]
        if others and all(replica.is_alone for replica in here):  # else those here come first
            self._exchange.owe(compare)

    def _lease_began(self, before: Lease | None, lease: Lease) -> None:
        """A new primary sends what participants have not confirmed."""
        began = before is not None and before.start_ts != lease.start_ts
        local = self.replicas.members.get(lease.place)
        if lease.holder == self.node.name and local is not None:
            self._compare_fenced(lease, local.machine.lease_start)
        if began and lease.holder == self.node.name and local is not None:
            for tx in local.machine.uncleaned:
                self._owe_outcome(tx, lease.place)

    def _compare_fenced(self, lease: Lease, lease_start: Timestamp) -> None:
        """A primary whose group refuses what comes under its lease reports it; no other does."""
        reported, self._fenced_ts = self._fenced_ts, Timestamp(-1)
        fenced = lease_start > lease.start_ts and self.leader() is not None
        if (reported == lease.start_ts) != fenced:
            self._wrong(f"{words(lease)} has {show(lease_start)}, reported {show(reported)}")

    def _fenced_sent(self, _to: str, report: LeaseFenced) -> None:
        self._fenced_ts = report.start_ts

    # --- clean-ups --------------------------------------------------------------------------------

    async def clean_up_at(
        self, places: list[PartitionId], tx: TxId, commit_ts: Timestamp | None
    ) -> None:
        cleaning = Cleaning(places, commit_ts)
        under_way = self._cleanings.setdefault(tx, [])
        under_way.append(cleaning)
        for each in under_way if len(under_way) > 1 else ():
            each.is_alone = False  # whose messages are whose is not known
        self.begun_cleaning.setdefault(tx, {}).update(dict.fromkeys(places))
        await super().clean_up_at(places, tx, commit_ts)
        under_way.remove(cleaning)
        if not under_way:
            del self._cleanings[tx]
        if cleaning.left:
            self._wrong(f"{tx.label} is cleaned up, and {[*cleaning.left]} has not confirmed it")

    async def _send_outcome_on(
        self,
        local: LocalReplica,
        tx: TxId,
        commit_ts: Timestamp | None,
        elsewhere: list[PartitionId],
        cleaning: list[Future[None]],
    ) -> None:
        await super()._send_outcome_on(local, tx, commit_ts, elsewhere, cleaning)
        if self._noted.pop(tx, self) is self:
            self._wrong(f"{tx.label} is cleaned up everywhere, and its commit partition keeps it")

    async def _run_cleaning(
        self, submitted: Submission[None], what: tuple[TxId, PartitionId]
    ) -> None:
        """Until when the disk writes an end: it takes the time that it took when that began."""
        self._written_us[what] = self.node.watch.now_us + self.node.disk_delay_us
        await super()._run_cleaning(submitted, what)
        del self._written_us[what]

    def _mark_cleaned(self, local: LocalReplica, tx: TxId) -> None:
        self._noted[tx] = None
        super()._mark_cleaned(local, tx)

    def _cleanup_sent(self, _asked: Asked, sent: Sent) -> None:
        request: Cleanup = sent.message
        label, under_way = request.tx.label, self._cleanings.get(request.tx, [])
        if not any(one.commit_ts == request.commit_ts for one in under_way):
            self._wrong(f"{label} is cleaned up as {when(request.commit_ts)}, for nothing")
            return
        cleaning = under_way[0]
        if not cleaning.is_alone:
            return
        for place in request.places if cleaning.size == len(request.places) else ():
            lease = self.leases.of(place)
            if lease is not None and lease.holder != sent.to:
                self._wrong(f"the clean-up of {label} in {place} is sent to {sent.to}")
        if any(cleaning.sent_us.get(place) == sent.at_us for place in request.places):
            self._wrong(f"the clean-up of {label} is sent twice at once")
        for place in request.places:
            if place not in cleaning.left:
                self._wrong(f"the clean-up of {label} in {place} is sent, and was confirmed")
            before_us = cleaning.waited_us.get(place)
            due_us: int = self.node.settings.resend_us
            if before_us is not None:
                due_us = min(2 * before_us, self._longest_us)
            if sent.wait_us != due_us:
                self._wrong(f"the clean-up of {label} waits {sent.wait_us} us, not {due_us}")
            cleaning.waited_us[place] = sent.wait_us
            cleaning.sent_us[place] = sent.at_us

    def _cleaned(self, _asked: Asked, sent: Sent, value: Any) -> None:
        if isinstance(value, Cleaned):
            request: Cleanup = sent.message
            for cleaning in self._cleanings.get(request.tx, ()):
                for place in request.places:
                    cleaning.left.pop(place, None)

    def _cleanup_answered(self, request: Cleanup, _value: Any) -> None:
        label = request.tx.label
        for place in request.places:
            local = self.replicas.members.get(place)
            if local is None:
                continue
            ended = local.machine.ended.get(request.tx, local)
            if ended is local:
                self._wrong(f"{label} is confirmed, and has not ended in {place}")
            elif ended is None and request.tx not in self.models.wrote:
                continue  # it was unlocked, or taken for aborted before that: there is no intent
            elif ended != request.commit_ts and self._waits:
                self._wrong(f"{label} ended as {when(ended)}, confirmed {when(request.commit_ts)}")
        if self.locks.holds_any(request.tx):
            self._wrong(f"{label} is confirmed, and holds locks")

    # --- looks for outcomes -----------------------------------------------------------------------

    async def resolved(
        self, tx: TxId, commit_place: PartitionId, read_ts: Timestamp | None = None
    ) -> Outcome | None:
        left, self._left = self._left, None
        look = Look(read_ts)
        looks = self._looks.setdefault(tx, [])
        looks.append(look)
        for each in looks if len(looks) > 1 else ():
            each.is_alone = False  # whose messages are whose is not known
        outcome = await super().resolved(tx, commit_place, read_ts)
        looks.remove(look)
        if not looks:
            del self._looks[tx]
        if left is not None and outcome is not None:
            members = self.replicas.members.items()
            left += [p for p, local in members if tx in local.machine.open_transactions]
        if not look.is_alone:
            return outcome
        if look.decided_us is None:
            if outcome is not None or read_ts is not None or look.asked < PROBES:
                self._wrong(f"{tx.label} is taken for {words(outcome)}, and nothing has decided it")
        elif outcome != look.outcome:
            self._wrong(f"{tx.label} is {words(look.outcome)}, taken for {words(outcome)}")
        return outcome

    async def _resolve(self, tx: TxId, commit_place: PartitionId) -> None:
        """What has ended leaves no intent in any replica here: by its own look, which comes first.

        Another look meanwhile may have found the end, and this one that it is open still.
        """
        left = self._left = list[PartitionId]()
        await super()._resolve(tx, commit_place)
        for place in left:
            if tx not in self.replicas.members[place].machine.ended:
                self._wrong(f"{tx.label} has ended, and its intents in {place} stay")

    def _state_requested(self, _asked: Asked, sent: Sent) -> None:
        request: TxStateRequest = sent.message
        looks = self._looks.get(request.tx, [])
        if not any(look.read_ts == request.read_ts for look in looks):
            self._wrong(f"the state of {request.tx.label} is requested at {when(request.read_ts)}")
        if sent.to != self._nodes[request.tx.ordinal]:
            self._wrong(f"the state of {request.tx.label} is requested from {sent.to}")
        if sent.wait_us != self.node.settings.orphan_answer_ms * US_PER_MS:
            self._wrong(f"the state of {request.tx.label} is waited for {sent.wait_us} us")
        self._compare_undecided(request.tx, looks)
        if request.read_ts is None and not any(look.has_begun for look in looks):
            self._compare_reason(request.tx)
        for look in looks:
            look.has_begun, look.asked = True, look.asked + 1

    def record_activity(self, tx: TxId, commit_place: PartitionId, place: PartitionId) -> None:
        self._seen_us[tx] = self.node.watch.now_us
        super().record_activity(tx, commit_place, place)

    def _adopt_intents(self, local: LocalReplica) -> None:
        """To take over what an earlier primary left is no activity of what is active here.

        Each transaction with an intent here is then active, so that its end is looked for, where
        its outcome is.
        """
        before = {tx: active.seen_us for tx, active in self._active.items()}
        super()._adopt_intents(local)
        if any(self._active[tx].seen_us != seen_us for tx, seen_us in before.items()):
            self._wrong(f"what is active in {local.place} is taken over, as if it had been used")
        for intent in local.machine.intents.values():
            if intent.tx not in self._active:
                self._wrong(f"an intent of {intent.tx.label} in {local.place} is not taken over")
            elif intent.tx not in before:
                place = self._active[intent.tx].commit_place
                if place != intent.commit_place:
                    self._wrong(f"the end of {intent.tx.label} will be looked for in {place}")

    def probe_coordinator(self, tx: TxId) -> None:
        """What blocks others is left alone for a while."""
        was_probed = tx in self._probed
        super().probe_coordinator(tx)
        idle_us = self.node.watch.now_us - self._seen_us.get(tx, -(1 << 60))
        early = idle_us < self.node.settings.orphan_check_ms * US_PER_MS
        if early and tx in self._probed and not was_probed:
            self._wrong(f"the state of {tx.label} is looked for {idle_us} us behind its activity")

    def _compare_reason(self, tx: TxId) -> None:
        """A state is requested of what was idle, or of an intent without its lock."""
        members = self.replicas.members.values()
        if tx not in self._probed and not any(
            one.tx == tx
            for local in members
            for intents in (local.machine.intents, local.pending, local.at_once)
            for one in intents.values()
        ):
            self._wrong(f"the state of {tx.label} is requested, and it blocks nothing")

    def _compare_undecided(self, tx: TxId, looks: list[Look]) -> None:
        for look in looks:
            look.may_recover = True  # until it is answered
            if look.is_alone and look.decided_us is not None:
                self._wrong(f"the state of {tx.label} is requested, and has been answered")

    def _state_answered(self, request: TxStateRequest, value: TxState) -> None:
        """What is pending for a reader commits later: the clock is beyond the reader's timestamp.

        Not where the design's clock takes no timestamps of others.
        """
        read_ts, sent_ts = request.read_ts, value.sent_ts
        if value.state is not Fate.PENDING or read_ts is None or sent_ts > read_ts:
            return
        if type(self.node.clock) is HybridClock:
            self._wrong(f"{request.tx.label} is pending at {show(read_ts)}, sent {show(sent_ts)}")

    def _state_came(self, _asked: Asked, sent: Sent, value: Any) -> None:
        request: TxStateRequest = sent.message
        now = self.node.watch.now_us
        for look in self._looks.get(request.tx, ()):
            if look.read_ts != request.read_ts:
                continue
            look.may_recover = isinstance(value, NoReplyType) or value.state is Fate.UNKNOWN
            if isinstance(value, TxState):
                if value.state is Fate.ABORTED:
                    look.outcome, look.decided_us = Outcome(None, ()), now
                elif value.state is Fate.PENDING:
                    look.outcome, look.decided_us = None, now

    def _recovery_sent(self, _asked: Asked, sent: Sent) -> None:
        request: RecoverTx = sent.message
        looks = self._looks.get(request.tx, [])
        lease = self.leases.of(request.place)
        if lease is not None and lease.holder != sent.to:
            self._wrong(f"{request.tx.label} is recovered at {sent.to}")
        if not looks or not looks[0].is_alone:
            return
        look = looks[0]
        if not look.may_recover or look.decided_us is not None:
            self._wrong(f"{request.tx.label} is recovered, and its coordinator is not silent")
        due_us: int = self.node.settings.resend_us
        if look.waited_us:
            due_us = min(2 * look.waited_us, self._longest_us)
        if sent.wait_us != due_us:
            self._wrong(f"the recovery of {request.tx.label} waits {sent.wait_us} us, not {due_us}")
        look.waited_us = sent.wait_us
        if look.sent_us == sent.at_us:
            self._wrong(f"the recovery of {request.tx.label} is requested twice at once")
        look.sent_us = sent.at_us

    def _recovered_came(self, _asked: Asked, sent: Sent, value: Any) -> None:
        if isinstance(value, Finished):
            for look in self._looks.get(sent.message.tx, ()):
                look.outcome = Outcome(value.commit_ts, ())
                look.decided_us = self.node.watch.now_us

    # --- reports of writes ------------------------------------------------------------------------

    def _replicated_sent(self, _to: str, report: Replicated) -> None:
        self._reported[report.tx, report.op] = self.node.watch.now_us
        for local in self.replicas.members.values():
            if any((one.tx, one.op) == (report.tx, report.op) for one in local.pending.values()):
                self._wrong(f"{report.op} is reported as replicated, and is not")

    def _are_replicated(self, request: AreReplicated) -> None:
        """What is applied is reported again at once, and what has ended here with an abort."""
        local = self.replicas.members.get(request.place)
        if local is None:
            return
        now = self.node.watch.now_us
        waiting = {one.op: None for one in local.pending.values() if one.tx == request.tx}
        stored = local.machine.ops_of(request.tx)
        is_over = local.machine.ended.get(request.tx, now) is None
        due = [op for op in request.ops if (is_over or op in stored) and op not in waiting]

        def compare() -> None:
            for op in due:
                if self._reported.get((request.tx, op), -1) < now:
                    self._wrong(f"the fate of {op} is decided, and is not reported when asked for")

        if due:
            self._exchange.owe(compare)
