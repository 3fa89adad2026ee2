"""Unique indexes, CHECK and NOT NULL with one rule of their enforcement missing each."""

from collections.abc import Iterator

from ddlsim.history.event import Cells
from ddlsim.model.ops import Key
from ddlsim.model.schema import Table
from ddlsim.mutants.base import mutates
from ddlsim.protocol.ids import IndexKey, Tuple
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.partition.replica_manager import LocalReplica
from ddlsim.protocol.schema.constraints import unique_columns
from ddlsim.protocol.transaction.execution import Found
from ddlsim.protocol.transaction.locks import Resource
from ddlsim.protocol.transaction.row_constraints import RowConstraints
from ddlsim.units import Timestamp


@mutates("row_constraints", "values_stay_unlocked", "110.ours.unique", "data_matches_schema")
class UnlockedValues(RowConstraints):
    """A write locks its row, but not its values in unique indexes."""

    def locks_wanted(
        self, request: Operate, local: LocalReplica, table: Table
    ) -> tuple[tuple[Resource, int], ...]:
        """No lock."""
        del request, local, table
        return ()


@mutates("row_constraints", "looks_up_at_home_only", "110.ours.unique", "data_matches_schema")
class OnePartition(RowConstraints):
    """A row's unique values are looked up in its own partition only."""

    def needed_elsewhere(
        self, request: Operate, local: LocalReplica, table: Table
    ) -> tuple[IndexKey, ...]:
        """Nothing."""
        del request, local, table
        return ()


@mutates("row_constraints", "one_phase_checks_nothing", "110.ours.unique", "data_matches_schema",
         also=("110.ours.check",))  # fmt: skip
class UncheckedOnePhase(RowConstraints):
    """A write that commits in one phase is not compared with any constraint."""

    def refusal(
        self, request: Operate, local: LocalReplica, op_ts: Timestamp, table: Table
    ) -> Operated | None:
        """Refuse no one-phase write."""
        return None if request.one_phase else super().refusal(request, local, op_ts, table)


@mutates("row_constraints", "deleted_rows_keep_values", "110.ours.unique", "data_matches_schema")
class LastingEntries(RowConstraints):
    """A row that was deleted keeps its values in unique indexes."""

    def _live_rows(self, request: Operate, local: LocalReplica) -> Iterator[tuple[Key, Found]]:
        """The rows that are there, and of each deleted row the last version before."""
        found = dict(super()._live_rows(request, local))
        yield from found.items()
        for key, versions in local.machine.rows.items():
            left = [one for one in versions if one.row is not None]
            if key not in found and left:
                yield key, (left[-1].writer, left[-1].version, left[-1].row)


@mutates("row_constraints", "compares_written_forms", "110.ours.unique", "data_matches_schema")
class WrittenForms(RowConstraints):
    """Values in a unique index are compared as they were written, whatever type they have now."""

    def _has(
        self,
        request: Operate,
        table: Table,
        found: tuple[int, Tuple | None],
        keys: tuple[IndexKey, ...],
    ) -> bool:
        """Whether a row has one of these values in the form in which it was written."""
        row = self._shown(request, table, *found)
        cells = dict(row or ())
        return any(
            IndexKey(one.id, tuple(cells.get(column) for column in one.columns)) in keys
            for one in unique_columns(table)
        )


@mutates("row_constraints", "checks_under_first_version", "110.ours.check", "data_matches_schema")
class FirstVersion(RowConstraints):
    """A row obeys the constraints of its table's first version, not of the one it is written in."""

    def refusal(
        self, request: Operate, local: LocalReplica, op_ts: Timestamp, table: Table
    ) -> Operated | None:
        """Compare the row with the constraints of the first version."""
        first = self.executor.sync.catalog.definition(table.id, 1)
        known = first if isinstance(first, Table) else table
        return super().refusal(request, local, op_ts, known)


@mutates("row_constraints", "updates_keep_nulls", "110.ours.notnull", "data_matches_schema")
class KeptNulls(RowConstraints):
    """An update keeps a NULL that was there before its column was NOT NULL."""

    @staticmethod
    def lacks_value(table: Table, row: Cells) -> bool:
        """Never."""
        del table, row
        return False


@mutates("row_constraints", "overlooks_intents", "110.ours.unique", "data_matches_schema")
class OverlookedIntents(RowConstraints):
    """An intent without a lock on its values, of an older schema or an earlier primary, is free."""

    def blocking_intent(self, request: Operate, local: LocalReplica, table: Table) -> None:
        """No intent blocks."""
        del request, local, table
