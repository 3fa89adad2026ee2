"""IEP-110 with one sentence missing each."""

from msgspec.structs import replace

from ddlsim.model.ddl import ColumnAdded, ColumnDropped
from ddlsim.model.reasons import Reason
from ddlsim.mutants.base import mutant, mutates
from ddlsim.protocol.design.border_rules import commit_anyway, go_on
from ddlsim.protocol.design.schema_rules import ARRIVAL_ONLY, each_step_forward_compatible
from ddlsim.protocol.strategy import CoordinatorPart, Steps, Verdict
from ddlsim.protocol.transaction.commit_check import schema_at_commit_ts, validate
from ddlsim.protocol.transaction.enlistment import enlisted
from ddlsim.protocol.transaction_record import Enlistment, Transaction
from ddlsim.units import Timestamp


@mutates(
    "check_client_version",
    "accepts_any_client_version",
    "110.flow.2",
    "data_matches_schema",
    also=("110.flow.1",),
)
def any_version(client_version: int, _enlist_version: int) -> bool:
    """A row encoded with another version than the enlisted one is not sent back."""
    return client_version > 0


@mutates("enlists_again", "reenlists_after_use", "110.req.1", "single_schema", also=("110.quirk",))
def whatever_ran(_ran: int) -> bool:
    """A refused operation has its table enlisted again although others had run on it."""
    return True


@mutates("primary_initial", "primary_takes_its_own_version", "110.flow.3", "uniform_commit")
def own_version(_initial_version: int, current_version: int) -> int:
    """Each primary runs the transaction under the version that it finds."""
    return current_version


@mutates("decode_version", "decodes_with_initial", "110.flow.5", "data_matches_schema")
def with_initial(_row_version: int, initial_version: int) -> int:
    """Rows are decoded with I, not with the version that they were written under."""
    return initial_version


@mutates("check_commit", "judges_last_step_only", "110.compat.steps", "forward_compatible")
def last_step_only(steps: Steps) -> Reason | None:
    """Of several changes since enlistment only the last is judged."""
    return each_step_forward_compatible(steps[-1:])


@mutates("check_commit", "judges_first_change_only", "110.compat.compound", "forward_compatible")
def first_change_only(steps: Steps) -> Reason | None:
    """Of a compound ALTER only the first simple change is judged."""
    shortened = tuple(replace(step, changes=step.changes[:1]) for step in steps)
    return each_step_forward_compatible(shortened)


@mutates("check_commit", "compares_columns_by_name", "110.compat.id", "forward_compatible")
def by_name(steps: Steps) -> Reason | None:
    """A column that is dropped and added again counts as unchanged."""
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


@mutates("check_tuple", "reads_newer_rows", "110.back", "serializability")
def any_row(_row_version: int, _initial: int) -> Reason | None:
    """A row that was written under a newer schema is downgraded and read."""
    return None


@mutates("enlist", "enlists_at_every_operation", "110.flow.4", "single_schema")
async def enlist_every_time(
    coordinator: CoordinatorPart, tx: Transaction, name: str, op: str
) -> Enlistment | Reason:
    """The coordinator does not keep the enlisted version but resolves it every time."""
    base_ts = coordinator.node.clock.now()
    found = await coordinator.sync.named_at(base_ts, tx.id.label, op, name)
    if found is None:
        return Reason.TABLE_NOT_FOUND
    tx.by_id.pop(found.id, None)
    return enlisted(coordinator, tx, name, found, base_ts)


@mutates("commit_schema", "validates_at_enlistment", "110.flow.6", "forward_compatible")
async def schema_at_enlistment(
    coordinator: CoordinatorPart, tx: Transaction, commit_ts: Timestamp
) -> Verdict:
    """The commit is judged by the schema at enlistment, not at commit_ts."""
    _, tables = await schema_at_commit_ts(coordinator, tx, commit_ts)
    judged_ts = max((known.enlist_ts for known in tx.by_id.values()), default=commit_ts)
    return validate(coordinator.sync, tables, judged_ts), tables


# fmt: off
mutant("no_commit_check", "110.valid.1", "forward_compatible", check_commit=commit_anyway,
       summary="a transaction commits whatever happened to its tables")
mutant("no_operation_check", "110.valid.2", "serializability", check_operation=go_on,
       also=("110.border", "110.req.1"), summary="operations go on under I after a DDL")
mutant("checks_on_arrival_only", "110.x.1", "serializability", reopens=("F-24",),
       check_operation_when=ARRIVAL_ONLY,
       summary="the schema is not checked again once the locks are granted")
