"""The model of a statement in two steps: mandatory columns of an empty table [110.later.2].

The columns are installed as pending; once that is effective everywhere the table is read as of its
activation, until a read succeeds or the time of an operation is over; they are confirmed where it
has no row, and else dropped. No other read decides.
"""

from typing import Any

from ddlsim.cluster.models.design.rule_forms import Rule
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.model.ddl import Statement
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.model.reasons import Reason
from ddlsim.protocol.schema.ddl import Built
from ddlsim.protocol.strategy import SchemaChangePart
from ddlsim.units import Timestamp, show


class Stepping:
    """A node's side of DDL as the rule of one statement has it; it counts rows as well.

    `pended` is the catalog version with pending columns, `found` what the last read found.
    """

    def __init__(self, change: SchemaChangePart, op: str, divergence: Divergence) -> None:
        self._change = change
        self._op = op
        self._divergence = divergence
        self.row_counter = self
        self.pended: int | None = None
        self.found: int | Reason | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._change, name)

    async def submit(
        self, command_id: str, expected_version: int, built: Built
    ) -> tuple[bool, int]:
        """Send an update; what confirms columns rests on a read that found nothing."""
        changes = [one for step in built.objects for one in step.changes]
        confirms = any(isinstance(one, ColumnConfirmed) for one in changes)
        if confirms and self.found != 0:
            self._divergence.found(f"{self._op} confirms its columns, and found {self.found} rows")
        accepted, version = await self._change.submit(command_id, expected_version, built)
        if accepted and any(isinstance(one, ColumnPending) for one in changes):
            self.pended = version
        return accepted, version

    async def rows_at(self, table_id: int, read_ts: Timestamp, label: str) -> int | Reason:
        """Read the table as of the activation, once that has come everywhere."""
        node, pended = self._change.node, self.pended
        if pended is None or self._change.catalog.activation_of(pended) != read_ts:
            self._divergence.found(f"{label} reads at {show(read_ts)}, and not as of {pended}")
        else:
            skew_ms = node.settings.max_clock_skew_ms
            due_ts = self._change.strategy.acknowledge_ts(read_ts, skew_ms)
            if node.clock.current() < due_ts:
                self._divergence.found(f"{label} reads before {show(due_ts)}")
        assert self._change.row_counter is not None, f"{node.name} counts no rows"
        self.found = await self._change.row_counter.rows_at(table_id, read_ts, label)
        return self.found


def stepped(rule: Rule, divergence: Divergence) -> Rule:
    """Columns are confirmed behind a read as of their activation."""

    async def compared(change: SchemaChangePart, op: str, statement: Statement) -> Any:
        return await rule(Stepping(change, op, divergence), op, statement)

    compared.__name__ = rule.__name__
    return compared
