"""Worlds whose meta storage leader steps down at the instant of its election.

A leader begins its idle commands a little later than it is elected; by then its term may be over,
and a start that comes so late must start nothing [98.x.6].
"""

from typing import Final

from ddlsim.plan.swarm_faults import is_calm
from ddlsim.plan.swarm_knobs import Knobs, Table
from ddlsim.plan.swarm_work import is_quiet

SHARE: Final = 0.04
"""The share of the worlds with faults."""
TIMES: Final = 3
RIVALS: Final = (0, 0, 1, 2)
"""Which other voter stands for election, too; 0: none."""


def add(knobs: Knobs, data: Table, _names: list[str], _delay_ms: int) -> None:
    """Let leaders of the meta storage lead for an instant, a few times."""
    if not knobs.on("leaders for an instant", SHARE, unless=is_quiet(knobs) or is_calm(knobs)):
        return
    die, load_ms = knobs.die("leaders for an instant, when"), data["run"]["load_ms"]
    change: Table = {"name": "re_election", "group": "meta"}
    elected: Table = {"moment": "leader-elected", "where": {"group": "meta"}}
    for _ in range(TIMES):
        from_ms = die.between(1, max(load_ms * 8 // 10, 2))
        down = {**change, "rival": die.pick(RIVALS), "when": elected, "from_ms": from_ms}
        data["faults"] = [*data["faults"], down, {**change, "from_ms": from_ms}]
