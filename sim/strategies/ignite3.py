"""Apache Ignite 3 as shipped (commit d46ac208937 of 2026-03-27), where it differs from `iep`.

The initial schema I of every table is that at the transaction's begin, so a table that was created
later is not visible and an ALTER between begin and first use aborts. The primary of the commit
partition judges the commit, the coordinator does not; a key-value transaction that only read is not
judged at all. An operation's schema is compared after its locks, and only if there is a row; until
then only the table's existence is. Columns are compared by name, types only become wider. Open
transactions are not marked when a change activates.

What it claims: a new leader of the meta storage trusts its own clock; only a leader that was handed
the leadership was handed the time too. So stamps rise, and everything that rests on the order of
the log (I1 and what follows from it), only while clocks differ by no more than CSmax, and by no
more than the time until a silent leader is replaced (500 and 1200 ms by default; CSmax alone is no
bound, as `faults/quick_election` shows). Two are not claimed. I4: who has begun before a DDL was
acknowledged goes on with what held at its begin, and finds it out only from a row; for who begins
later, I3 has the real time after a DDL. I8: who is not judged at commit may have crossed any
change; whether that is harmless is for I3 to say. It is not: F-3 and F-4 are holes of this design.
"""

from dataclasses import replace

from sim.model.design import ELECTIONS_SLOW, SKEW_BOUNDED, Claim, DesignHeader
from sim.protocol import as_shipped, flows
from sim.protocol.failure_rules import keep_own_clock
from sim.strategies.base import strategy
from sim.strategies.iep import IEP

IGNITE3 = strategy(
    replace(
        IEP,
        header=DesignHeader(
            name="ignite3",
            summary="Apache Ignite 3 as shipped in March 2026",
            source="Apache Ignite 3, commit d46ac208937",
            plane="ignite",
            claims=tuple(
                Claim(invariant, (SKEW_BOUNDED, ELECTIONS_SLOW))
                for invariant in ("I1", "I2", "I3", "I5", "I7")
            ),
        ),
        take_over_clock=keep_own_clock,
        before_statement=flows.whatever_is_known,
        base_ts=as_shipped.at_begin,
        check_operation_when=as_shipped.AFTER_LOCKS_WITH_ROWS,
        check_commit=as_shipped.each_step_as_shipped,
        judges_commit=as_shipped.judge_writes_and_queries,
        refuses_change=as_shipped.allow_what_widens,
        on_activated=flows.leave_unmarked,
        commit_schema=as_shipped.judged_at_finish,
        validate_at_finish=as_shipped.schema_at_finish,
    )
)
