"""A schema that is written for a version in the future.

`c8_future_rv`: "take the read version of a transaction and increment it by N". A process that read
the schema before may use it for N versions; between the read version and the commit version of the
update others read, and miss it. `c9_future_cv`: "using the commit version of the schema-updating
transaction rather than the read version" closes that. Of both: "there is a transaction that starts
before the atomic switchover version but commits after" it.

`c10_two_cutoffs` adds "another version ... after which no writes can take place at the old
version", a window later, and waits for it. A blind delete of a row may still cross, so that new
indexes go through delete-only; a drop is one update, behind whose second cutoff entries are erased.
`c11_future_conflict`: "a write-conflict-key in the future ... to invalidate any transactions that
cross the atomic switchover line". It must be known before the commit, hence the read version again;
so a schema is used a window shorter than the distance, which must be longer than a window: that
bounds how much later the update commits. It needs what FoundationDB lacks:
`future_write_conflicts`.
"""

from dataclasses import replace

from ddlsim.layer.rules import fences, plans, publishing, reading, waiting
from ddlsim.strategies.base import EVENTUAL, EXACT, claims, layer_design, layer_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

C8_FUTURE_RV = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c8_future_rv",
            "in force N versions after the read version of the update",
            "write to a database version in the future",
            EVENTUAL,
        ),
        read_schema=reading.in_force_at_read_version,
        plan=plans.three_states_alone,
        pause_before=publishing.once_the_last_is_in_force,
        activation=publishing.after_read_version,
        settle=waiting.in_force,
    )
)
C9_FUTURE_CV = layer_design(
    replace(
        C8_FUTURE_RV,
        header=layer_header(
            "c9_future_cv",
            "in force N versions after the commit version of the update",
            "using the commit version of the schema-updating transaction",
            (*EVENTUAL, *claims("I4")),
        ),
        activation=publishing.after_commit_version,
    )
)
C10_TWO_CUTOFFS = layer_design(
    replace(
        C9_FUTURE_CV,
        header=layer_header(
            "c10_two_cutoffs",
            "c9_future_cv with a second cutoff, for writes",
            "having two switchover versions",
            (*EVENTUAL, *claims("I4", "I7")),
        ),
        plan=plans.all_states_up,
        settle=waiting.in_force_and_drained,
    )
)
C11_FUTURE_CONFLICT = layer_design(
    replace(
        C8_FUTURE_RV,
        header=layer_header(
            "c11_future_conflict",
            "what crosses the version of the switch conflicts",
            "a write-conflict-key in the future",
            tuple(claim for claim in EXACT if claim.invariant != "I11"),
        ),
        read_schema=reading.in_force_less_the_window,
        fence=fences.cutover_key,
        publish=publishing.head_in_the_future,
        distance_ms=10_000,
    )
)
