"""Worlds in which DD becomes smaller while the catalog of a node is behind.

A change that is stamped then is planned to activate before the one that came ahead of it, which
some nodes have in their log and not yet in their catalog: all of them have to put it behind that.
"""

from typing import Final

from ddlsim.plan.swarm_faults import is_calm, needs_replicas
from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to
from ddlsim.plan.swarm_work import NEITHER, is_quiet

NAME: Final = "lowered"
"""The table that is changed, which clients of its own use."""
SHARE: Final = 0.12
"""The share of the worlds with faults, where it is free; there are no other faults."""
TIMES: Final = 4
"""How often DD is raised for a while."""
RAISED: Final = (3, 5)
"""To how many DDs."""
BEHIND: Final = (1, 2, 3)
"""By how many DDs the catalog is behind."""
BY_SNAPSHOT: Final = 0.4
"""The share of these in which a node is cut off instead, and gets what it missed as a snapshot."""


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put the table, its changes, its clients and the faults into a world.

    `names` are the tables of the other clients.
    """
    unless = is_quiet(knobs) or is_calm(knobs) or needs_replicas(knobs)
    if not knobs.on("DD lowered before a slow catalog", SHARE, unless=unless):
        return
    die, load_ms = knobs.die("DD lowered before a slow catalog, details"), data["run"]["load_ms"]
    count = data["cluster"]["nodes"]
    slow: Table = {"name": "slow_listener", "node": f"n{die.between(1, count)}", "stage": "catalog"}
    slow["delay_ms"] = max(delay_ms * die.pick(BEHIND), 1)
    by_snapshot = knobs.on("DD lowered before a snapshot", BY_SNAPSHOT)
    faults = [] if by_snapshot else [slow | {"from_ms": 1, "for_ms": load_ms - 1}]
    slot_ms = max(load_ms * 8 // 10 // TIMES, 8)
    for turn in range(TIMES):
        raised: Table = {"name": "setting_change", "key": "delay_duration_ms"}
        raised |= {"from_ms": load_ms // 10 + turn * slot_ms, "for_ms": slot_ms // 2}
        raised["to"] = delay_ms * die.pick(RAISED)
        faults += [{**raised, "node": f"n{number}"} for number in range(1, count + 1)]
        apart_ms, until_ms = die.pick((1, 2, 4)), raised["from_ms"] + raised["for_ms"]
        then_ms = apart_ms
        if by_snapshot:
            faults.append(_cut_off(slow["node"], until_ms, delay_ms))
            then_ms = max(delay_ms * 3 // 2, 1)
        pair = _pair(turn, until_ms - apart_ms, min(until_ms + then_ms, load_ms - 1))
        data["migration"] = [*data.get("migration", []), *pair]
    if by_snapshot:
        data["protocol"]["snapshot_entries"] = 1
        knobs.tell("snapshot_entries", 1)
    data["faults"] = faults
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT);\n"
    data["workload"] = [*kept_to(names, data["workload"]), _clients(delay_ms)]


def _cut_off(node: str, until_ms: int, delay_ms: int) -> Table:
    """The node misses what comes just before DD is lowered, and is back before the next change."""
    from_ms, for_ms = max(until_ms - delay_ms, 1), max(delay_ms * 5 // 4, 1)
    cut: Table = {"name": "partition", "shape": "one_node", "node": node}
    return cut | {"from_ms": from_ms, "for_ms": for_ms}


def _pair(turn: int, before_ms: int, after_ms: int) -> list[Table]:
    """A change before DD is lowered, and one after."""
    return [
        {
            "at_ms": max(at_ms, 0),
            "node": "n1",
            "sql": f"ALTER TABLE {NAME} ADD COLUMN c{turn}{name} INT;\n",
        }
        for at_ms, name in ((before_ms, "a"), (after_ms, "b"))
    ]


def _clients(delay_ms: int) -> Table:
    """Clients that read and write a few rows."""
    table: Table = {"name": "mixed", "clients": 3, "tables": [NAME], "operations": 30, "keys": 20}
    return table | {**NEITHER, "get": 1, "put": 1, "retries": 0, "pause_ms": [0, delay_ms]}
