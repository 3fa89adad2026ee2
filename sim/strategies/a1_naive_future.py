"""IEP-98's naive approach: install the update into the future, process right away.

"We cannot just use the naive approach of installing the update to the future and processing
transactions on the nodes right away" (IEP-98, Making sure a node does not miss any schema
messages). It is right only while no message takes longer than the delay duration less the skew.
Costs no wait at all.
"""

from dataclasses import replace

from ddlsim.model.design import DELAY_BOUNDED, Claim
from ddlsim.protocol.design.time_rules import never_waits
from ddlsim.strategies.base import FULL_CLAIMS, header, strategy
from ddlsim.strategies.iep import IEP

A1_NAIVE_FUTURE = strategy(
    replace(
        IEP,
        header=header(
            "a1_naive_future",
            "activates DD after the message, never waits for safe time",
            "IEP-98, Making sure a node does not miss any schema messages",
            tuple(
                Claim(claim.invariant, (*claim.assumes, DELAY_BOUNDED), claim.less)
                for claim in FULL_CLAIMS
            ),
        ),
        completeness_ts=never_waits,
    )
)
A1_UNASSUMING = strategy(
    replace(
        A1_NAIVE_FUTURE,
        header=header(
            "a1_unassuming",
            "a1_naive_future that claims to be right whatever happens",
            "IEP-98, Making sure a node does not miss any schema messages",
        ),
    )
)
