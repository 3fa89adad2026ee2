"""IEP-98 before its optimisation (Using safe time): activate at once, wait in full.

Every node but the leader waits for the propagation delay and for the next command of the log on
every operation; in exchange a DDL is acknowledged DD earlier.
"""

from dataclasses import replace

from ddlsim.model.design import DesignHeader
from ddlsim.protocol.design.time_rules import at_message, at_operation
from ddlsim.strategies.base import all_less, strategy
from ddlsim.strategies.iep import IEP

A5_SAFETIME = strategy(
    replace(
        IEP,
        header=DesignHeader(
            name="a5_safetime",
            summary="Tu = Tm, waits for safeTime >= Top",
            source="IEP-98, Using safe time",
            plane="ignite",
            claims=all_less("I11", "waited-too-long"),
        ),
        activation_ts=at_message,
        completeness_ts=at_operation,
    )
)
