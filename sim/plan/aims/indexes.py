"""Index builds of drawn worlds, for designs on the Ignite plane that have them.

Worlds of other designs are drawn without a die of this module, and stay what they are.
"""

import re
from collections.abc import Callable
from typing import Final

from ddlsim.plan.swarm_knobs import OF_NEAR_MS, OFF, Knobs, Table
from ddlsim.plan.swarm_work import LATE

ROWS: Final = (1, 2, 8, 50)
"""Rows of one step of a backfill."""
AGAIN: Final = 0.3
"""The share of worlds without an aim in which transactions write few rows several times each."""
FEW: Final = 0.6
"""The share of worlds with few other clients, and no other DDL: tables stay, and locks are free."""

LONGER: Final = 3
"""How many times as long the load of such a world lasts."""
DROPPED: Final = 0.6
"""The share of such worlds without an aim in which a table is dropped."""


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
    operations = die.between(60, 120)
    long = die.pick((0.0, 0.1, 0.3))
    knobs.tell("long", long or OFF)
    work: Table = {
        "name": "index_builds",
        "clients": clients,
        "builds": builds,
        "operations": operations,
        "pause_ms": [0, LONGER * load_ms / operations],
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
    aim = knobs.pick("build aimed at", AIMS)
    if knobs.on("rows written again", AGAIN, unless=aim != OFF):
        _again(work)
    if aim != OFF:
        AIMED[aim](knobs, data, work)
    if knobs.on("few beside index builds", FEW) or aim != OFF:
        late = [one for one in data.pop("migration", ()) if f"TABLE {LATE} " in one["sql"]]
        if late:  # faults may name it
            data["migration"] = late
        data["run"]["load_ms"] = LONGER * load_ms
        mixed = {
            **data["workload"][0],
            "clients": die.between(1, 4),
            "operations": LONGER * data["workload"][0]["operations"],
            "find": 15 if aim == OFF else 2,
        }
        if aim == LATE_CLEANUPS:
            mixed |= LOOKING
        data["workload"] = [mixed, work]
        if aim == OFF:
            work["stay_ms"] = [0, LONGER * load_ms / builds]
        if knobs.on("table dropped beside index builds", DROPPED, unless=aim != OFF):
            _dropped(knobs, data)
    else:
        data["workload"] = [*data["workload"], work]


def _dropped(knobs: Knobs, data: Table) -> None:
    """A table goes with its indexes, comes without them and goes again; if no view reads it."""
    die, load_ms = knobs.die("table dropped beside index builds, details"), data["run"]["load_ms"]
    made = die.pick(re.findall(r"CREATE TABLE [^;]*", data["schema"]["sql"]))
    gone = f"DROP TABLE {made.split()[2]}"
    change = {
        "at_ms": die.between(load_ms // 3, load_ms * 2 // 3),
        "every_ms": max(load_ms // 10, 1),
        "sql": f"{gone};\n{made};\n{gone};\n",
    }
    data["migration"] = [*data.get("migration", ()), change]


def _faulty(data: Table, fault: Table) -> None:
    data["faults"] = [*data.get("faults", []), fault]


def _again(work: Table) -> None:
    """Transactions write one row several times: only the last write of each has entries."""
    work |= {"keys": 3, "transaction_operations": [3, 5], "finds": 0.1, "implicit": 0.1}


def _crowded(data: Table, work: Table) -> None:
    """Transactions write several rows of many; the index comes to a full table.

    Queries are few: one that finds its rows without the index locks the whole partition.
    """
    load_ms = data["run"]["load_ms"]
    work |= {"finds": 0.03, "read_only": 0.1, "implicit": 0.1, "keys": 400}
    work |= {"transaction_operations": [2, 5], "build_pause_ms": [load_ms * 3 // 10, load_ms // 2]}


def _lasting(data: Table, work: Table) -> None:
    """The index stays, whatever becomes of its entries."""
    work |= {"builds": 1, "stay_ms": LONGER * data["run"]["load_ms"]}


def _unanswered(knobs: Knobs, data: Table, work: Table) -> None:
    """Questions about older transactions are lost: a coordinator is soon taken for one that left.

    Its transactions, many of them long, cross the build.
    """
    delay_ms = _taken_for_gone(knobs, data)
    data["protocol"] |= {"backfill_rows": max(ROWS), "backfill_pause_ms": 0}
    _crowded(data, work)
    _lasting(data, work)
    work |= {"long": 0.8, "long_gap_ms": [delay_ms, 4 * delay_ms], "pause_ms": [0, delay_ms]}
    work["clients"] = 10


def _removed(knobs: Knobs, data: Table, work: Table) -> None:
    """The same, and the index goes: transactions that it was there for look for rows by it."""
    delay_ms = _taken_for_gone(knobs, data)
    work |= {"long": 0.8, "long_gap_ms": [2 * delay_ms, 8 * delay_ms], "finds": 0.9}
    work |= {"builds": 6, "stay_ms": [delay_ms, 3 * delay_ms], "build_pause_ms": [0, delay_ms]}
    work |= {"clients": 12, "implicit": 0.1, "read_only": 0.1}
    knobs.tell("index builds", f"{work['builds']}, {work['clients']} clients")


def _taken_for_gone(knobs: Knobs, data: Table) -> int:
    """Lose the questions whether a coordinator has older transactions; return DD, 1 ms at least."""
    protocol = data["protocol"]
    delay_ms: int = max(protocol["delay_duration_ms"], 1)
    die = knobs.die("build aimed at, details")
    count = die.pick((5, 1000, 1000))
    _faulty(data, {"name": "lost_message", "kind": "are-older-open", "count": count})
    protocol["election_timeout_ms"] = max(delay_ms // 4, 5)
    data["network"] = {**data["network"], "latency_ms": OF_NEAR_MS}
    data["network"].pop("links", None)  # where messages take longer, no leader would stay
    for key in ("heartbeat_ms", "heartbeat_idle_ms"):  # nor where heartbeats are as rare
        if protocol.pop(key, None):
            knobs.tell(key, OFF)
    knobs.tell("election_timeout_ms", protocol["election_timeout_ms"])
    knobs.tell("latency_ms", OF_NEAR_MS)
    knobs.tell("slow link", OFF)
    protocol["tx_timeout_ms"] = max(protocol["tx_timeout_ms"], 40 * delay_ms)
    return delay_ms


LATE_CLEANUPS: Final = "clean-ups"
LOOKING: Final = {"find": 60, "read_only": 1.0}
"""What the other clients do then: they look by the index in the past, where an outcome of then may
not have come yet."""


def _late_cleanups(knobs: Knobs, data: Table, work: Table) -> None:
    """Outcomes come to other partitions late.

    Intents of transactions that have committed without the index are there while the backfill goes
    past.
    """
    _parted(data)
    protocol = data["protocol"]
    delay_ms = max(protocol["delay_duration_ms"], 1)
    die = knobs.die("build aimed at, details")
    late: Table = {"name": "late_message", "kind": "cleanup", "count": 2000}
    late["from_ms"] = data["run"]["load_ms"] * 3 // 10
    for key in ("orphan_check_ms", "orphan_sweep_ms"):  # no participant asks sooner
        protocol[key] = max(protocol.get(key, 0), 20 * delay_ms)
    _faulty(data, late | {"delay_ms": delay_ms * die.pick((3, 4, 6))})
    protocol |= {"backfill_rows": max(ROWS), "backfill_pause_ms": 0}
    _crowded(data, work)
    _lasting(data, work)


def _late_part(knobs: Knobs, data: Table, work: Table) -> None:
    """A primary stops as its backfill begins: its partition is filled long after the others."""
    _parted(data)
    _crowded(data, work)
    delay_ms = max(data["protocol"]["delay_duration_ms"], 1)
    die = knobs.die("build aimed at, details")
    when: Table = {"moment": "backfill-begun"}
    nth = die.between(1, data["cluster"]["partitions"])
    if nth > 1:
        when["nth"] = nth
    stop: Table = {"name": die.pick(("pause", "pause", "crash")), "node": "its node"}
    _faulty(data, stop | {"when": when, "for_ms": delay_ms * die.between(3, 10)})


def _parted(data: Table) -> None:
    """Tables have two partitions at least."""
    data["cluster"]["partitions"] = max(data["cluster"]["partitions"], 2)


Aim = Callable[[Knobs, Table, Table], None]
AIMED: Final[dict[str, Aim]] = {
    "drain": _unanswered,
    LATE_CLEANUPS: _late_cleanups,
    "partition": _late_part,
    "removal": _removed,
}
AIMS: Final = (OFF, OFF, *AIMED, "drain", "drain")
"""What a build is aimed at; the drain needs more worlds than the others."""
