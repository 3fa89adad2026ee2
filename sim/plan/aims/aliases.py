"""Renames in two stages, for designs in which the old name of a table stays for a while.

Where the old name stays for as long as the design says, few transactions of a drawn world last from
before a rename until after its end. Here it ends soon; a table of its own is renamed and back
again; and transactions write rows of it and rest before they commit. In some of these worlds DD is
raised for a while, again and again, on all nodes: the end of an old name, which is sent a DD before
it is due, is awaited with another DD than it is sent with. In some a second table is renamed twice,
is dropped while its old names stay, and comes back under the first of them.

Worlds of other designs are drawn without a die of this module, and stay what they are.
"""

from typing import Final

from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to
from ddlsim.plan.swarm_work import NEITHER, is_quiet

RENAMES: Final = ("alias", "alias_unreserved")
"""The rules of `rename` of such designs."""
COLUMNS: Final = "(id INT PRIMARY KEY, v INT)"
SHARE: Final = 0.3
"""The share of their worlds in which transactions outlive an old name."""
NAME: Final = "named"
"""The table, which clients of its own use."""
STAYS: Final = (0.5, 1, 2)
"""How long an old name stays there, as parts of DD."""
RENAMED: Final = 6
"""How often the table is renamed."""
RAISED: Final = 0.5
"""The share of these worlds in which DD is raised meanwhile."""
TIMES: Final = 4
LONGER: Final = 5
"""How much longer an old name stays there, in DDs: its end is awaited for some time."""
DROPPED: Final = 0.5
"""The share of these worlds in which a table is dropped while old names of it stay as long."""
SHORT_LIVED: Final = "short_lived"
"""That table, which no client uses."""


def add(knobs: Knobs, data: Table) -> None:
    """Put the table, its renames and its clients into a world."""
    if not knobs.on("old names outlived", SHARE, unless=is_quiet(knobs)):
        return
    protocol, load_ms = data["protocol"], data["run"]["load_ms"]
    delay_ms = protocol["delay_duration_ms"]
    alias_ms = max(round(knobs.pick("old name stays, of DD", STAYS) * delay_ms), 1)
    raised = knobs.on("DD raised while an old name stays", RAISED)
    dropped = knobs.on("table dropped while old names stay", DROPPED)
    if raised or dropped:
        alias_ms += LONGER * delay_ms
    if raised:
        data["faults"] = _with_raised(knobs, data)
    data["strategy"] = {**data.get("strategy", {}), "alias_ms": alias_ms}
    names = [line.split()[2] for line in data["schema"]["sql"].splitlines() if "TABLE" in line]
    data["schema"]["sql"] += f"CREATE TABLE {NAME} {COLUMNS};\n"
    data["migration"] = [*data.get("migration", []), _renames(load_ms, delay_ms, alias_ms)]
    if dropped:
        data["schema"]["sql"] += f"CREATE TABLE {SHORT_LIVED} {COLUMNS};\n"
        data["migration"].append(_drops(load_ms))
    others = kept_to(names, data["workload"])
    data["workload"] = [*others, _writers(delay_ms + alias_ms)]
    protocol["tx_timeout_ms"] = max(protocol["tx_timeout_ms"], 8 * (delay_ms + alias_ms))


def _renames(load_ms: int, delay_ms: int, alias_ms: int) -> Table:
    """The table gets another name and its first one back, each once the old name has ended."""
    names = [f"{NAME}_too", NAME] * (RENAMED // 2)
    sql, now = "", NAME
    for name in names:
        sql += f"ALTER TABLE {now} RENAME TO {name};\n"
        now = name
    every_ms = alias_ms + 2 * delay_ms
    return {"at_ms": load_ms // 10, "node": "n1", "every_ms": every_ms, "sql": sql}


def _drops(load_ms: int) -> Table:
    """The table gets two other names, goes with its old ones, and comes back under the first."""
    first, second, third = SHORT_LIVED, f"{SHORT_LIVED}_too", f"{SHORT_LIVED}_still"
    sql = f"ALTER TABLE {first} RENAME TO {second};\nALTER TABLE {second} RENAME TO {third};\n"
    sql += f"DROP TABLE {third};\nCREATE TABLE {first} {COLUMNS};\nDROP TABLE {first};\n"
    return {"at_ms": load_ms // 10, "node": "n1", "sql": sql}


def _writers(lasts_ms: int) -> Table:
    """Clients whose transactions write one row and rest, some until after the next rename."""
    table: Table = {"name": "mixed", "clients": 4, "tables": [NAME], "operations": 20, "keys": 100}
    table |= {**NEITHER, "put": 1, "implicit": 0.1, "retries": 0, "transaction_operations": 1}
    return table | {"rested": 1.0, "rest_ms": [0, 3 * lasts_ms], "pause_ms": [0, lasts_ms / 2]}


def _with_raised(knobs: Knobs, data: Table) -> list[Table]:
    """The faults of a world, and DD raised on every node at once for a while, a few times."""
    die, load_ms = knobs.die("DD raised while an old name stays, details"), data["run"]["load_ms"]
    delay_ms = data["protocol"]["delay_duration_ms"]
    nodes = [f"n{number}" for number in range(1, data["cluster"]["nodes"] + 1)]
    made = [one for one in data.get("faults", []) if one["name"] != "setting_change"]
    for part in range(TIMES):
        slot_ms = load_ms * 8 // 10 // TIMES
        at_ms = load_ms // 10 + part * slot_ms + die.below(slot_ms // 2)
        raised: Table = {"name": "setting_change", "key": "delay_duration_ms", "from_ms": at_ms}
        raised["for_ms"] = die.between(1, max(slot_ms // 2, 1))
        raised["to"] = delay_ms * die.pick((2, 3))
        made += [{**raised, "node": node} for node in nodes]
    return made
