"""Index builds of drawn worlds, for designs on the Ignite plane that have them.

Worlds of other designs are drawn without a die of this module, and stay what they are.
"""

from typing import Final

from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.plan.swarm_work import LATE

ROWS: Final = (1, 2, 8, 50)
"""Rows of one step of a backfill."""
UNANSWERED: Final = 0.4
"""The share of worlds in which questions about older transactions are lost, and a coordinator is
soon taken for one that left: its transactions, many of them long, cross the build."""
FEW: Final = 0.6
"""The share of worlds with few other clients, and no other DDL: tables stay, and locks are free."""


def add(knobs: Knobs, data: Table) -> None:
    """Put clients that build an index into a world, and draw how fast the build is."""
    protocol, load_ms = data["protocol"], data["run"]["load_ms"]
    delay_ms = max(protocol["delay_duration_ms"], 1)
    protocol["backfill_rows"] = knobs.pick("backfill_rows", ROWS)
    protocol["backfill_pause_ms"] = round(knobs.pick("pause of DD", (0, 0.1, 0.5)) * delay_ms)
    if not knobs.on("index builds", 0.9):
        return
    die = knobs.die("index builds, details")
    builds, clients = die.between(1, 3), die.between(4, 10)
    knobs.tell("index builds", f"{builds}, {clients} clients")
    operations = die.between(20, 40)
    long = die.pick((0.0, 0.1, 0.3))
    knobs.tell("long", long or OFF)
    work: Table = {
        "name": "index_builds",
        "clients": clients,
        "builds": builds,
        "operations": operations,
        "pause_ms": [0, 2 * load_ms / operations],
        "gap_ms": [0, delay_ms * die.pick((0, 0.02, 0.2))],
        "long": long,
        "long_gap_ms": [delay_ms / 2, 3 * delay_ms],
        "build_pause_ms": [0, load_ms / (10 * builds)],
        "stay_ms": [0, load_ms / builds],
        "finds": die.pick((0.4, 0.7)),
        "read_only": die.pick((0.1, 0.3)),
        "implicit": die.pick((0.2, 0.6)),
        "keys": die.pick((3, 10, 40)),
        "values": die.pick((2, 5)),
        "retries": die.pick((0, 2)),
    }
    unanswered = knobs.on("drain unanswered", UNANSWERED)
    if unanswered:
        lost: Table = {"name": "lost_message", "kind": "are-older-open"}
        lost |= {"count": die.pick((5, 100, 100)), "from_ms": die.between(0, load_ms // 4)}
        data["faults"] = [*data.get("faults", []), lost]
        protocol["election_timeout_ms"] = max(delay_ms // 4, 5)
        work |= {"long": 0.6, "long_gap_ms": [delay_ms, 4 * delay_ms], "implicit": 0.1}
        work |= {"finds": 0.15, "read_only": 0.1, "keys": 40, "transaction_operations": [2, 4]}
        work |= {"builds": 1, "stay_ms": 2 * load_ms}
        protocol |= {"backfill_rows": max(ROWS), "backfill_pause_ms": 0}
    if knobs.on("few beside index builds", FEW) or unanswered:
        late = [one for one in data.pop("migration", ()) if f"TABLE {LATE} " in one["sql"]]
        if late:  # faults may name it
            data["migration"] = late
        data["run"]["load_ms"] = 2 * load_ms
        mixed = {**data["workload"][0], "clients": die.between(1, 4), "find": 15}
        data["workload"] = [mixed, work]
    else:
        data["workload"] = [*data["workload"], work]
