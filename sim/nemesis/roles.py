"""The nodes that a fault names: by name, or by the role that a node plays when the fault begins.

Roles that begin with `its` belong to the moment at which the fault begins (`when`). Those that
begin with `any` are drawn before the run. The others are looked up at the instant at which the
fault begins, so that it strikes the leader or primary of that instant.
"""

import re
from typing import Final

from ddlsim.model.groups import META

LEADER: Final = "meta storage leader"
ANY: Final = "any node"
ANY_FOLLOWER: Final = "any follower"
"""Any node but the one that leads the meta storage at first."""
ANY_VOTER: Final = "any voter"
"""Any node that votes in the meta storage group."""
DRAWN: Final = (ANY, ANY_FOLLOWER, ANY_VOTER)

PARTITION: Final = r'(?:"((?:[^"]|"")+)"|([^/\s"][^/\s]*))(?:/(\d{1,9}))?'
"""A table, in quotes as in SQL if need be, and perhaps a partition: `t/1`, `"a b"/1`."""
PLAIN: Final = re.compile(r'[^/\s"][^/\s]*')
"""A name that needs no quotes."""
PRIMARY: Final = re.compile(rf"^primary of {PARTITION}$")
"""A table's primary: of partition 0, or of the partition named."""
PLACE_LEADER: Final = re.compile(rf"^leader of {PARTITION}$")
"""The leader of the replication group of a table's partition."""
COORDINATOR: Final = re.compile(r"^coordinator of (\S+)$")
"""The node of a client's last request; the first node if there was none yet."""

PLACE: Final = re.compile(rf"^{PARTITION}$")
"""A table's partition: `t/1`, or `t` for its partition 0."""

ITS_NODE: Final = "its node"
ITS_COORDINATOR: Final = "its coordinator"
ITS_PRIMARY: Final = "its primary"
ITS_LEADER: Final = "its leader"
ITS_SENDER: Final = "its sender"
ITS_RECEIVER: Final = "its receiver"
ITS_GROUP: Final = "its group"
ITS_PARTITION: Final = "its partition"
OF_MOMENTS: Final = {
    ITS_NODE: "the node where the moment came",
    ITS_COORDINATOR: "the coordinator of the transaction",
    ITS_PRIMARY: "the primary of the partition",
    ITS_LEADER: "the leader of the group",
    ITS_SENDER: "the node that sent the message",
    ITS_RECEIVER: "the node that the message is for",
    ITS_GROUP: "the replication group: the meta storage's, or that of the partition",
    ITS_PARTITION: "the partition; of a transaction the one where it commits",
}
"""Roles that are bound by the moment at which a fault begins, and what plays them."""

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
    """No node plays the role now: its table has been dropped, or does not exist yet."""


def table_of(role: str) -> tuple[str, int] | None:
    """The table and partition that a role names; None for a role without a table."""
    return _place(PRIMARY.match(role) or PLACE_LEADER.match(role))


def primary_in(role: str) -> tuple[str, int] | None:
    """The table and partition whose primary a role means; None for any other role."""
    return _place(PRIMARY.match(role))


def leader_in(role: str) -> tuple[str, int] | None:
    """The table and partition whose leader a role means; None for any other role."""
    return _place(PLACE_LEADER.match(role))


def _place(match: re.Match[str] | None) -> tuple[str, int] | None:
    if match is None:
        return None
    table = match[2] if match[1] is None else match[1].replace('""', '"')
    return table, int(match[3] or 0)


def named(table: str) -> str:
    """A table's name as roles and groups have it: in quotes where it needs them."""
    return table if PLAIN.fullmatch(table) else '"' + table.replace('"', '""') + '"'


def group_words(group: str) -> str:
    """A replication group or a partition as sentences have it: `partition t/0`."""
    if group in OF_MOMENTS:
        return f"the moment's {group.removeprefix('its ')}"
    place = place_of(group)
    return "the meta storage" if place is None else f"partition {named(place[0])}/{place[1]}"


def place_of(group: str) -> tuple[str, int] | None:
    """The table and partition of a group; None for `meta`, and for what names no group."""
    return None if group == META else _place(PLACE.match(group))
