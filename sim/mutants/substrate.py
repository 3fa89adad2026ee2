"""The transaction substrate with one rule missing each."""

from ddlsim.model.ports import Future
from ddlsim.mutants.base import mutates
from ddlsim.protocol.commands import CleanUp
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.transaction.locks import LockTable, Resource, S
from ddlsim.units import Timestamp


@mutates("locks", "readers_ignore_locks", "110.lin", "serializability")
class ReadersPass(LockTable):
    """A read does not wait for the transaction that is writing the row."""

    def acquire(self, tx: TxId, resource: Resource, mode: int) -> bool | Future[bool]:
        """Grant S at once; treat everything else as it should be."""
        if mode != S:
            return super().acquire(tx, resource, mode)
        self._grant(tx, resource, mode, self._holders.setdefault(resource, {}))
        return True


@mutates("partition", "participant_forgets_writes", "98.one", "data_matches_schema")
class ForgetfulPartition(Partition):
    """Cleanup at a participant drops the write intents of a committed transaction."""

    def _clean_up(self, stamp: Timestamp, command: CleanUp) -> None:
        """Drop the intents of transactions whose outcome is stored elsewhere."""
        if command.tx not in self.outcomes:
            command = CleanUp(command.tx, None)
        super()._clean_up(stamp, command)


@mutates("partition", "participant_stamps_its_own", "98.one", "uniform_commit")
class StampingPartition(Partition):
    """Each participant commits at a timestamp of its own instead of at commit_ts."""

    def _clean_up(self, stamp: Timestamp, command: CleanUp) -> None:
        """Commit at the stamp what was committed elsewhere."""
        if command.commit_ts is not None and command.tx not in self.outcomes:
            command = CleanUp(command.tx, stamp)
        super()._clean_up(stamp, command)
