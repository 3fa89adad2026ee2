"""Apache Ignite 3 as shipped (commit d46ac208937 of 2026-03-27), where it differs from `iep`.

The initial schema I of every table is that at the transaction's begin, so a table that was created
later is not visible and an ALTER between begin and first use aborts. The primary of the commit
partition judges the commit, the coordinator does not; a key-value transaction that only read is not
judged at all. An operation's schema is compared after its locks, and only if there is a row, to be
found or to be left; until then only the table's existence is. What a read finds is judged before
that, so a newer row is reported as such. Indexes and names make no table version: operations do not
notice them, the commit does. A statement is one difference of the table before and after it, column
by column of equal names, and columns only become wider: their types by rules of their own, and no
NOT NULL is added. A one-phase write whose leader lacks the metadata for its stamp is tried again,
up to its time limit. Open transactions are not marked when a change activates.

What it claims: a new leader of the meta storage trusts its own clock; only a leader that was handed
the leadership was handed the time too. So stamps rise, and everything that rests on the order of
the log (I1, what follows from it, and I12), only while clocks differ by no more than CSmax, and by
no more than the time until a silent leader is replaced (500 and 1200 ms by default; CSmax alone is
no bound, as `faults/quick_election` shows). I9 and I10 are claimed as `iep` claims them, under the
same. I11 is claimed but for `compatible-change`: a renamed column and the types that IEP-110 lets
become wider abort here. Two are not claimed. I4: a transaction that began before a DDL was
acknowledged goes on under the schema of its begin, and only a row can abort it; for later ones, I3
has the real time after a DDL. I8: a transaction that is not judged at commit may have crossed any
change; I3 decides whether that is harmless. It is not: F-3 and F-4 are holes of this design, and so
are F-12, a column that one statement drops and adds again, F-13, a reader that misses a rename, and
F-14, one that was shown the columns and misses an index.
"""

from dataclasses import replace
from typing import Final

from ddlsim.model.design import ELECTIONS_SLOW, SKEW_BOUNDED, Claim
from ddlsim.protocol.design import as_shipped, flows
from ddlsim.protocol.design.failure_rules import keep_own_clock
from ddlsim.strategies.base import all_but, header, strategy
from ddlsim.strategies.iep import IEP

ORDERED: Final = (SKEW_BOUNDED, ELECTIONS_SLOW)
"""What keeps the stamps of the meta storage in the order of its log."""
STAMPED: Final = (
    *("stamps-unordered", "leases-overlap", "lease-shortened", "committed-beyond-lease"),
    *("executed-beyond-lease", "under-two-leases", "safe-time-went-back"),
)
"""What of I12 rests on that order; the rest of it holds whatever the clocks show.

A restarted node has the safe time of the last stamp in its log, which need not be the largest.
"""
LESS: Final = {"I11": ("compatible-change",)}

IGNITE3 = strategy(
    replace(
        IEP,
        header=header(
            "ignite3",
            "Apache Ignite 3 as shipped in March 2026",
            "Apache Ignite 3, commit d46ac208937",
            tuple(
                Claim(
                    claim.invariant,
                    ORDERED,
                    LESS.get(claim.invariant, claim.less),
                    STAMPED if claim.invariant == "I12" else (),
                )
                for claim in all_but("I4", "I8")
            ),
            backward="by_table_version",
        ),
        take_over_clock=keep_own_clock,
        before_statement=flows.whatever_is_known,
        base_ts=as_shipped.at_begin,
        check_operation_when=as_shipped.AFTER_LOCKS_WITH_ROWS,
        check_operation=as_shipped.same_table_version,
        excuses_tuple=as_shipped.is_of_same_table_version,
        check_commit=as_shipped.each_step_as_shipped,
        judges_commit=as_shipped.judge_writes_and_queries,
        refuses_change=as_shipped.allow_what_widens,
        leader_is_late=as_shipped.ask_leader_again,
        on_activated=flows.leave_unmarked,
        commit_schema=as_shipped.judged_at_finish,
        validate_at_finish=as_shipped.schema_at_finish,
    )
)
