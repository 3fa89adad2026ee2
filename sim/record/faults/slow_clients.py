"""`slow-clients`: some clients wait before each statement, with their transactions open."""

from random import Random
from typing import Final

from ddlsim.record.faults.base import FAULTS, Fault, Ground

WAIT_MS: Final = (50.0, 500.0)
"""The least and the longest wait before a statement: below and above `LOCK_MS`, which is how long
others wait for the locks of a slow client.
"""
LASTING_S: Final = (0.2, 1.5)
"""The least and the longest time for which a client is slow."""
SHARE: Final = 4
"""At most one in so many clients gets slow at once, and at least one."""


def strike(ground: Ground, dice: Random) -> str:
    """Slow some clients down; that which changes tables is one of those drawn from."""
    numbers = range(len(ground.clients))
    slow = sorted(dice.sample(numbers, dice.randint(1, max(1, len(numbers) // SHARE))))
    wait_ms, seconds = dice.uniform(*WAIT_MS), dice.uniform(*LASTING_S)
    for number in slow:
        ground.clients[number].slow_down(wait_ms / 1000, seconds, ground.stop)
    named = "client" if len(slow) == 1 else "clients"
    waits = f"{'waits' if len(slow) == 1 else 'wait'} {wait_ms:.0f} ms before each statement"
    return f"{named} {', '.join(map(str, slow))}: {waits}, for {seconds:.1f} s"


FAULTS.add(
    "slow-clients",
    Fault("slow-clients", "some clients wait before each statement of a transaction", strike),
)
