"""Who a fault strikes: a node by its name, or the role that it plays when the fault begins.

Dice decide the roles that begin with `any` before the run. The others are looked up at the instant
at which the fault begins, so that it strikes whoever leads, or is primary, by then.
"""

import re
from typing import Final

LEADER: Final = "meta storage leader"
ANY: Final = "any node"
ANY_FOLLOWER: Final = "any follower"
"""Any node but the one that leads the meta storage at first."""
ANY_VOTER: Final = "any voter"
"""Any node that votes in the meta storage group."""
DRAWN: Final = (ANY, ANY_FOLLOWER, ANY_VOTER)

PRIMARY: Final = re.compile(r"^primary of ([^/\s]+)(?:/(\d{1,9}))?$")
"""A table's primary: of partition 0, or of the partition named."""
PLACE_LEADER: Final = re.compile(r"^leader of ([^/\s]+)(?:/(\d{1,9}))?$")
"""Who leads the replication group of a table's partition."""
COORDINATOR: Final = re.compile(r"^coordinator of (\S+)$")
"""The node that a client has asked last; the first node if it has asked none yet."""

META: Final = "meta"
PLACE: Final = re.compile(r"^([^/\s]+)(?:/(\d{1,9}))?$")
"""A table's partition: `t/1`, or `t` for its partition 0."""

SHOWN: Final = (
    LEADER,
    "primary of TABLE",
    "leader of TABLE",
    "coordinator of CLIENT",
    ANY,
    ANY_FOLLOWER,
    ANY_VOTER,
)
"""Every role as it is shown to people."""


class VacantRoleError(LookupError):
    """Nobody plays the role at this instant: its table has been dropped, or is not there yet."""


def table_of(role: str) -> tuple[str, int] | None:
    """The table and partition that a role is about."""
    match = PRIMARY.match(role) or PLACE_LEADER.match(role)
    return None if match is None else (match[1], int(match[2] or 0))


def place_of(group: str) -> tuple[str, int] | None:
    """The table and partition of a group; None for the meta storage's, and where it is none."""
    match = PLACE.match(group)
    return None if match is None or group == META else (match[1], int(match[2] or 0))
