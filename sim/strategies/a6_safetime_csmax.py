"""IEP-98's proof taken as the rule (Using safe time): wait for safeTime >= Top + CSmax.

The text's rule waits for Top, its proof says that the client "had to wait for safeTime >= Top +
CSmax". With one totally ordered log the shorter wait suffices; this one costs CSmax more on every
operation.
"""

from dataclasses import replace

from ddlsim.protocol.design.time_rules import at_message, operation_plus_skew
from ddlsim.strategies.base import all_less, header, strategy
from ddlsim.strategies.iep import IEP

A6_SAFETIME_CSMAX = strategy(
    replace(
        IEP,
        header=header(
            "a6_safetime_csmax",
            "Tu = Tm, waits for safeTime >= Top + CSmax",
            "IEP-98, Using safe time (the proof)",
            all_less("I11", "waited-too-long"),
        ),
        activation_ts=at_message,
        completeness_ts=operation_plus_skew,
    )
)
