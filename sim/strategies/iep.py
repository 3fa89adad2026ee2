"""IEP-98 and IEP-110: the text with the clauses that its own proofs need, and the text alone.

`iep_literal` has none of the x clauses. What the code keeps that sounds like one is in the text, or
has no effect without it: messages of the meta storage come in the order of its log, so safe time,
which they carry, is told by the log and not beside it [98.def.3]; and the term of a safe-time
command means nothing where every such command counts [98.x.6].
"""

from sim.model.design import DesignHeader
from sim.protocol import flows
from sim.protocol.failure_rules import (
    any_tick,
    as_planned,
    first_stamp,
    from_the_beginning,
    keep_own_clock,
)
from sim.protocol.strategy import ARRIVAL_ONLY, ON_APPLICATION, Strategy
from sim.protocol.time_rules import (
    activation_plus_skew,
    at_once,
    clock_of_this_life,
    own_delay,
    tick_with_current_time,
    whatever_delay,
)
from sim.strategies.base import FULL_CLAIMS, strategy

IEP = strategy(
    Strategy(
        header=DesignHeader(
            name="iep",
            summary="IEP-98 and IEP-110, with the x clauses that their own proofs need",
            source="IEP-98, IEP-110",
            plane="ignite",
            claims=FULL_CLAIMS,
        )
    )
)

IEP_LITERAL = strategy(
    Strategy(
        header=DesignHeader(
            name="iep_literal",
            summary="IEP-98 and IEP-110 to the letter: none of the x clauses",
            source="IEP-98, IEP-110",
            plane="ignite",
            claims=FULL_CLAIMS,
        ),
        acknowledge_ts=activation_plus_skew,
        acknowledge_known_ts=at_once,
        before_statement=flows.whatever_is_known,
        message_delay=own_delay,
        reader_delay_bound=whatever_delay,
        clock=clock_of_this_life,
        stamp_again=first_stamp,
        restored_safe_ts=from_the_beginning,
        tick_counts=any_tick,
        take_over_clock=keep_own_clock,
        activation_in_order=as_planned,
        tick_ts=tick_with_current_time,
        publish_safe_time=ON_APPLICATION,
        check_operation_when=ARRIVAL_ONLY,
        before_commit_ts=flows.stamp_at_once,
    )
)
