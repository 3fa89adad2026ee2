"""`client-killed`: a client's connection is cut in the middle of whatever it does."""

from random import Random

from ddlsim.record.faults.base import FAULTS, Fault, Ground


def strike(ground: Ground, dice: Random) -> str:
    """Cut the connection of one client."""
    connection = ground.connected(dice)
    if connection is None:
        return ""
    ground.database.cut(connection)
    return "a client's connection was cut"


FAULTS.add(
    "client-killed",
    Fault("client-killed", "a client's connection is cut in mid-transaction", strike),
)
