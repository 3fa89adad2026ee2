"""IEP-110 with one sentence missing each."""

from msgspec.structs import replace

from ddlsim.model.ddl import ColumnAdded, ColumnDropped
from ddlsim.model.reasons import Reason
from ddlsim.mutants.base import Mutant, mutant
from ddlsim.protocol.design.schema_rules import ARRIVAL_ONLY, each_step_forward_compatible
from ddlsim.protocol.strategy import CoordinatorPart, Steps, Verdict
from ddlsim.protocol.transaction.commit_check import schema_at_commit_ts, validate
from ddlsim.protocol.transaction.enlistment import enlisted
from ddlsim.protocol.transaction_record import Enlistment, Transaction
from ddlsim.units import Timestamp


def any_version(client_version: int, enlist_version: int) -> bool:
    """Take a row however it is encoded, as long as the client knows some schema."""
    del enlist_version
    return client_version > 0


def own_version(initial_version: int, current_version: int) -> int:
    """The primary takes its own version for I."""
    del initial_version
    return current_version


def with_initial(row_version: int, initial_version: int) -> int:
    """Decode every row with I, whatever it was written under."""
    del row_version
    return initial_version


def no_judgement(initial: int, current: int, steps: Steps) -> Reason | None:
    """Let the operation run under I though the schema has changed."""
    del initial, current, steps
    return None


def anything_goes(steps: Steps) -> Reason | None:
    """Commit whatever happened to the schema."""
    del steps
    return None


def last_step_only(steps: Steps) -> Reason | None:
    """Judge the last of several steps and trust the others."""
    return each_step_forward_compatible(steps[-1:])


def first_change_only(steps: Steps) -> Reason | None:
    """Judge the first simple change of each compound statement and trust the others."""
    shortened = tuple(replace(step, changes=step.changes[:1]) for step in steps)
    return each_step_forward_compatible(shortened)


def by_name(steps: Steps) -> Reason | None:
    """Take a column that is dropped and added again for the one that it was."""
    for step in steps:
        added = {each.column.name for each in step.changes if isinstance(each, ColumnAdded)}
        kept = tuple(
            each
            for each in step.changes
            if not (isinstance(each, ColumnDropped) and each.column.name in added)
        )
        reason = each_step_forward_compatible((replace(step, changes=kept),))
        if reason is not None:
            return reason
    return None


def any_row(row_version: int, initial: int) -> Reason | None:
    """Read rows of newer schemas, silently downgraded."""
    del row_version, initial
    return None


async def enlist_every_time(
    coordinator: CoordinatorPart, tx: Transaction, name: str, op: str
) -> Enlistment | Reason:
    """Take the table as it is now, at every operation."""
    base_ts = coordinator.node.clock.now()
    found = await coordinator.sync.named_at(base_ts, tx.id.label, op, name)
    if found is None:
        return Reason.TABLE_NOT_FOUND
    tx.by_id.pop(found.id, None)
    return enlisted(coordinator, tx, name, found, base_ts)


async def schema_at_enlistment(
    coordinator: CoordinatorPart, tx: Transaction, commit_ts: Timestamp
) -> Verdict:
    """Judge the schema at the last enlistment instead of at commit_ts."""
    _, tables = await schema_at_commit_ts(coordinator, tx, commit_ts)
    judged_ts = max((known.enlist_ts for known in tx.by_id.values()), default=commit_ts)
    return validate(coordinator.sync, tables, judged_ts), tables


mutant(
    Mutant(
        name="accepts_any_client_version",
        summary="a row encoded with another version than the enlisted one is not sent back",
        breaks="110.flow.2",
        also=("110.flow.1",),
        caught_by="data_matches_schema",
        fields={"check_client_version": any_version},
    )
)
mutant(
    Mutant(
        name="primary_takes_its_own_version",
        summary="each primary runs the transaction under the version that it finds",
        breaks="110.flow.3",
        caught_by="uniform_commit",
        fields={"primary_initial": own_version},
    )
)
mutant(
    Mutant(
        name="enlists_at_every_operation",
        summary="the coordinator does not keep the enlisted version but resolves it every time",
        breaks="110.flow.4",
        caught_by="single_schema",
        fields={"enlist": enlist_every_time},
    )
)
mutant(
    Mutant(
        name="decodes_with_initial",
        summary="rows are decoded with I, not with the version that they were written under",
        breaks="110.flow.5",
        caught_by="data_matches_schema",
        fields={"decode_version": with_initial},
    )
)
mutant(
    Mutant(
        name="validates_at_enlistment",
        summary="the commit is judged by the schema at enlistment, not at commit_ts",
        breaks="110.flow.6",
        caught_by="forward_compatible",
        fields={"commit_schema": schema_at_enlistment},
    )
)
mutant(
    Mutant(
        name="no_commit_check",
        summary="a transaction commits whatever happened to its tables",
        breaks="110.valid.1",
        caught_by="forward_compatible",
        fields={"check_commit": anything_goes},
    )
)
mutant(
    Mutant(
        name="no_operation_check",
        summary="operations go on under I after a DDL",
        breaks="110.valid.2",
        also=("110.border", "110.req.1"),
        caught_by="serializability",
        fields={"check_operation": no_judgement},
    )
)
mutant(
    Mutant(
        name="reads_newer_rows",
        summary="a row that was written under a newer schema is downgraded and read",
        breaks="110.back",
        caught_by="serializability",
        fields={"check_tuple": any_row},
    )
)
mutant(
    Mutant(
        name="checks_on_arrival_only",
        summary="the schema is not checked again once the locks are granted",
        breaks="110.x.1",
        caught_by="serializability",
        fields={"check_operation_when": ARRIVAL_ONLY},
    )
)
mutant(
    Mutant(
        name="judges_last_step_only",
        summary="of several changes since enlistment only the last is judged",
        breaks="110.compat.steps",
        caught_by="forward_compatible",
        fields={"check_commit": last_step_only},
    )
)
mutant(
    Mutant(
        name="judges_first_change_only",
        summary="of a compound ALTER only the first simple change is judged",
        breaks="110.compat.compound",
        caught_by="forward_compatible",
        fields={"check_commit": first_change_only},
    )
)
mutant(
    Mutant(
        name="compares_columns_by_name",
        summary="a column that is dropped and added again counts as unchanged",
        breaks="110.compat.id",
        caught_by="forward_compatible",
        fields={"check_commit": by_name},
    )
)
