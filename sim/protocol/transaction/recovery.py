"""What becomes of a transaction that nobody ends: whoever finds it asks, and recovery aborts.

A transaction whose locks or intents are in the way for long may have lost its coordinator. Whoever
finds it asks the coordinator; if that does not answer, or knows nothing of it, the commit partition
stores an abort unless an outcome is stored. Recovery only ever aborts: a coordinator that was only
cut off is told so when it wants to commit.
"""

from abc import abstractmethod

from ddlsim.model.ports import Node, NoReplyType
from ddlsim.protocol.commands import FinishTx
from ddlsim.protocol.ids import Place, TxId
from ddlsim.protocol.messages import Finished, NotPrimary
from ddlsim.protocol.partition.hosted import Hosted
from ddlsim.protocol.partition.hosting import Hosting
from ddlsim.protocol.partition_state import Outcome
from ddlsim.protocol.replica_messages import (
    Fate,
    RecoverTx,
    TxStateRequest,
)
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.waiting import patience
from ddlsim.units import (
    US_PER_MS,
    Micros,
    Timestamp,
)

PATIENCE = 40
"""How often a transaction is asked for that is about to end, before the asker gives up."""


class Active:
    """A transaction that has done something here: its commit partition, when, and which writes.

    Of each write, the start of the lease that it was executed under.
    """

    __slots__ = ("commit_place", "ops", "seen_us")

    def __init__(self, commit_place: Place, seen_us: int) -> None:
        self.commit_place = commit_place
        self.seen_us = seen_us
        self.ops: dict[str, Timestamp] = {}


class Recovery:
    """One node's part in ending what others have left; a participant knows the rest."""

    node: Node
    strategy: Strategy
    locks: LockTable
    hosting: Hosting
    _nodes: tuple[str, ...]
    _active: dict[TxId, Active]
    _suspected: dict[TxId, None]

    @abstractmethod
    def saw(self, tx: TxId, commit_place: Place) -> None:
        """A transaction does something here."""

    @abstractmethod
    async def clean_here(
        self, tx: TxId, commit_ts: Timestamp | None, places: tuple[Place, ...]
    ) -> None:
        """See to the intents, then release the locks."""

    @abstractmethod
    def _is_primary(self, place: Place) -> bool: ...

    @abstractmethod
    def _holder(self, place: Place) -> str: ...

    @abstractmethod
    def _told(self, outcome: Outcome) -> Finished: ...

    @abstractmethod
    async def _store(self, hosted: Hosted, command: FinishTx) -> Finished: ...

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
        for place, hosted in self.hosting.members.items():
            if hosted.machine.intents and self._is_primary(place):
                self._adopt_intents(hosted)

    def _adopt_intents(self, hosted: Hosted) -> None:
        """Intents that an earlier primary left are somebody's affair: this node's."""
        for intent in hosted.machine.intents.values():
            if intent.tx not in self._active:
                self.saw(intent.tx, intent.commit_place)

    async def _look_for(self, tx: TxId, commit_place: Place) -> None:
        outcome = await self.resolved(tx, commit_place)
        self._suspected.pop(tx, None)
        if outcome is None:
            return
        places = tuple(
            place
            for place, hosted in self.hosting.members.items()
            if tx in hosted.machine.open_transactions or self.locks.holds_at(tx, place)
        )
        await self.clean_here(tx, outcome.commit_ts, places)

    async def resolved(
        self, tx: TxId, commit_place: Place, read_ts: Timestamp | None = None
    ) -> Outcome | None:
        """How a transaction ended; None while its coordinator says that it has not.

        With `read_ts`, None means that it will not have committed by then.
        """
        node = self.node
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

    async def _recovered(self, tx: TxId, commit_place: Place) -> Outcome:
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

    async def recover(self, sender: str, request: RecoverTx) -> Finished | NotPrimary:
        """Store an abort unless an outcome is stored; tell what is."""
        del sender
        node, tx = self.node, request.tx
        node.clock.update(request.sent_ts)
        hosted = self.hosting.at(request.place)
        if hosted is None or not self._is_primary(request.place):
            return NotPrimary(node.clock.now())
        known = hosted.machine.outcomes.get(tx)
        if known is not None:
            return self._told(known)
        if tx in hosted.machine.ended:  # committed in one phase, or cleaned up as aborted
            return Finished(node.clock.now(), hosted.machine.ended[tx])
        node.probe("coordinator-recovery")
        commit_ts = self.strategy.recovery_outcome(node.clock.now())
        command = FinishTx(tx, commit_ts, (request.place,), by_recovery=True)
        return await self._store(hosted, command)
