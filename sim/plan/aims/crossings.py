"""Worlds in which what a transaction writes comes to its log after a change of the table.

A table of its own has NOT NULL columns, each of which is changed once in several ways at once:
one rule of compatibility says yes, a later one no; compatible changes follow these closely. Its
groups are led by other nodes than their primaries, and what a primary sends to the leader takes
long: until after the next change, or until the lease is over under which it was sent. Other
transactions rest before they commit.
"""

from typing import Final

from ddlsim.plan.swarm_faults import is_calm, led_elsewhere
from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to
from ddlsim.plan.swarm_work import NEITHER, is_quiet, only_compatible
from ddlsim.workload.base import Die

NAME: Final = "crossed"
"""The table, which clients of its own use."""
SHARE: Final = 0.05
"""The share of the worlds with faults that are not quiet and whose changes are of every kind."""
ALONE: Final = 0.15
"""The share of those with compatible changes alone."""
COLUMNS: Final = ("p", "q", "r", "s", "t", "u")
AT_ONCE: Final = {"implicit": 0.9, "operations": 50}
"""Of writers in worlds with compatible changes alone, where only writes in one phase come late."""
LATE: Final = ("into the next version", "into the next version", "beyond the lease")
LACKS_METADATA: Final = 0.7
"""The share of the first in which the leader then lacks the metadata for longer than an operation
may take: a write in one phase that may be in its log ends without."""


def crosses(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    share = ALONE if only_compatible(knobs) else SHARE
    return knobs.on("late into the log", share, unless=is_quiet(knobs) or is_calm(knobs))


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put the table, its clients, its changes and the late messages into a world.

    `names` are the tables of the other clients.
    """
    if not crosses(knobs):
        return
    die = knobs.die("late into the log, details")
    how = die.pick(LATE)
    knobs.tell("late into the log", how)
    load_ms, protocol = data["run"]["load_ms"], data["protocol"]
    data["cluster"]["replicas"] = 3
    columns = ", ".join(f"{one} INT NOT NULL" for one in COLUMNS)
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, {columns});\n"
    others = kept_to(names, data["workload"])
    alone = only_compatible(knobs)
    data["workload"] = [*others, _writers(delay_ms) | (AT_ONCE if alone else {})]
    data["workload"] += [_readers(delay_ms)] * alone
    late: Table = {"name": "late_message", "kind": "partition-submit", "count": 400}
    late["from_ms"] = max(load_ms // 10, 1)
    late["delay_ms"] = max(round(delay_ms * die.pick((0.3, 0.7, 1.5))), 1)
    if how == LATE[0]:
        changes = _changes(load_ms, delay_ms)[alone:]
        data["migration"] = [*data.get("migration", []), *changes]
    else:
        data["faults"] = []  # the lease stays with its holder
        late["count"] = die.between(5, 20)
        late["delay_ms"] = _lasting(knobs, protocol, delay_ms) + protocol["operation_timeout_ms"]
    if knobs.on("leader without metadata", LACKS_METADATA, unless=how != LATE[0]):
        data["faults"] = _behind(die, data)
    groups = (f"{NAME}/{part}" for part in range(data["cluster"]["partitions"]))
    moved = led_elsewhere(groups, load_ms)
    data["faults"] = [*moved, late, *data.get("faults", [])]


def _behind(die: Die, data: Table) -> list[Table]:
    """The leader of a group applies nothing of the meta storage for a while.

    Some of its answers are lost then, so that a primary cannot tell whether a write is in the log.
    There are no other faults: most of them end these writes first.
    """
    load_ms, timeout_ms = data["run"]["load_ms"], data["protocol"]["operation_timeout_ms"]
    from_ms = die.between(load_ms // 5, load_ms // 2)
    lag: Table = {"name": "learner_lag", "node": f"leader of {NAME}", "from_ms": from_ms}
    lag["for_ms"] = min(2 * timeout_ms, load_ms - from_ms)
    lost: Table = {"name": "lost_message", "kind": "partition-submitted", "sender": lag["node"]}
    lost |= {"from_ms": min(from_ms + data["protocol"]["delay_duration_ms"], load_ms - 1)}
    return [lag, {**lost, "count": die.between(10, 60)}]


def _lasting(knobs: Knobs, protocol: Table, delay_ms: int) -> int:
    """Make leases short, and prolonged in time; how long they last in ms."""
    lease_ms = max(4 * delay_ms, 40)
    protocol |= {"lease_duration_ms": lease_ms, "lease_check_ms": max(lease_ms // 8, 5)}
    protocol["election_timeout_ms"] = max(protocol["election_timeout_ms"], lease_ms)
    knobs.drop(protocol, "lease_renewal_ms", "lease_grant_ms")
    for key in ("lease_duration_ms", "lease_check_ms", "election_timeout_ms"):
        knobs.tell(key, protocol[key])
    return lease_ms


def _changes(load_ms: int, delay_ms: int) -> list[Table]:
    """One column after the other changes its type, its nullability and its default at once.

    While such a change is announced, before it is in force, one that is compatible is, too.
    """
    change = "SET DATA TYPE BIGINT DROP NOT NULL SET DEFAULT 7"
    changes = [f"ALTER COLUMN {one} {change}" for one in COLUMNS]
    made: list[Table] = []
    for place, actions in enumerate((changes, [f"ADD COLUMN {one}_too INT" for one in COLUMNS])):
        sql = "".join(f"ALTER TABLE {NAME} {action};\n" for action in actions)
        at_ms = load_ms // 10 + place * max(delay_ms // 4, 1)
        statements: Table = {"at_ms": at_ms, "node": f"n{place + 1}", "sql": sql}
        made.append({**statements, "every_ms": max(delay_ms // 2, 1)})
    return made


def _writers(delay_ms: int) -> Table:
    """Clients that write, each write a transaction of its own or one that rests before it ends."""
    table: Table = {"name": "mixed", "clients": 6, "tables": [NAME], "operations": 30, "keys": 200}
    table |= {**NEITHER, "put": 1, "implicit": 0.6, "retries": 0, "transaction_operations": 1}
    return table | {"rested": 1.0, "rest_ms": [0, 2 * delay_ms], "pause_ms": [0, delay_ms]}


def _readers(delay_ms: int) -> Table:
    """Clients that scan the table as of a moment ago."""
    table: Table = {"name": "mixed", "clients": 4, "tables": [NAME], "operations": 50, "retries": 0}
    table |= {**NEITHER, "scan": 1, "implicit": 1.0, "read_only": 1.0, "as_of": 0.5}
    return table | {"as_of_ms": [-delay_ms, 0], "pause_ms": [0, delay_ms / 2]}
