"""IEP-98 before its optimisation (Using safe time): activate at once, wait in full.

Every node waits for the propagation delay and for the next command of the log on every operation
(the text excepts the leader, see PROTOCOL.md, A5); in exchange a DDL is acknowledged DD earlier.
"""

from dataclasses import replace

from ddlsim.protocol.design.time_rules import at_message, at_operation
from ddlsim.strategies.base import all_less, header, strategy
from ddlsim.strategies.iep import IEP

A5_SAFETIME = strategy(
    replace(
        IEP,
        header=header(
            "a5_safetime",
            "Tu = Tm, waits for safeTime >= Top",
            "IEP-98, Using safe time",
            all_less("I11", "waited-too-long"),
        ),
        activation_ts=at_message,
        completeness_ts=at_operation,
    )
)
