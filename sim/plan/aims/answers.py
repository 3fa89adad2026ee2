"""Answers under clocks that are apart; often for designs that make answers wait for all clocks.

An answer that comes too early shows only where a client that has it goes to a node whose clock is
behind, before any message has brought that the time of the answer. In most drawn worlds messages
are too many. Here operations need none: each begins at the primary of its key, and no partition has
a second replica; there are many; and the schema changes again and again. Where answers wait for
nothing, F-5 shows in most of these worlds and F-6 in many.

Worlds of other designs are drawn without a die of this module, and stay what they are.
"""

from typing import Final

from ddlsim.plan.swarm_faults import KINDS
from ddlsim.plan.swarm_free import is_about_faults
from ddlsim.plan.swarm_knobs import OF_NEAR_MS, OFF, Knobs, Table
from ddlsim.plan.swarm_moments import AIMED
from ddlsim.plan.swarm_work import NEITHER

AWAITS: Final = ("answer_once_active_everywhere", "answer_once_past_everywhere")
"""The rules of `before_answer` of such designs."""
AT_ONCE: Final = ("answer_at_once",)
"""The rule of designs that wait for nothing before they answer."""
SHARE: Final = 0.15
SELDOM: Final = 0.03
"""The shares of the worlds of both that are about this."""
NODES: Final = ("n1", "n2", "n3")
SKEWS: Final = (0.25, 0.5)
"""CSmax as a part of DD."""
STATEMENTS: Final = 6
SCHEMA: Final = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"


def add(knobs: Knobs, data: Table) -> None:
    """Let many clients use a table that changes, under clocks that are apart."""
    _add(knobs, data, SHARE)


def add_seldom(knobs: Knobs, data: Table) -> None:
    """The same, in fewer worlds."""
    _add(knobs, data, SELDOM)


def _add(knobs: Knobs, data: Table, share: float) -> None:
    if not knobs.on("answers under clocks apart", share, unless=is_about_faults(knobs)):
        return
    die = knobs.die("answers under clocks apart, details")
    protocol, load_ms = data["protocol"], data["run"]["load_ms"]
    delay_ms = protocol["delay_duration_ms"]
    skew_ms = max(round(delay_ms * die.pick(SKEWS)), 2)
    ahead = die.pick(NODES)
    offsets = {one: skew_ms / 2 if one == ahead else -skew_ms / 2 for one in NODES}
    data["clocks"] = {
        "max_skew_ms": skew_ms,
        "nodes": {node: {"offset_ms": offset} for node, offset in offsets.items()},
    }
    protocol |= {"max_clock_skew_ms": skew_ms, "safe_time_interval_ms": delay_ms}
    least_ms = 3 * delay_ms + skew_ms
    protocol["operation_timeout_ms"] = max(protocol["operation_timeout_ms"], least_ms)
    if protocol.pop("nodes", None) is not None:
        knobs.tell("a node's own DD", OFF)
    data["network"] = {"latency_ms": OF_NEAR_MS, "client_latency_ms": OF_NEAR_MS}
    data["cluster"] = {"nodes": len(NODES), "voters": 3, "partitions": 3, "replicas": 1}
    data["schema"] = {"sql": SCHEMA}
    data["migration"] = [_changes(load_ms, delay_ms)]
    data["workload"] = [_users(die.pick((0.0, 1.0)), load_ms, skew_ms)]
    data["faults"] = []
    told = {**data["cluster"], "skew_ms": skew_ms, "clocks at the ends": "on"}
    told |= dict.fromkeys((*KINDS, *AIMED, "skew beyond CSmax", "drift_ppm"), OFF)
    for key in ("max_clock_skew_ms", "safe_time_interval_ms", "operation_timeout_ms"):
        told[key] = protocol[key]
    for knob, value in told.items():
        knobs.tell(knob, value)


def _changes(load_ms: int, delay_ms: int) -> Table:
    """A column comes and goes."""
    pair = "ALTER TABLE a ADD COLUMN w INT;\nALTER TABLE a DROP COLUMN w;\n"
    sql = pair * (STATEMENTS // 2)
    return {"at_ms": load_ms // 10, "node": "n2", "every_ms": max(delay_ms // 2, 1), "sql": sql}


def _users(session: float, load_ms: int, skew_ms: int) -> Table:
    """Clients that read and write rows, each operation a transaction of its own."""
    users: Table = {"name": "mixed", "clients": 10, "operations": 60, "keys": 12, "retries": 0}
    users |= {"implicit": 1.0, "partition_aware": 1.0, "session": session, "rollback": 0.0}
    users |= {"read_only": 0.2, "fresh": 0.0, "pause_ms": [0, min(load_ms / 30, skew_ms)]}
    return users | {**NEITHER, "get": 5, "put": 5}
