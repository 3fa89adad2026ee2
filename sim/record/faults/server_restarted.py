"""`server-restarted`: the server ends at once, as in a power failure, and starts again."""

from random import Random

from ddlsim.record.faults.base import FAULTS, Fault, Ground


def strike(ground: Ground, dice: Random) -> str:
    """Restart the server."""
    del dice
    ground.database.restart()
    return "the server was ended at once and started again"


FAULTS.add(
    "server-restarted",
    Fault("server-restarted", "the server ends at once and starts again", strike),
)
