"""IEP-98 as it stands at its end: safe time in the past, and its two neighbours.

`a7_dd` is `iep` under the catalogue's name. `a7_dd_csmax` also waits for CSmax, which makes it
right even if a new leader of the meta storage trusts its own clock, as long as that is behind no
other by more than CSmax (strategies.md, A6); `a7_unmerged` is that leader without the wait.
"""

from dataclasses import replace
from typing import Final

from ddlsim.model.design import SKEW_BOUNDED, Claim
from ddlsim.protocol.design.failure_rules import keep_own_clock
from ddlsim.protocol.design.time_rules import operation_less_delay_plus_skew
from ddlsim.strategies.base import all_less, header, strategy
from ddlsim.strategies.iep import IEP

SOURCE: Final = "IEP-98, Waiting for safe time in the past"

CLAIMS: Final = tuple(
    Claim(one.invariant, tuple(dict.fromkeys((*one.assumes, SKEW_BOUNDED))), one.less)
    if one.invariant != "I12"
    else one
    for one in all_less("I11", "waited-too-long")
)
"""What the wait for CSmax ensures. I12, that stamps rise, it claims whatever the clocks show."""

A7_DD = strategy(
    replace(IEP, header=header("a7_dd", "Tu = Tm + DD, waits for safeTime >= Top - DD", SOURCE))
)
A7_UNMERGED = strategy(
    replace(
        IEP,
        header=header("a7_unmerged", "a7_dd with a new leader that trusts its own clock", SOURCE),
        take_over_clock=keep_own_clock,
    )
)
A7_DD_CSMAX = strategy(
    replace(
        A7_UNMERGED,
        header=header(
            "a7_dd_csmax",
            "a7_unmerged that waits for safeTime >= Top - DD + CSmax",
            SOURCE,
            CLAIMS,
        ),
        completeness_ts=operation_less_delay_plus_skew,
    )
)
