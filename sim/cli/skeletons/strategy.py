"""A strategy (a design of the protocol): IEP-98 and IEP-110 with one rule of its own.

`replace(IEP, field=function)` exchanges the rule of a field; `ddlsim list rules` shows the fields
and the rules that exist. The types of the functions are in `ddlsim.protocol.strategy`.
"""

from dataclasses import replace

from ddlsim.model.design import DesignHeader
from ddlsim.strategies.base import all_but, strategy
from ddlsim.strategies.iep import IEP
from ddlsim.units import Timestamp, plus_ms


def twice_the_delay_later(message_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """Tu = Tm + 2 * DD. The documents say Tu = Tm + DD [98.past.2]."""
    return plus_ms(message_ts, 2 * delay_duration_ms)


MY_STRATEGY = strategy(
    replace(
        IEP,
        header=DesignHeader(
            name="my_strategy",
            summary="activates schema updates 2 * DD after they were logged",
            source="ours",  # the document that proposes it
            plane="ignite",
            claims=all_but("I11"),  # promises every invariant but I11: nothing is later than needed
        ),
        activation_ts=twice_the_delay_later,
    )
)
