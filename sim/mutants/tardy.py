"""Designs that keep others waiting, or refuse statements, when there is nothing to wait for."""

from typing import ClassVar, Final

from ddlsim.model.ddl import AlterTable, CreateTable, Statement
from ddlsim.model.reasons import Reason
from ddlsim.mutants.base import mutates
from ddlsim.protocol.commands import SafeTimeSync, StampedCommand
from ddlsim.protocol.design.flows import replicate_wait_acknowledge
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.messages import Operated
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.partition.replica_manager import LocalReplica
from ddlsim.protocol.replica_messages import Read
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.ddl_answers import Decision
from ddlsim.protocol.strategy import SchemaChangePart
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import US_PER_MS, Micros, Timestamp

TARDY_US: Final = Micros(60 * US_PER_MS)
"""Longer than any message takes; shorter than what else there is to wait for."""


class TardyParticipant(Participant):
    """Cleans up a transaction at once and releases its locks a while later."""

    def release(self, tx: TxId) -> None:
        """Keep them for a while."""
        self.node.call_later(TARDY_US, super().release, tx)


@mutates("replica", "releases_late", "110.req.0", "precision")
class TardyReplica(Replica):
    """The locks of a transaction that has ended are kept for a while."""

    participant_class: ClassVar[type[Participant]] = TardyParticipant


@mutates("replica", "refuses_unknown_leases", "110.req.0", "precision")
class HastyReplica(Replica):
    """An operation that comes before the lease that it names is refused."""

    async def _lease_arrives(self, place: PartitionId, start_ts: Timestamp) -> None:
        """Do not wait."""


@mutates("readers", "reads_late", "98.own", "precision")
class TardyReaders(Readers):
    """A read-only read waits for a while although its replica is complete."""

    async def _complete(self, local: LocalReplica, request: Read) -> None:
        await super()._complete(local, request)
        await self.node.sleep(TARDY_US)


@mutates("readers", "refuses_unknown_tables", "110.req.0", "precision")
class HastyReaders(Readers):
    """A read in the past of a table that its replica does not know yet is refused."""

    async def read(self, sender: str, request: Read) -> Operated | None:
        """Do not wait for the schema at read_ts."""
        if self.replicas.at((request.table_id, request.partition)) is None:
            self.node.clock.update(request.sent_ts)
            return Operated(self.node.clock.now(), request.read_ts, Reason.PRIMARY_MISSING)
        return await super().read(sender, request)


@mutates("partition", "idles_in_vain", "98.own", "precision")
class IdlePartition(Partition):
    """The first idle commands of a partition move no safe time."""

    _left = 20

    def apply(self, index: int, term: int, command: object) -> object:
        """Pass over as many idle commands."""
        assert isinstance(command, StampedCommand), command
        if not self._left or not isinstance(command.command, SafeTimeSync):
            return super().apply(index, term, command)
        self._left -= 1
        self.applied_index, self.applied_term = index, term
        return None


@mutates("install", "answers_late", "98.flow.4", "precision")
async def answer_late(change: SchemaChangePart, op: str, statement: Statement) -> Decision:
    """A DDL is answered a while after Tu + CSmax."""
    decision = await replicate_wait_acknowledge(change, op, statement)
    await change.node.sleep(TARDY_US)
    return decision


@mutates("rename", "finds_no_table", "110.req.0", "precision")
def find_nothing(
    statement: Statement, snapshot: Snapshot, _alias_ms: int
) -> Built | NoOp | Refused:
    """Every ALTER TABLE is refused as if its table did not exist."""
    if isinstance(statement, AlterTable):
        return Refused(Reason.OBJECT_NOT_FOUND, f"there is no table {statement.name!r}")
    return build(statement, snapshot, snapshot.next_object_id)


@mutates("rename", "finds_names_taken", "110.req.0", "precision")
def find_everything(
    statement: Statement, snapshot: Snapshot, _alias_ms: int
) -> Built | NoOp | Refused:
    """Every CREATE TABLE is refused as if its name were taken."""
    if isinstance(statement, CreateTable):
        return Refused(Reason.OBJECT_EXISTS, f"table {statement.name!r} exists already")
    return build(statement, snapshot, snapshot.next_object_id)


@mutates("install", "loses_every_race", "110.req.0", "precision")
async def give_up_at_once(change: SchemaChangePart, _op: str, _statement: Statement) -> Decision:
    """Every statement is refused as if it had lost the compare-and-set at every attempt."""
    return change.conflict()
