"""IEP-98's alternative of an inactive state: an update takes effect once every node has it.

"A schema update could be held in an inactive state for an indeterminate period of time creating a
form of unavailability" (IEP-98). `a4_ack_gate` then activates it as the text does, DD after its
message; `a4_on_receipt` believes that being known everywhere is enough, and it is not.
"""

from dataclasses import replace
from typing import Final

from ddlsim.protocol.design import agreed_installs
from ddlsim.protocol.design.flows import what_is_known, whatever_is_known
from ddlsim.protocol.design.time_rules import at_message, at_once
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.iep import IEP

SOURCE: Final = "IEP-98, updates held in an inactive state"

A4_ACK_GATE = strategy(
    replace(
        IEP,
        header=header("a4_ack_gate", "a DDL begins once every node has confirmed it", SOURCE),
        install=agreed_installs.install_once_known_everywhere,
    )
)
A4_ON_RECEIPT = strategy(
    replace(
        A4_ACK_GATE,
        header=header("a4_on_receipt", "known everywhere, then used wherever it arrives", SOURCE),
        activation_ts=at_message,
        resolve_schema=what_is_known,
        before_statement=whatever_is_known,
        acknowledge_ts=at_once,
    )
)
