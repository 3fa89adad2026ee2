"""Histories of two nodes whose safe times move all the time, and bounds of I9 for them."""

from ddlsim.history.events import SafeTimeAdvanced
from ddlsim.history.world_events import StepMissed
from tests.support.history import Story, ts

NODE = {
    "safe_time_interval_ms": 50,
    "max_clock_skew_ms": 5,
    "delay_duration_ms": 20,
    "resend_ms": 10,
    "retry_ms": 2,
    "election_timeout_ms": 100,
    "election_spread_ms": 100,
    "heartbeat_ms": 10,
    "heartbeat_idle_ms": 50,
    "lease_duration_ms": 2000,
    "lease_check_ms": 50,
    "lease_grant_ms": 500,
    "partition_idle_ms": 40,
    "read_resend_ms": 80,
    "orphan_answer_ms": 30,
    "tx_timeout_ms": 300,
    "lock_retry_ms": 1,
}
COMMAND = 8 + 3
RESENT = 2 * 10 + 2
COMPLETE = 5 + 50 + 8 + 3 + RESENT
SUBMIT = 32 + RESENT
PLACE = 2 * 5 + 2 * 50 + SUBMIT
COMMIT = 10 + 2 * SUBMIT + PLACE + 4 * COMPLETE + 2 * 5 + 3
DATA = PLACE + 8 * COMPLETE + SUBMIT + 60 + 40
CLIENT = 4 + 3
REFRESHED = 5 * (2 + COMPLETE)
"""Bounds in milliseconds, for messages of 1 ms at most."""


def quiet(end: int, *, cluster: dict[str, int] | None = None, **changes: int) -> Story:
    """Two nodes whose safe times move all the time."""
    whole = {"calm": 1, "slowest_us": 1000, "voters": 3} | (cluster or {})
    node = NODE | changes
    story = Story(("I9",), settings={"": whole, "n1": node, "n2": node})
    for at in range(0, end, 50):
        for name in ("n1", "n2"):
            story.add(at, SafeTimeAdvanced, name, ts(at))
    story.add(end, StepMissed, "s", 1, "ok", "nothing")  # any event: the end
    return story
