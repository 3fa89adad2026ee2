"""The formulas and judgements of IEP-110: which schema an operation and a commit are judged by."""

from ddlsim.model.ddl import ColumnAltered, SimpleChange
from ddlsim.model.reasons import Reason
from ddlsim.protocol.schema.compatibility import is_forward_compatible
from ddlsim.protocol.strategy import CheckPoints, Publication, Steps
from ddlsim.units import Timestamp

# --- numbers --------------------------------------------------------------------------------------


def at_enlistment(now: Timestamp, _begin_ts: Timestamp, _created_ts: Timestamp) -> Timestamp:
    """baseTs = tableEnlistTs: the coordinator's now at the table's first use [110.flow.2].

    So a table that was created after the transaction began can be used [110.req.2], and an ALTER
    between begin and first use does no harm [110.req.3].
    """
    return now


def as_written(row_version: int, _initial_version: int) -> int:
    """A row is decoded with the version that it was written under [110.flow.5]."""
    return row_version


def as_enlisted(initial_version: int, _current_version: int) -> int:
    """The primary takes I as the coordinator sends it, never its own version [110.flow.3]."""
    return initial_version


def under_initial(initial_version: int, _current_version: int) -> int:
    """An operation runs under the transaction's initial schema [110.flow.5]."""
    return initial_version


# --- judgements: None to proceed, or the reason to abort for --------------------------------------


def must_equal_enlisted(client_version: int, enlist_version: int) -> bool:
    """Whether the client's row is encoded with tableEnlistSV; if not it re-encodes [110.flow.2]."""
    return client_version == enlist_version


def must_be_same_schema(initial: int, current: int, _steps: Steps) -> Reason | None:
    """No reads or writes after a DDL: the schema at opTs must be I [110.valid.2] [110.border]."""
    return None if initial == current else Reason.SCHEMA_CHANGED


def must_exist(current: int) -> Reason | None:
    """A missing table fails the operation at opTs, not at commit [110.table.exists]."""
    return None if current else Reason.TABLE_DROPPED


def each_step_forward_compatible(steps: Steps) -> Reason | None:
    """Every step from I to C is forward-compatible, in order [110.valid.1, 110.compat.steps]."""
    for step in steps:
        if not is_forward_compatible(step):
            return Reason.SCHEMA_INCOMPATIBLE
    return None


def allow_every_conversion(_change: SimpleChange) -> str | None:
    """A DDL may change a type to whatever the old values can be converted to."""
    return None


def add_no_not_null(change: SimpleChange) -> str | None:
    """No column becomes NOT NULL: a row that exists may have no value of it."""
    if isinstance(change, ColumnAltered) and change.before.nullable and not change.after.nullable:
        return f"column {change.before.name!r}: rows that exist may have no value of it"
    return None


def judge_every_commit(*, wrote: bool, queried: bool) -> bool:
    """Every transaction is validated at commit [110.valid.1]."""
    del wrote, queried
    return True


def not_newer_than_initial(row_version: int, initial: int) -> Reason | None:
    """Every change is backward-incompatible: a row from a newer schema aborts [110.back]."""
    return None if row_version <= initial else Reason.NEWER_ROW_VERSION


# --- points in time -------------------------------------------------------------------------------

ARRIVAL_AND_AFTER_LOCKS = CheckPoints(on_arrival=True, after_locks=True)
"""On arrival [110.valid.2], and again once the locks are granted [110.x.1]."""
ARRIVAL_ONLY = CheckPoints(on_arrival=True, after_locks=False)
"""On arrival only, as the text has it."""

AFTER_LISTENERS = Publication(after_catalog_listeners=True)
ON_APPLICATION = Publication(after_catalog_listeners=False)
AFTER_ALL_LISTENERS = Publication(after_catalog_listeners=True, after_other_listeners=True)
