"""The warm-up that IEP-98 mentions and does not contain, as it can be reconstructed.

"Note that this implies that we use HLC from now on, not the physical clock that we used in the
warm-up section" (IEP-98, Using safe time). Read as: timestamps are what a node's physical clock
shows, an update activates D after its message with D = PDmax + CSmax, and so it is on every node in
time as long as no message takes longer than PDmax. DD is the scenario's; it has to be sized so.

It claims what can be had in such a synchronous system: a message that is sent at Tm arrives while
no clock shows more than Tm + PDmax + CSmax <= Tu. What rests on the order of commit timestamps (I3,
I7, I10) it does not: nothing that passes between two nodes orders their clocks. And it claims what
every design is built on, that a node's timestamps rise, and the stamps along a log (I12). That is
wrong however well clocks and delays are bounded: a clock within its bounds can be set back, and a
new leader's can be behind the old one's. Hence hybrid clocks.
"""

from dataclasses import replace
from typing import Final

from ddlsim.model.design import DELAY_BOUNDED, SKEW_BOUNDED, Claim
from ddlsim.protocol.design.time_rules import never_waits, physical_clock
from ddlsim.strategies.base import FULL_CLAIMS, header, strategy
from ddlsim.strategies.iep import IEP

BY_COMMIT_TS: Final = ("I3", "I7", "I10")
"""What needs commit timestamps that follow from what a transaction has met."""

A2_WARMUP_PHYSICAL = strategy(
    replace(
        IEP,
        header=header(
            "a2_warmup_physical",
            "physical clocks, activates D = PDmax + CSmax after the message, never waits",
            "IEP-98, Using safe time (the warm-up section that it mentions)",
            tuple(
                Claim(claim.invariant, (*claim.assumes, SKEW_BOUNDED, DELAY_BOUNDED), claim.less)
                for claim in FULL_CLAIMS
                if claim.invariant not in BY_COMMIT_TS
            ),
        ),
        clock=physical_clock,
        completeness_ts=never_waits,
    )
)
