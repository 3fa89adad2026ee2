"""Worlds in which a leader of the meta storage is away, and returns as the one after it stops.

A voter that returns has a log of its own: longer than that of the others by commands that were
never committed, or shorter than theirs by what its disk had not stored. What was committed
meanwhile is on one voter alone of those that are left. Voters stand for election after times that
are far apart, so that either of the two may lead next. In some of these worlds there is one voter,
which knows after its return only what its snapshot and its log say: a command that was answered
before comes to it again. In others two voters that do not hear each other stand in one term, and
the third one gets their requests apart, or stops in between.
"""

from typing import Final

from ddlsim.plan.swarm_free import is_taken
from ddlsim.plan.swarm_knobs import Knobs, Table
from ddlsim.workload.base import Die

NAME: Final = "returned"
"""The table that is changed meanwhile; it has no clients."""
SHARE: Final = 0.08
"""The share of the worlds with faults, where it is free; there are no other faults."""
VOTERS: Final = ("n1", "n2", "n3")
HOW: Final = ("cut off", "cut off", "disk behind", "asked again", "rivals")
"""A leader is cut off, or it stops before its disk has stored what it led to a commit, or after it
has answered a command in vain, or it stands for election beside another voter."""
PATIENCE: Final = (1, 1, 1, 2, 4)
"""The election timeout of a node, as a multiple of the least."""
LEAST_MS: Final = 15
"""The least election timeout."""
TURNS: Final = 3
"""The most turns within a load."""
SLOT: Final = 14
"""How long a turn is, in election timeouts; the voter that stops does so for most of it."""
STATEMENTS: Final = 4
"""So many statements come to a leader while it is cut off."""


def add(knobs: Knobs, data: Table) -> None:
    """Put the statements and the faults into a world."""
    unless = is_taken(knobs) or data["cluster"]["nodes"] < len(VOTERS)
    if not knobs.on("leader returns", SHARE, unless=unless):
        return
    die, protocol = knobs.die("leader returns, details"), data["protocol"]
    wait_ms = max(protocol["delay_duration_ms"] // 2, LEAST_MS)
    load_ms = max(data["run"]["load_ms"], SLOT * wait_ms)
    data["run"]["load_ms"] = load_ms
    knobs.tell("load_ms", load_ms)
    nodes = [f"n{number}" for number in range(1, data["cluster"]["nodes"] + 1)]
    own = {node: wait_ms * die.pick(PATIENCE) for node in nodes}
    how = knobs.pick("leader returns, how", HOW)
    data["cluster"]["voters"] = len(VOTERS)
    if how == "asked again":
        data["cluster"]["voters"] = 1
        protocol |= {"snapshot_entries": 1, "resend_ms": 4 * wait_ms}
        knobs.tell("snapshot_entries", 1)
    protocol["election_timeout_ms"] = wait_ms
    protocol["nodes"] = {node: {"election_timeout_ms": own_ms} for node, own_ms in own.items()}
    knobs.drop(protocol, "election_spread_ms", "heartbeat_ms")
    knobs.tell("election_timeout_ms", wait_ms)
    knobs.tell("a node's own DD", "off")
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT);\n"
    data["faults"] = []
    turns = min(max(load_ms // (SLOT * wait_ms), 1), TURNS)
    apart_ms = max(load_ms // turns, 1)
    for turn in range(turns):
        at_ms = load_ms // 20 + turn * apart_ms
        faults, statements = STORIES[how](die, at_ms, wait_ms, turn)
        until_ms = min(load_ms, at_ms + apart_ms)
        data["faults"] += [_within(fault, until_ms) for fault in faults]
        data["migration"] = [*data.get("migration", []), *statements]


def _within(fault: Table, until_ms: int) -> Table:
    """The fault, over when the next turn begins or the load ends, and begun before."""
    from_ms = min(fault["from_ms"], until_ms - 1)
    for_ms = {"for_ms": min(fault["for_ms"], until_ms - from_ms)} if "for_ms" in fault else {}
    return fault | {"from_ms": from_ms} | for_ms


def _statement(node: str, at_ms: int, column: str) -> Table:
    return {"at_ms": at_ms, "node": node, "sql": f"ALTER TABLE {NAME} ADD COLUMN {column} INT;\n"}


def _cut_off(die: Die, at_ms: int, wait_ms: int, turn: int) -> tuple[list[Table], list[Table]]:
    """A leader is cut off and goes on logging; the next one commits, and stops as it returns."""
    leader, *others = die.some(VOTERS, len(VOTERS))
    cut_ms, away_ms = at_ms + wait_ms, die.between(4, 7) * wait_ms
    back_ms = cut_ms + away_ms
    faults: list[Table] = [
        {"name": "leader_transfer", "to": leader, "from_ms": at_ms},
        {"name": "partition", "shape": "one_node", "node": leader, "from_ms": cut_ms,
         "for_ms": away_ms},
    ]  # fmt: skip
    stop: Table = {"name": "crash", "from_ms": back_ms + die.pick((-2, 0, 0, 1, wait_ms))}
    stop["node"] = die.pick(("meta storage leader", *others))
    faults.append({**stop, "for_ms": die.between(4, 8) * wait_ms})
    statements = [
        _statement(leader, cut_ms + 1 + place, f"l{turn}_{place}") for place in range(STATEMENTS)
    ]
    for place, node in enumerate(others):
        late_ms = back_ms - die.between(1, 2 * wait_ms)
        statements.append(_statement(node, late_ms, f"o{turn}_{place}"))
    return faults, statements


def _disk_behind(die: Die, at_ms: int, wait_ms: int, turn: int) -> tuple[list[Table], list[Table]]:
    """A leader has stored less than it led to a commit when it stops, and one voter has it all."""
    leader, has, lacks = die.some(VOTERS, len(VOTERS))
    slow_ms = at_ms + wait_ms
    stop_ms = slow_ms + die.between(max(wait_ms // 2, 1), wait_ms)
    for_ms = die.between(1, max(wait_ms // 4, 2))
    alone: Table = {"name": "partition", "shape": "one_node"}
    faults: list[Table] = [
        {"name": "leader_transfer", "to": leader, "from_ms": at_ms},
        {"name": "slow_disk", "node": leader, "delay_ms": 2 * wait_ms, "from_ms": slow_ms,
         "for_ms": 2 * wait_ms},
        {**alone, "node": lacks, "from_ms": slow_ms, "for_ms": stop_ms - slow_ms + 1},
        {"name": "crash", "node": leader, "lose_unsynced": True, "from_ms": stop_ms,
         "for_ms": for_ms},
        {**alone, "node": has, "from_ms": stop_ms, "for_ms": 8 * wait_ms},
    ]  # fmt: skip
    statements = [
        _statement(has, slow_ms + 1 + place, f"h{turn}_{place}") for place in range(STATEMENTS)
    ]
    return faults, statements


def _asked_again(die: Die, at_ms: int, wait_ms: int, turn: int) -> tuple[list[Table], list[Table]]:
    """A node does not get the answer to its statement; the leader stops before it is asked again.

    Other statements come in between.
    """
    leader, *others = VOTERS
    asks, other = die.some(others, len(others))
    lost: Table = {"name": "lost_message", "kind": "submitted", "sender": leader, "to": asks}
    stop: Table = {"name": "crash", "node": leader, "from_ms": at_ms + 3 * wait_ms}
    statements = [_statement(asks, at_ms + 1, f"a{turn}")]
    for place in range(STATEMENTS):
        late_ms = at_ms + 2 + place * wait_ms // 4
        statements.append(_statement(other, late_ms, f"b{turn}_{place}"))
    return [{**lost, "from_ms": at_ms}, {**stop, "for_ms": max(wait_ms // 4, 1)}], statements


def _rivals(die: Die, at_ms: int, wait_ms: int, turn: int) -> tuple[list[Table], list[Table]]:
    """Two voters stand in one term, apart from each other; the third one votes, and may restart."""
    leader, rival, third = die.some(VOTERS, len(VOTERS))
    others = [one for one in VOTERS if one != leader]
    from_ms = at_ms + 2 * wait_ms
    apart: Table = {"name": "partition", "shape": "link", "node": leader, "side": [rival]}
    stand: Table = {"name": "re_election", "rival": others.index(rival) + 1}
    late: Table = {"name": "late_message", "kind": "request-vote", "to": third}
    late |= {"sender": die.pick((leader, rival)), "delay_ms": die.between(2, max(wait_ms // 2, 3))}
    faults: list[Table] = [
        {"name": "leader_transfer", "to": leader, "from_ms": at_ms},
        {**apart, "from_ms": from_ms, "for_ms": die.between(2, 4) * wait_ms},
        {**late, "from_ms": from_ms},
        {**stand, "from_ms": from_ms + 1},
    ]
    if die.chance(0.5):
        slow: Table = {"name": "slow_disk", "node": third, "delay_ms": wait_ms, "from_ms": from_ms}
        again: Table = {"name": "crash", "node": third, "lose_unsynced": True, "for_ms": 1}
        again["from_ms"] = from_ms + die.between(2, max(wait_ms // 4, 3))
        faults += [{**slow, "for_ms": 2 * wait_ms}, again]
    statements = [
        _statement(node, from_ms + 2 + place * max(wait_ms // 2, 1), f"r{turn}_{node}_{place}")
        for node in (leader, rival)
        for place in range(2)
    ]
    return faults, statements


STORIES: Final = {
    "cut off": _cut_off,
    "disk behind": _disk_behind,
    "asked again": _asked_again,
    "rivals": _rivals,
}
