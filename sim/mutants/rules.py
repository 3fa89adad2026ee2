"""IEP-110's rules of forward compatibility with one verdict reversed each.

Every mutant takes one rule for its opposite, wherever it is asked, and leaves the others alone. A
"no" that becomes a "yes" lets transactions commit across what they must not cross; a "yes" that
becomes a "no" aborts transactions that were in nobody's way, which only the judge of needless
aborts sees.
"""

from collections.abc import Callable, Iterable

from ddlsim.model.reasons import Reason
from ddlsim.mutants.base import Mutant, mutant
from ddlsim.protocol.schema.compatibility import RuleVerdict, judge, judge_step
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


def first_rule_only(steps: Steps) -> Reason | None:
    """Of the rules that match one change believe the first."""
    return _reason(
        _first(judge(simple, step.kind)).compatible for step in steps for simple in step.changes
    )


def _first(verdicts: tuple[RuleVerdict, ...]) -> RuleVerdict:
    return verdicts[0]


def _reason(compatible: Iterable[bool]) -> Reason | None:
    return None if all(compatible) else Reason.SCHEMA_INCOMPATIBLE


async def any_change_counts(
    coordinator: Coordinator, tx: Transaction, commit_ts: Timestamp
) -> tuple[Reason | None, tuple[tuple[int, int, int], ...]]:
    """Refuse the commit if anything at all has changed in the catalog since the enlistment."""
    reason, tables = await schema_at_commit_ts(coordinator, tx, commit_ts)
    catalog = coordinator.sync.catalog
    since = min((known.enlist_ts for known in tx.by_id.values()), default=commit_ts)
    if reason is None and catalog.at(since).version != catalog.at(commit_ts).version:
        reason = Reason.SCHEMA_INCOMPATIBLE
    return reason, tables


mutant(
    Mutant(
        name="allows_dropped_table",
        summary="a transaction commits into a table that was dropped",
        breaks="110.table.drop",
        caught_by="forward_compatible",
        fields={"check_commit": reversed_rule("110.table.drop")},
    )
)
mutant(
    Mutant(
        name="allows_renamed_table",
        summary="a table may be renamed under a transaction",
        breaks="110.table.rename",
        caught_by="forward_compatible",
        fields={"check_commit": reversed_rule("110.table.rename")},
    )
)
mutant(
    Mutant(
        name="allows_dropped_view",
        summary="a view may be dropped under a transaction that reads through it",
        breaks="110.view",
        caught_by="forward_compatible",
        fields={"check_commit": reversed_rule("110.view")},
    )
)
mutant(
    Mutant(
        name="allows_dropped_column",
        summary="a column may be dropped under a transaction that has written it",
        breaks="110.column.drop",
        also=("110.fwd.2",),
        caught_by="forward_compatible",
        fields={"check_commit": reversed_rule("110.column.drop")},
    )
)
mutant(
    Mutant(
        name="allows_tightened_column",
        summary="a column may become NOT NULL under a transaction that may have written NULL",
        breaks="110.column.nullable",
        also=("110.fwd.1",),
        caught_by="forward_compatible",
        fields={"check_commit": reversed_rule("110.column.nullable")},
    )
)
mutant(
    Mutant(
        name="allows_changed_default",
        summary="a default may change under a transaction that has written the old one",
        breaks="110.column.default",
        also=("110.fwd.3",),
        caught_by="forward_compatible",
        fields={"check_commit": reversed_rule("110.column.default")},
    )
)
mutant(
    Mutant(
        name="allows_narrowed_type",
        summary="a type may become narrower under a transaction, and no wider",
        breaks="110.column.type",
        also=("110.fwd.1",),
        caught_by="forward_compatible",
        fields={"check_commit": reversed_rule("110.column.type")},
    )
)
mutant(
    Mutant(
        name="believes_first_rule",
        summary="of several rules that match one change the first decides",
        breaks="110.mixed",
        caught_by="forward_compatible",
        fields={"check_commit": first_rule_only},
    )
)
mutant(
    Mutant(
        name="allows_added_constraint",
        summary="a constraint may be added under a transaction that may break it",
        breaks="110.ours.constraint.add",
        also=("110.fwd.1",),
        caught_by="forward_compatible",
        fields={"check_commit": reversed_rule("110.ours.constraint.add")},
    )
)
mutant(
    Mutant(
        name="allows_unique_index",
        summary="a unique index may be created under a transaction that may break it",
        breaks="110.ours.index.unique",
        also=("110.fwd.1",),
        caught_by="forward_compatible",
        fields={"check_commit": reversed_rule("110.ours.index.unique")},
    )
)
mutant(
    Mutant(
        name="refuses_added_column",
        summary="a nullable column that is added aborts whoever has used the table",
        breaks="110.column.add",
        caught_by="precision",
        fields={"check_commit": reversed_rule("110.column.add")},
    )
)
mutant(
    Mutant(
        name="refuses_renamed_column",
        summary="a column that is renamed aborts whoever has used the table",
        breaks="110.column.rename",
        caught_by="precision",
        fields={"check_commit": reversed_rule("110.column.rename")},
    )
)
mutant(
    Mutant(
        name="refuses_dropped_constraint",
        summary="a constraint that is dropped aborts whoever has used the table",
        breaks="110.constraint.drop",
        caught_by="precision",
        fields={"check_commit": reversed_rule("110.constraint.drop")},
    )
)
mutant(
    Mutant(
        name="refuses_registered_index",
        summary="an index that is registered aborts whoever has used the table",
        breaks="110.ours.index.create",
        caught_by="precision",
        fields={"check_commit": reversed_rule("110.ours.index.create")},
    )
)
mutant(
    Mutant(
        name="refuses_dropped_index",
        summary="an index that is dropped aborts whoever has used the table",
        breaks="110.ours.index.drop",
        caught_by="precision",
        fields={"check_commit": reversed_rule("110.ours.index.drop")},
    )
)
mutant(
    Mutant(
        name="judges_other_tables",
        summary="a change of a table that it has not used aborts a transaction",
        breaks="110.compat.scope",
        also=("110.req.0", "110.table.create"),
        caught_by="precision",
        fields={"commit_schema": any_change_counts},
    )
)
