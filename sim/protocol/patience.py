"""How long to wait for an answer before asking again: longer each time.

An answer may take a round of replication, over links that are slower than anybody thought. Who asks
again too early puts the same command into the log again and again, and may never be answered.
"""

from sim.model.ports import Settings
from sim.units import Micros


def patience(settings: Settings, tries: int) -> Micros:
    """For the try after `tries` others: doubled each time, up to an operation's time limit."""
    if not tries:
        return settings.resend_us
    longest = max(settings.operation_timeout_us, settings.resend_us)
    return Micros(min(settings.resend_us << min(tries, 16), longest))
