"""IEP-98's motivating failure: a node uses a new definition as soon as it has applied it.

"Some nodes might have already applied the new table definition" (IEP-98, the motivating example).
No timestamp says from when on an update counts, so two nodes differ for as long as its messages are
on their way. It claims nothing and is the negative baseline.
"""

from dataclasses import replace

from ddlsim.protocol.design.flows import what_is_known, whatever_is_known
from ddlsim.protocol.design.time_rules import at_message, at_once
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.iep import IEP

A0_ON_RECEIPT = strategy(
    replace(
        IEP,
        header=header(
            "a0_on_receipt",
            "uses the newest version that a node has applied, acknowledges at once",
            "IEP-98, the motivating example",
            (),
        ),
        activation_ts=at_message,
        resolve_schema=what_is_known,
        before_statement=whatever_is_known,
        acknowledge_ts=at_once,
        acknowledge_known_ts=at_once,
    )
)
