"""Designs that keep others waiting when there is nothing to wait for any more."""

from typing import TYPE_CHECKING, ClassVar, Final

from sim.mutants.base import Mutant, mutant
from sim.protocol.flows import replicate_wait_acknowledge
from sim.protocol.hosted import Hosted
from sim.protocol.ids import TxId
from sim.protocol.participant import Participant
from sim.protocol.readers import Readers
from sim.protocol.replica import Replica
from sim.protocol.replica_messages import Read
from sim.units import US_PER_MS, Micros

if TYPE_CHECKING:
    from sim.model.ddl import Statement
    from sim.protocol.schema_change import Decision, SchemaChange

TARDY_US: Final = Micros(60 * US_PER_MS)
"""Longer than any message takes; shorter than what else there is to wait for."""


class TardyParticipant(Participant):
    """Sees to the end of a transaction at once, and to its locks a while later."""

    def release(self, tx: TxId) -> None:
        """Keep them for a while."""
        self.node.call_later(TARDY_US, super().release, tx)


class TardyReplica(Replica):
    """A primary where ends of transactions are seen to late."""

    ends: ClassVar[type[Participant]] = TardyParticipant


class TardyReaders(Readers):
    """Replicas that let readers wait although they know everything."""

    async def _complete(self, hosted: Hosted, request: Read) -> None:
        await super()._complete(hosted, request)
        await self.node.sleep(TARDY_US)


async def answer_late(change: "SchemaChange", op: str, statement: "Statement") -> "Decision":
    """Answer a while after everything that an answer waits for."""
    decision = await replicate_wait_acknowledge(change, op, statement)
    await change.node.sleep(TARDY_US)
    return decision


mutant(
    Mutant(
        name="answers_late",
        summary="a DDL is answered a while after Tu + CSmax",
        breaks="98.flow.4",
        caught_by="precision",
        fields={"install": answer_late},
    )
)
mutant(
    Mutant(
        name="releases_late",
        summary="the locks of a transaction that has ended are kept for a while",
        breaks="110.req.0",
        caught_by="precision",
        parts={"replica": TardyReplica},
    )
)
mutant(
    Mutant(
        name="reads_late",
        summary="a read-only read waits for a while once its replica knows everything",
        breaks="98.own",
        caught_by="precision",
        parts={"readers": TardyReaders},
    )
)
