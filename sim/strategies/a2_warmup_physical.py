"""The warm-up that IEP-98 mentions and does not contain, as it can be reconstructed.

An update activates D after its message with D = PDmax + CSmax, so that it reaches every node in
time, as long as no message takes longer than PDmax. "Note that this implies that we use HLC from
now on, not the physical clock that we used in the warm-up section" (IEP-98, Using safe time): here
it runs on hybrid clocks as everything does. DD is the scenario's; it has to be sized like that.
"""

from dataclasses import replace

from sim.model.design import DELAY_BOUNDED, SKEW_BOUNDED, Claim, DesignHeader
from sim.protocol.time_rules import never_waits
from sim.strategies.base import FULL_CLAIMS, strategy
from sim.strategies.iep import IEP

A2_WARMUP_PHYSICAL = strategy(
    replace(
        IEP,
        header=DesignHeader(
            name="a2_warmup_physical",
            summary="activates D = PDmax + CSmax after the message, never waits",
            source="IEP-98, Using safe time (the warm-up section that it mentions)",
            plane="ignite",
            claims=tuple(
                Claim(claim.invariant, (*claim.assumes, SKEW_BOUNDED, DELAY_BOUNDED), claim.less)
                for claim in FULL_CLAIMS
            ),
        ),
        completeness_ts=never_waits,
    )
)
