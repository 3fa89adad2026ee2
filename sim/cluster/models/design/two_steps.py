"""The model of a statement in two steps: mandatory columns of an empty table [110.later.2].

The columns are installed as pending; once that is effective everywhere the table is read as of its
activation, until a read succeeds or the time of an operation is over; they are confirmed where it
has no row and all of them are still there, and else dropped. No other read decides.

Seldom does another statement change the columns of one between its steps. So beside each run one
adds two columns, and something comes between.
"""

from itertools import product
from types import SimpleNamespace
from typing import Any, Final

from ddlsim import sql
from ddlsim.cluster.models.design.commit_questions import ended
from ddlsim.cluster.models.design.rule_forms import Rule
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.model.ddl import Statement
from ddlsim.model.hlc import HybridClock
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.protocol.schema.ddl_answers import Decision
from ddlsim.protocol.strategy import SchemaChangePart, Strategy
from ddlsim.units import Timestamp, physical_ms, show, timestamp

ADDED: Final = "ALTER TABLE t ADD COLUMN (a INT NOT NULL, b INT NOT NULL)"
BETWEEN: Final = {
    "": {"a", "b"},
    "ALTER TABLE t ADD COLUMN c INT": {"a", "b", "c"},
    "ALTER TABLE t RENAME COLUMN a TO d": {"d", "b"},
    "ALTER TABLE t DROP COLUMN a": set[str](),
    "ALTER TABLE t DROP COLUMN b": set[str](),
    "ALTER TABLE t DROP COLUMN (a, b)": set[str](),
    "DROP TABLE t": set[str](),
}
"""What comes between the steps, and the columns that there are in the end, beside the key."""


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


class Alone:
    """One node's side of DDL, whose updates take effect at once; `between` comes behind the first.

    Its clock shows whatever is waited for.
    """

    def __init__(self, strategy: Strategy, rows: int, between: str) -> None:
        self.strategy, self.catalog, self.barriers = strategy, Catalog(), None
        self.row_counter = self.metastorage = self
        self._rows, self._between, self._now_ms = rows, between, 1
        settings = SimpleNamespace(
            ddl_attempts=3, max_clock_skew_ms=2, operation_timeout_us=1000, resend_us=10
        )
        self.node = SimpleNamespace(
            name="bench, two steps",
            settings=settings,
            clock=HybridClock(lambda: self._now_ms),
            clock_passes=self._clock_passes,
            probe=lambda _: None,
            watch=SimpleNamespace(now_us=0),
        )
        self._apply("CREATE TABLE t (id INT PRIMARY KEY)")

    async def _clock_passes(self, ts: Timestamp) -> None:
        self._now_ms = max(self._now_ms, physical_ms(ts) + 1)

    def _apply(self, text: str) -> None:
        snapshot = self.catalog.latest()
        (parsed,) = sql.parse(text)
        statement: Any = parsed.statement
        built = build(statement, snapshot, snapshot.next_object_id)
        assert isinstance(built, Built), f"{text}: {built}"
        self._install(built)

    def _install(self, built: Built) -> None:
        now = timestamp(self._now_ms)
        self.catalog.apply(
            self.catalog.version + 1, now, timestamp(self._now_ms + 9), built.objects
        )

    async def knows_enough(self) -> None:
        """It knows everything."""

    async def catalog_reaches(self, _version: int) -> None:
        """It has applied everything."""

    async def rows_at(self, _table_id: int, _read_ts: Timestamp, _label: str) -> int:
        """As many as the bench has."""
        return self._rows

    async def submit(self, _command: str, expected: int, built: Built) -> tuple[bool, int]:
        """Take an update, and what comes between behind it."""
        assert expected == self.catalog.version, "nothing comes at the same time"
        self._install(built)
        version, between, self._between = self.catalog.version, self._between, ""
        if between:
            self._apply(between)
        return True, version

    async def acknowledge(self, *_: Any) -> None:
        """It has no other statement."""

    def installed(self) -> Decision:
        """A statement that is in effect."""
        return Decision(None)

    def known(self, built: Any) -> Decision:
        """A statement that is refused."""
        return Decision(built.reason, built.message)


def compare_steps(divergence: Divergence, strategy: Strategy) -> None:
    """Add two mandatory columns, with and without rows, and with each statement between."""
    (parsed,) = sql.parse(ADDED)
    statement: Any = parsed.statement
    for (between, columns), rows in product(BETWEEN.items(), (0, 1)):
        alone: Any = Alone(strategy, rows, between)
        change: Any = Stepping(alone, "bench", divergence)
        decision = ended(strategy.install(change, "bench", statement))
        what = f"with {rows} rows, and {between!r} between"
        done = rows == 0 and bool(columns)
        divergence.compare(f"whether columns are added {what}", decision.reason is None, done)
        table = alone.catalog.latest().by_name("t")
        found = {one.name for one in table.columns} if isinstance(table, Table) else {"id"}
        due = columns if done else columns & {"c"}
        divergence.compare(f"the columns {what}", found - {"id"}, due)
