"""`iep_closed` without the closing rule of one finding each.

A finding excuses a design that lacks its closing rule, and none that has it: a run of `iep_closed`
in which the rule is broken is a violation. Where one rule closes two findings, the mutant of the
one puts the weaker rule of the other in its place.
"""

from ddlsim.mutants.base import Mutant, mutant
from ddlsim.protocol.design import as_shipped, closing, flows
from ddlsim.protocol.transaction import commit_check

mutant(
    Mutant(
        name="forgets_shown_columns",
        summary="a transaction that looked at the columns commits across a compatible change",
        breaks="110.lin",
        reopens="F-1",
        caught_by="serializability",
        fields={"commit_schema": commit_check.schema_at_commit_ts},
    )
)
mutant(
    Mutant(
        name="commits_across_unless_shown",
        summary="a transaction that has not looked at the columns commits across a change",
        breaks="110.lin",
        reopens="F-2",
        caught_by="serializability",
        fields={"commit_schema": closing.schema_at_commit_ts_exact_if_shown},
    )
)
mutant(
    Mutant(
        name="stamps_across_a_change",
        summary="a one-phase write is stamped across a compatible change",
        breaks="110.lin",
        reopens="F-2",
        caught_by="serializability",
        fields={"validate_one_phase": commit_check.schema_at_the_stamp},
    )
)
mutant(
    Mutant(
        name="compares_only_with_rows",
        summary="an operation that finds nothing is not compared with the schema of its time",
        breaks="110.valid.2",
        reopens="F-3",
        caught_by="own_ddl",
        fields={"check_operation_when": as_shipped.AFTER_LOCKS_WITH_ROWS},
    )
)
mutant(
    Mutant(
        name="unlocks_unjudged",
        summary="a key-value transaction that has only read is not judged at commit",
        breaks="110.valid.1",
        reopens="F-4",
        caught_by="serializability",
        fields={"judges_commit": as_shipped.judge_writes_and_queries},
    )
)
mutant(
    Mutant(
        name="answers_at_once",
        summary="a commit on a new version is answered while clocks behind show the old one",
        breaks="110.lin",
        reopens="F-5",
        caught_by="serializability",
        fields={"before_answer": flows.answer_at_once},
    )
)
mutant(
    Mutant(
        name="answers_once_active_only",
        summary="a commit is answered before its commit_ts is past by every clock",
        breaks="98.own",
        reopens="F-6",
        caught_by="serializability",
        fields={"before_answer": closing.answer_once_active_everywhere},
    )
)
mutant(
    Mutant(
        name="compares_before_and_after",
        summary="a statement is one difference by name, so a column dropped and added is the same",
        breaks="110.compat.compound",
        also=("110.compat.id",),
        reopens="F-12",
        caught_by="forward_compatible",
        fields={"check_commit": as_shipped.each_step_as_shipped},
    )
)
mutant(
    Mutant(
        name="overlooks_renames",
        summary="an operation goes on under the old name of a table, and as if it had no new index",
        breaks="110.valid.2",
        also=("110.table.rename",),
        reopens="F-13",
        caught_by="own_ddl",
        fields={"check_operation": as_shipped.same_table_version},
    )
)
mutant(
    Mutant(
        name="joins_a_created_table",
        summary="a transaction shown a table before a change uses one that was created after it",
        breaks="110.lin",
        reopens="F-8",
        caught_by="serializability",
        fields={"commit_schema": commit_check.schema_at_commit_ts},
    )
)
mutant(
    Mutant(
        name="joins_a_changed_table",
        summary="a transaction shown a table before a change uses one that was changed after it",
        breaks="110.lin",
        reopens="F-9",
        caught_by="serializability",
        fields={"commit_schema": commit_check.schema_at_commit_ts},
    )
)
mutant(
    Mutant(
        name="mixes_instants_unless_shown",
        summary="a transaction uses one table as before a change and another as after it",
        breaks="110.lin",
        reopens="F-10",
        caught_by="serializability",
        fields={"commit_schema": closing.schema_at_commit_ts_exact_if_shown},
    )
)
