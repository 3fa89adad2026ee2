"""Transactions on a cluster that fails, with one rule missing each: stamps, leases, ends."""

from ddlsim.model.schema import SchemaObject
from ddlsim.mutants.base import Mutant, mutant
from ddlsim.protocol.design.failure_rules import (
    any_token,
    in_the_past,
    new_decision,
    once_only,
    own_time,
    recovery_commits,
    whatever_the_lease,
)
from ddlsim.protocol.design.flows import stamp_at_once
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.raft import Mark, Member, RaftMessage
from ddlsim.protocol.strategy import CoordinatorPart
from ddlsim.protocol.transaction.commit_check import schema_on_arrival
from ddlsim.protocol.transaction.replica import Checked, Replica
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp


async def await_answers_only(coordinator: CoordinatorPart, tx: Transaction) -> None:
    """Wait until every operation is answered, but not until the writes are replicated."""
    while tx.outstanding:
        tx.idle = coordinator.node.future()
        await tx.idle


async def mark_on_receipt(coordinator: CoordinatorPart, applied: AppliedUpdate) -> None:
    """Roll back what an update dooms as soon as it is known, active or not."""
    coordinator.marks.roll_back_marked(coordinator.marks.mark_incompatible(applied))


class UnhurriedReplica(Replica):
    """A replica that leaves it to the commit to find out that a table is gone."""

    def _judged(
        self,
        object_id: int,
        initial: int,
        op_ts: Timestamp,
        found: SchemaObject | None,
        purpose: str,
    ) -> Checked:
        """Only what exists is judged."""
        if found is None:
            return initial, None
        return super()._judged(object_id, initial, op_ts, found, purpose)


class HastyMember(Member):
    """A member that confirms what it has written before its disk has."""

    def begin_sync(self) -> tuple[Mark, list[tuple[str, RaftMessage]]]:
        """Say at once what depends on the disk."""
        mark, promised = super().begin_sync()
        self.outbox += promised
        return mark, []


mutant(
    Mutant(
        name="stamps_by_own_clock",
        summary="a new leader of a partition stamps by its own clock, whatever is in its log",
        breaks="98.one",
        caught_by="machinery",
        fields={"partition_stamp": own_time},
    )
)
mutant(
    Mutant(
        name="one_phase_trusts_arrival",
        summary="a one-phase write is stamped after the schema check and not judged at its stamp",
        breaks="110.valid.1",
        caught_by="forward_compatible",
        fields={"validate_one_phase": schema_on_arrival},
    )
)
mutant(
    Mutant(
        name="accepts_any_token",
        summary="a write that was sent under a lease that is over is applied",
        breaks="110.lin",
        caught_by="serializability",
        fields={"accepts_token": any_token},
    )
)
mutant(
    Mutant(
        name="decides_again",
        summary="a finish that is sent again says another commit_ts, at which nothing was judged",
        breaks="110.valid.1",
        caught_by="forward_compatible",
        fields={"repeated_commit_ts": new_decision},
    )
)
mutant(
    Mutant(
        name="recovery_commits",
        summary="who finds a transaction without its coordinator commits it",
        breaks="110.lin",
        caught_by="serializability",
        fields={"recovery_outcome": recovery_commits},
    )
)
mutant(
    Mutant(
        name="commits_beyond_lease",
        summary="a transaction commits though the lease ended under which it took its locks",
        breaks="110.lin",
        caught_by="serializability",
        fields={"commit_lease": whatever_the_lease},
    )
)
mutant(
    Mutant(
        name="commits_unreplicated",
        summary="commit_ts is taken before the writes are replicated",
        breaks="98.one",
        caught_by="data_matches_schema",
        fields={"before_commit_ts": await_answers_only},
    )
)
mutant(
    Mutant(
        name="stamps_before_operations",
        summary="commit_ts is taken while operations are still under way",
        breaks="110.x.2",
        caught_by="serializability",
        fields={"before_commit_ts": stamp_at_once},
    )
)
mutant(
    Mutant(
        name="marks_on_receipt",
        summary="an update rolls back what it dooms when it is known, not when it is active",
        breaks="110.valid.3",
        caught_by="precision",
        fields={"on_activated": mark_on_receipt},
    )
)
mutant(
    Mutant(
        name="missing_table_fails_at_commit",
        summary="operations on a dropped table go on until the commit finds out",
        breaks="110.table.exists",
        caught_by="own_ddl",
        parts={"replica": UnhurriedReplica},
    )
)
mutant(
    Mutant(
        name="confirms_before_sync",
        summary="a member confirms entries that its disk has not stored yet",
        breaks="98.def.3",
        caught_by="machinery",
        parts={"member": HastyMember},
    )
)
mutant(
    Mutant(
        name="reads_before_session",
        summary="a read-only transaction reads the past that its session has left behind",
        breaks="98.own",
        caught_by="opacity",
        fields={"read_ts": in_the_past},
    )
)
mutant(
    Mutant(
        name="fails_implicit_at_once",
        summary="an implicit transaction that met a schema change is not tried again",
        breaks="110.flow.8",
        also=("110.flow.7", "110.quirk"),
        caught_by="precision",
        fields={"retries_implicit": once_only},
    )
)
