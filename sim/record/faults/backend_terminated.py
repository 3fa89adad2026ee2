"""`backend-terminated`: the server ends the session of a client."""

from random import Random

from ddlsim.record.faults.base import FAULTS, Fault, Ground


def strike(ground: Ground, dice: Random) -> str:
    """Have the server end the session of one client."""
    connection = ground.connected(dice)
    if connection is None:
        return ""
    ground.database.terminate(connection)
    return "a session was ended by the server"


FAULTS.add(
    "backend-terminated",
    Fault("backend-terminated", "the server ends the session of a client", strike),
)
