"""Worlds in which requests are delivered twice, and the first answer is lost.

A copy is answered in place of the request: by what that has done, whose condition the copy itself
would find otherwise. Or it comes when its transaction is over, at another leader, or at one that
has stopped or learned a schema since. Clients write the same few rows under conditions.
"""

from typing import Final

from ddlsim.plan.swarm_free import is_taken
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table, kept_to, migrate
from ddlsim.plan.swarm_work import NEITHER
from ddlsim.workload.base import Die

NAME: Final = "copied"
"""The table, which clients of its own use."""
SHARE: Final = 0.06
"""The share of the worlds with faults, where it is free; there are no other faults."""
ANSWERS: Final = {
    "operate": "operated",
    "partition-submit": "partition-submitted",
    "finish": "finished",
    "cleanup": "cleaned",
}
"""The requests, and what answers them."""
ROUNDS: Final = 12
STATEMENTS: Final = 8


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put the table, its clients, its changes and the faults into a world.

    `names` are the tables of the other clients.
    """
    is_between = knobs.drawn.get("changes between two tables", OFF) != OFF
    if not knobs.on("copies behind lost answers", SHARE, unless=is_between or is_taken(knobs)):
        return
    die, load_ms = knobs.die("copies behind lost answers, details"), data["run"]["load_ms"]
    data["cluster"]["replicas"] = die.pick((1, 3, 3))
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT);\n"
    sql = "".join(f"ALTER TABLE {NAME} ADD COLUMN d{n} INT;\n" for n in range(STATEMENTS))
    migrate(data, sql, load_ms * 8 // 10 // STATEMENTS)
    data["workload"] = [*kept_to(names, data["workload"]), _clients(delay_ms)]
    data["faults"] = []
    room_ms = load_ms * 8 // 10 // ROUNDS
    for turn in range(ROUNDS):
        from_ms = load_ms // 10 + turn * room_ms
        data["faults"] += _round(die, from_ms, room_ms, data["cluster"], delay_ms)


def _clients(delay_ms: int) -> Table:
    """Clients whose writes depend on what is there, many of them a transaction each."""
    table: Table = {"name": "mixed", "clients": 12, "operations": 40, "tables": [NAME], "keys": 12}
    table |= {**NEITHER, "get": 1, "delete": 3, "insert": 4, "strict": 2, "replace": 3, "put": 1}
    table |= {"implicit": 0.6, "retries": 0, "rollback": 0.0, "transaction_operations": [1, 3]}
    return table | {"pause_ms": [0, delay_ms / 2]}


def _round(die: Die, from_ms: int, room_ms: int, cluster: Table, delay_ms: int) -> list[Table]:
    """Copies of some requests, a few lost answers, and now and then another leader, a stop, or a
    node that learns nothing; within `room_ms`."""
    request = die.pick(("operate", "partition-submit", *ANSWERS))
    late_ms = max(round(delay_ms * die.pick((0.05, 0.2, 1, 3))), 1)
    copies: Table = {"name": "doubled_message", "kind": request, "count": die.pick((2, 4, 8))}
    lost: Table = {"name": "lost_message", "kind": ANSWERS[request], "count": die.pick((1, 2, 3))}
    made = [{**copies, "delay_ms": late_ms, "from_ms": from_ms}, {**lost, "from_ms": from_ms}]
    behind_ms = from_ms + die.below(max(min(late_ms, room_ms // 2), 1))
    node, lasts_ms = f"n{die.between(1, cluster['nodes'])}", max(room_ms // 3, 1)
    group = f"{NAME}/{die.below(cluster['partitions'])}"
    match die.pick(("", "leader", "leader", "stop", "lag")):
        case "leader":
            made.append({"name": "leader_transfer", "group": group, "from_ms": behind_ms})
        case "stop":
            made.append({"name": "crash", "node": node, "from_ms": behind_ms, "for_ms": lasts_ms})
        case "lag":
            lag: Table = {"name": "learner_lag", "node": node, "from_ms": from_ms}
            made.append({**lag, "for_ms": room_ms // 2 + 1})
    return made
