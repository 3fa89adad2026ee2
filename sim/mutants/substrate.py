"""The transaction substrate with one rule missing each."""

from ddlsim.model.ports import Future
from ddlsim.mutants.base import Mutant, mutant
from ddlsim.protocol.commands import CleanUp
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.transaction.locks import LockTable, Resource, S
from ddlsim.units import Timestamp


class ReadersPass(LockTable):
    """Shared locks are granted without looking whether anybody writes."""

    def acquire(self, tx: TxId, resource: Resource, mode: int) -> bool | Future[bool]:
        """Grant S at once; treat everything else as it should be."""
        if mode != S:
            return super().acquire(tx, resource, mode)
        self._grant(tx, resource, mode, self._holders.setdefault(resource, {}))
        return True


class ForgetfulPartition(Partition):
    """A partition that releases a transaction but forgets to keep what it wrote."""

    __slots__ = ()

    def _clean_up(self, stamp: Timestamp, command: CleanUp) -> None:
        """Drop the intents of transactions whose outcome is stored elsewhere."""
        if command.tx not in self.outcomes:
            command = CleanUp(command.tx, None)
        super()._clean_up(stamp, command)


class StampingPartition(Partition):
    """A partition that commits what it holds at a timestamp of its own."""

    __slots__ = ()

    def _clean_up(self, stamp: Timestamp, command: CleanUp) -> None:
        """Commit at the stamp what was committed elsewhere."""
        if command.commit_ts is not None and command.tx not in self.outcomes:
            command = CleanUp(command.tx, stamp)
        super()._clean_up(stamp, command)


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
        parts={"partition": ForgetfulPartition},
    )
)
mutant(
    Mutant(
        name="participant_stamps_its_own",
        summary="each participant commits at a timestamp of its own instead of at commit_ts",
        breaks="98.one",
        caught_by="uniform_commit",
        parts={"partition": StampingPartition},
    )
)
