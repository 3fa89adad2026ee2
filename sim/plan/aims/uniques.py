"""Worlds in which a table gets a unique index while rows of its older schema are on their way.

They hold no lock on their values: their transactions wrote them before there was an index. Some are
intents: transactions write rows of several partitions, and outcomes come to all but the first of
them late. Others are writes in one phase: all disks are slow, and the index comes and goes.
"""

from typing import Final

from ddlsim.plan.swarm_faults import is_calm
from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to, migrate
from ddlsim.plan.swarm_required import lacks_values
from ddlsim.plan.swarm_work import NEITHER, is_quiet, only_compatible

NAME: Final = "singles"
"""The table, which clients of its own use."""
SHARE: Final = 0.04
"""The share of the worlds with faults that are neither quiet nor have compatible changes alone."""
ON_THEIR_WAY: Final = 0.5
"""The share of these worlds with writes in one phase; the others have intents."""
TIMES: Final = 5
"""How often the index comes there."""
VALUES: Final = 60
"""So many values of the index's column; about as many rows have some."""


def has_intents(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    unless = only_compatible(knobs) or is_quiet(knobs) or is_calm(knobs) or lacks_values(knobs)
    return knobs.on("unique index over intents", SHARE, unless=unless)


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put the table, its clients, its index and the late outcomes into a world.

    `names` are the tables of the other clients.
    """
    if not has_intents(knobs):
        return
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT);\n"
    data["workload"] = kept_to(names, data["workload"])
    if knobs.on("unique index over writes in one phase", ON_THEIR_WAY):
        _on_their_way(data, delay_ms)
    else:
        _intents(knobs, data, delay_ms)


def _intents(knobs: Knobs, data: Table, delay_ms: int) -> None:
    """Transactions of several rows, whose outcomes come late, around one new index."""
    die = knobs.die("unique index over intents, details")
    load_ms = data["run"]["load_ms"]
    at_ms = die.between(load_ms // 4, load_ms // 2)
    late_ms = delay_ms * die.pick((2, 3, 4))
    data["cluster"]["partitions"] = max(data["cluster"]["partitions"], 2)
    sql = f"CREATE UNIQUE INDEX single ON {NAME} (v)"
    index: Table = {"at_ms": at_ms, "node": "n1", "sql": sql}
    data["migration"] = [*data.get("migration", []), index]
    data["workload"] = [*data["workload"], _writers(delay_ms)]
    late: Table = {"name": "late_message", "kind": "cleanup", "count": 400}
    late |= {"from_ms": max(at_ms - late_ms, 1), "delay_ms": late_ms}
    data["faults"] = [*data.get("faults", []), late]
    for key in ("orphan_check_ms", "orphan_sweep_ms"):  # no participant asks sooner
        data["protocol"][key] = max(data["protocol"].get(key, 0), 8 * delay_ms)


def _on_their_way(data: Table, delay_ms: int) -> None:
    """Writes in one phase that take long to be stored, and an index that comes and goes."""
    load_ms = data["run"]["load_ms"]
    data["cluster"]["replicas"] = 3
    pair = f"CREATE UNIQUE INDEX single ON {NAME} (v);\nDROP INDEX single;\n"
    migrate(data, pair * TIMES, delay_ms // 2)
    one_phase = {
        "implicit": 1.0,
        "clients": 10,
        "keys": 12,
        "values": 12,
        "pause_ms": [0, delay_ms],
    }
    data["workload"] = [*data["workload"], _writers(delay_ms) | one_phase]
    slow: Table = {"name": "slow_disk", "delay_ms": max(delay_ms // 2, 1), "from_ms": 1}
    slow["for_ms"] = load_ms - 1
    nodes = [f"n{number}" for number in range(1, data["cluster"]["nodes"] + 1)]
    others = [one for one in data.get("faults", []) if one["name"] != "slow_disk"]
    data["faults"] = [*({**slow, "node": node} for node in nodes), *others]


def _writers(delay_ms: int) -> Table:
    """Clients whose transactions write several rows, each with one of a few values."""
    table: Table = {"name": "mixed", "clients": 6, "tables": [NAME], "operations": 80, "keys": 80}
    table |= {**NEITHER, "put": 1, "values": VALUES, "implicit": 0.2, "retries": 0}
    return table | {"transaction_operations": [2, 4], "pause_ms": [0, delay_ms]}
