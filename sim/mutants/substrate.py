"""The transaction substrate with one rule missing each."""

from sim.model.ports import Future
from sim.mutants.base import Mutant, mutant
from sim.protocol.locks import LockTable, Resource, S
from sim.protocol.messages import TxId
from sim.protocol.replica import Replica
from sim.units import Timestamp


class ReadersPass(LockTable):
    """Shared locks are granted without looking whether anybody writes."""

    def acquire(self, tx: TxId, resource: Resource, mode: int) -> bool | Future[bool]:
        """Grant S at once; treat everything else as it should be."""
        if mode != S:
            return super().acquire(tx, resource, mode)
        self._grant(tx, resource, mode, self._holders.setdefault(resource, {}))
        return True


class ForgetfulReplica(Replica):
    """A participant that releases its locks at the end but forgets to keep what was written."""

    def end(self, tx: TxId, commit_ts: Timestamp | None) -> None:
        """Drop the intents of transactions that committed elsewhere."""
        committed_here = tx in self._outcomes
        super().end(tx, commit_ts if committed_here else None)


class StampingReplica(Replica):
    """A participant that commits what it holds at a timestamp of its own."""

    def end(self, tx: TxId, commit_ts: Timestamp | None) -> None:
        """Stamp anew what was committed elsewhere; a cleanup that is sent again changes nothing."""
        if commit_ts is not None and tx not in self._outcomes:
            commit_ts = self._ended.get(tx) or self.node.clock.now()
        super().end(tx, commit_ts)


mutant(
    Mutant(
        name="readers_ignore_locks",
        summary="a read does not wait for the transaction that is writing the row",
        breaks="110.lin",
        caught_by="serializability",
        parts={"locks": ReadersPass},
    )
)
mutant(
    Mutant(
        name="participant_forgets_writes",
        summary="cleanup at a participant drops the write intents of a committed transaction",
        breaks="98.one",
        caught_by="data_matches_schema",
        parts={"replica": ForgetfulReplica},
    )
)
mutant(
    Mutant(
        name="participant_stamps_its_own",
        summary="each participant commits at a timestamp of its own instead of at commit_ts",
        breaks="98.one",
        caught_by="uniform_commit",
        parts={"replica": StampingReplica},
    )
)
