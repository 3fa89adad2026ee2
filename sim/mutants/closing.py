"""`iep_closed` without the closing rule of one finding each.

A finding excuses a design that lacks its closing rule, and none that has it: a run of `iep_closed`
in which the rule is broken is a violation. Where one rule closes two findings, the mutant of the
one puts the weaker rule of the other in its place.
"""

from ddlsim.mutants.base import mutant
from ddlsim.protocol.design import as_shipped, closing, flows, schema_rules
from ddlsim.protocol.transaction import commit_check

# fmt: off
mutant("forgets_shown_columns", "110.lin", "serializability", reopens=("F-1",),
       commit_schema=commit_check.schema_at_commit_ts,
       summary="a transaction that looked at the columns commits across a compatible change")
mutant("commits_across_unless_shown", "110.lin", "serializability", reopens=("F-2",),
       commit_schema=closing.schema_at_commit_ts_exact_if_shown,
       summary="a transaction that has not looked at the columns commits across a change")
mutant("stamps_across_a_change", "110.lin", "serializability", reopens=("F-2",),
       validate_one_phase=commit_check.schema_at_the_stamp,
       summary="a one-phase write is stamped across a compatible change")
mutant("compares_only_with_rows", "110.valid.2", "own_ddl", reopens=("F-3",),
       check_operation_when=as_shipped.AFTER_LOCKS_WITH_ROWS,
       summary="an operation that finds nothing is not compared with the schema of its time")
mutant("unlocks_unjudged", "110.valid.1", "serializability", reopens=("F-4",),
       judges_commit=as_shipped.judge_writes_and_queries,
       summary="a key-value transaction that has only read is not judged at commit")
mutant("answers_at_once", "110.lin", "serializability", reopens=("F-5",),
       before_answer=flows.answer_at_once,
       summary="a commit on a new version is answered while clocks behind show the old one")
mutant("answers_once_active_only", "98.own", "serializability", reopens=("F-6",),
       before_answer=closing.answer_once_active_everywhere,
       summary="a commit is answered before its commit_ts is past by every clock")
mutant("compares_before_and_after", "110.compat.compound", "forward_compatible", reopens=("F-12",),
       also=("110.compat.id",),
       check_commit=as_shipped.each_step_as_shipped,
       summary="a statement is one difference by name, so a column dropped and added is the same")
mutant("overlooks_renames", "110.valid.2", "own_ddl", also=("110.table.rename",),
       reopens=("F-13", "F-14"), check_operation=as_shipped.same_table_version,
       summary="an operation goes on under the old name of a table, and as if it had no new index")
mutant("sets_not_null_over_rows", "110.fwd.1", "data_matches_schema", reopens=("F-15",),
       refuses_change=schema_rules.allow_every_conversion,
       summary="a column becomes NOT NULL though rows have no value of it")
mutant("joins_a_created_table", "110.lin", "serializability", reopens=("F-8",),
       commit_schema=commit_check.schema_at_commit_ts,
       summary="a transaction shown a table before a change uses one that was created after it")
mutant("joins_a_changed_table", "110.lin", "serializability", reopens=("F-9",),
       commit_schema=commit_check.schema_at_commit_ts,
       summary="a transaction shown a table before a change uses one that was changed after it")
mutant("mixes_instants_unless_shown", "110.lin", "serializability", reopens=("F-10",),
       commit_schema=closing.schema_at_commit_ts_exact_if_shown,
       summary="a transaction uses one table as before a change and another as after it")
