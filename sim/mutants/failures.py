"""Transactions on a cluster that fails, with one rule missing each: stamps, leases, ends."""

from msgspec.structs import replace

from ddlsim.model.schema import SchemaObject
from ddlsim.mutants.base import mutant, mutates
from ddlsim.protocol.design.failure_rules import (
    any_token,
    in_the_past,
    new_decision,
    once_only,
    own_time,
    recovery_commits,
    whatever_the_lease,
)
from ddlsim.protocol.design.flows import await_outstanding_operations, stamp_at_once
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.partition.replica_manager import LocalReplica
from ddlsim.protocol.raft import Mark, Member, RaftMessage
from ddlsim.protocol.strategy import CoordinatorPart
from ddlsim.protocol.transaction.commit_check import schema_on_arrival
from ddlsim.protocol.transaction.replica import Checked, Replica
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp


@mutates("before_commit_ts", "commits_unreplicated", "98.one", "data_matches_schema")
async def await_answers_only(coordinator: CoordinatorPart, tx: Transaction) -> None:
    """Commit_ts is taken before the writes are replicated."""
    while tx.outstanding:
        tx.idle = coordinator.node.future()
        await tx.idle


@mutates("before_commit_ts", "overlooks_late_enlistments", "110.flow.6", "forward_compatible")
async def forget_what_came_late(coordinator: CoordinatorPart, tx: Transaction) -> None:
    """A commit is judged by the tables enlisted when its client asked for it, not by later ones."""
    enlisted = dict(tx.by_id)
    await await_outstanding_operations(coordinator, tx)
    tx.by_id = enlisted


@mutates("on_activated", "marks_on_receipt", "110.valid.3", "precision")
async def mark_on_receipt(coordinator: CoordinatorPart, applied: AppliedUpdate) -> None:
    """An update rolls back what it dooms when it is known, not when it is active."""
    coordinator.marks.roll_back_marked(coordinator.marks.mark_incompatible(applied))


@mutates("replica", "missing_table_fails_at_commit", "110.table.exists", "own_ddl")
class UnhurriedReplica(Replica):
    """Operations on a dropped table go on until the commit finds out."""

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


@mutates("replica", "keeps_its_first_op_ts", "110.x.1", "serializability")
class HeadstrongReplica(Replica):
    """A write that its transaction has overtaken on its key keeps the op_ts of its check."""

    def _is_overtaken(self, request: Operate, local: LocalReplica, op_ts: Timestamp) -> bool:
        """Go on."""
        return False


@mutates("replica", "hides_final_refusals", "110.req.0", "liveness")
class SecretiveReplica(Replica):
    """A primary does not say that it executed a one-phase write before it refused it."""

    async def operate(self, sender: str, request: Operate) -> Operated | None:
        answered = await super().operate(sender, request)
        return None if answered is None else replace(answered, ended=False)


@mutates("member", "confirms_before_sync", "98.def.3", "machinery")
class HastyMember(Member):
    """A member confirms entries that its disk has not stored yet."""

    def begin_sync(self) -> tuple[Mark, list[tuple[str, RaftMessage]]]:
        """Say at once what depends on the disk."""
        mark, promised = super().begin_sync()
        self.outbox += promised
        return mark, []


# fmt: off
mutant("stamps_by_own_clock", "98.one", "machinery", partition_stamp=own_time,
       summary="a new leader of a partition stamps by its own clock, whatever is in its log")
mutant("one_phase_trusts_arrival", "110.valid.1", "forward_compatible",
       validate_one_phase=schema_on_arrival,
       summary="a one-phase write is stamped after the schema check and not judged at its stamp")
mutant("accepts_any_token", "110.lin", "serializability", accepts_token=any_token,
       summary="a write that was sent under a lease that is over is applied")
mutant("decides_again", "110.valid.1", "forward_compatible", repeated_commit_ts=new_decision,
       summary="a finish that is resent carries another commit_ts, at which nothing was judged")
mutant("recovery_commits", "110.lin", "serializability", recovery_outcome=recovery_commits,
       summary="recovery of a transaction without its coordinator commits it")
mutant("commits_beyond_lease", "110.lin", "serializability", commit_lease=whatever_the_lease,
       summary="a transaction commits though the lease ended under which it took its locks")
mutant("stamps_before_operations", "110.x.2", "serializability", reopens=("F-25",),
       before_commit_ts=stamp_at_once,
       summary="commit_ts is taken while operations are still under way")
mutant("reads_before_session", "98.own", "opacity", read_ts=in_the_past,
       summary="a read-only transaction reads the past that its session has left behind")
mutant("fails_implicit_at_once", "110.flow.8", "precision", also=("110.flow.7", "110.quirk"),
       retries_implicit=once_only,
       summary="an implicit transaction that met a schema change is not tried again")
