"""Watches on the schema, for designs whose processes learn of updates by a watch alone.

What a watch misses shows where no later update tells of it: at the end of a run. There two
statements follow each other so closely that the second comes while processes read what the first
has made. A watch that was lost is armed again soon.

Worlds of other designs are drawn without a die of this module, and stay what they are.
"""

from typing import Final

from ddlsim.plan.swarm_knobs import Knobs, Table

TASKS: Final = ("watch_the_head", "watch_the_flag", "watch_armed_later")
"""The rules of `background` of such designs."""
SHARE: Final = 0.5
"""The share of their worlds that end with two statements."""
TIMEOUTS_MS: Final = (50, 200, 1_000)
"""For how long a watch is waited for; with the store's own 30 s a run would last as long."""
APART_MS: Final = (0, 1, 2, 4)
"""How long after the first statement, or after its answer, the second one is asked for."""


def add(knobs: Knobs, data: Table) -> None:
    """Draw how long watches last, and let the schema change twice at the end."""
    store = data["fdb"]
    most_ms = knobs.pick("watch timeout", TIMEOUTS_MS)
    store["watch_timeout_ms"] = max(min(store["watch_timeout_ms"], most_ms), store["request_ms"])
    knobs.tell("watch_timeout_ms", store["watch_timeout_ms"])
    if not knobs.on("two statements at the end", SHARE):
        return
    die = knobs.die("two statements at the end, details")
    load_ms, nodes = data["run"]["load_ms"], data["cluster"]["nodes"]
    data["workload"] = [one for one in data["workload"] if one["name"] == "mixed"]
    at_ms = load_ms * 9 // 10
    first: Table = {"at_ms": at_ms, "node": "n1", "sql": "CREATE TABLE w1 (id INT PRIMARY KEY)"}
    then: Table = {**first, "node": f"n{nodes}", "sql": "CREATE TABLE w2 (id INT PRIMARY KEY)"}
    apart_ms = die.pick(APART_MS)
    if die.chance(0.5):
        both = [first, {**then, "at_ms": at_ms + apart_ms}]
    else:
        both = [{**first, "every_ms": max(apart_ms, 1), "sql": f"{first['sql']};\n{then['sql']}"}]
    early = [one for one in data.get("migration", ()) if one["at_ms"] < load_ms // 2]
    data["migration"] = [*early, *both]
