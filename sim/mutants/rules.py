"""IEP-110's rules of forward compatibility with one verdict reversed each.

Each mutant reverses the verdict of one rule and keeps the others. A "no" that becomes a "yes" lets
transactions commit across an incompatible change; a "yes" that becomes a "no" aborts transactions
without need, which only the checker `precision` reports.
"""

from collections.abc import Callable, Iterable
from typing import Final

from ddlsim.model.reasons import Reason
from ddlsim.mutants.base import mutant, mutates
from ddlsim.protocol.schema.compatibility import judge, judge_step
from ddlsim.protocol.strategy import Steps
from ddlsim.protocol.transaction.commit_check import schema_at_commit_ts
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp

Check = Callable[[Steps], Reason | None]


def reversed_rule(clause: str) -> Check:
    """Judge by every rule, and take this one for its opposite."""

    def check(steps: Steps) -> Reason | None:
        verdicts = (verdict for step in steps for verdict in judge_step(step))
        return _reason(one.compatible is (one.clause != clause) for one in verdicts)

    return check


@mutates("check_commit", "believes_first_rule", "110.mixed", "forward_compatible")
def first_rule_only(steps: Steps) -> Reason | None:
    """Of several rules that match one change the first decides."""
    return _reason(
        judge(simple, step.kind)[0].compatible for step in steps for simple in step.changes
    )


def _reason(compatible: Iterable[bool]) -> Reason | None:
    return None if all(compatible) else Reason.SCHEMA_INCOMPATIBLE


@mutates(
    "commit_schema",
    "judges_other_tables",
    "110.compat.scope",
    "precision",
    also=("110.req.0", "110.table.create"),
)
async def any_change_counts(
    coordinator: Coordinator, tx: Transaction, commit_ts: Timestamp
) -> tuple[Reason | None, tuple[tuple[int, int, int], ...]]:
    """A change of a table that it has not used aborts a transaction."""
    reason, tables = await schema_at_commit_ts(coordinator, tx, commit_ts)
    catalog = coordinator.sync.catalog
    since = min((known.enlist_ts for known in tx.by_id.values()), default=commit_ts)
    if reason is None and catalog.at(since).version != catalog.at(commit_ts).version:
        reason = Reason.SCHEMA_INCOMPATIBLE
    return reason, tables


# fmt: off
REVERSED: Final[tuple[tuple[str, str, tuple[str, ...], str], ...]] = (
    ("allows_dropped_table", "110.table.drop", (),
     "a transaction commits into a table that was dropped"),
    ("allows_renamed_table", "110.table.rename", (),
     "a table may be renamed under a transaction"),
    ("allows_dropped_view", "110.view", (),
     "a view may be dropped under a transaction that reads through it"),
    ("allows_dropped_column", "110.column.drop", ("110.fwd.2",),
     "a column may be dropped under a transaction that has written it"),
    ("allows_tightened_column", "110.column.nullable", ("110.fwd.1",),
     "a column may become NOT NULL under a transaction that may have written NULL"),
    ("allows_changed_default", "110.column.default", ("110.fwd.3",),
     "a default may change under a transaction that has written the old one"),
    ("allows_narrowed_type", "110.column.type", ("110.fwd.1",),
     "a type may become narrower under a transaction, and no wider"),
    ("allows_added_constraint", "110.ours.constraint.add", ("110.fwd.1",),
     "a constraint may be added under a transaction that may break it"),
    ("allows_unique_index", "110.ours.index.unique", ("110.fwd.1",),
     "a unique index may be created under a transaction that may break it"),
    ("refuses_added_column", "110.column.add", (),
     "a nullable column that is added aborts each transaction that has used the table"),
    ("refuses_renamed_column", "110.column.rename", (),
     "a column that is renamed aborts each transaction that has used the table"),
    ("refuses_dropped_constraint", "110.constraint.drop", (),
     "a constraint that is dropped aborts each transaction that has used the table"),
    ("refuses_registered_index", "110.ours.index.create", (),
     "an index that is registered aborts each transaction that has used the table"),
    ("refuses_dropped_index", "110.ours.index.drop", (),
     "an index that is dropped aborts each transaction that has used the table"),
)
# fmt: on
"""(name, clause, what the clause serves, summary); a mutant that refuses aborts without need."""

for name, clause, serves, summary in REVERSED:
    mutant(
        name,
        clause,
        "precision" if name.startswith("refuses") else "forward_compatible",
        summary=summary,
        also=serves,
        check_commit=reversed_rule(clause),
    )
