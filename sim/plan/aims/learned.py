"""Worlds whose meta storage is led by a node that has changes from a snapshot.

For designs in which a change has a part to come, which the leader submits: the end of an old name,
the next state of an index. A voter is sent no log when the first of them come, and what it lacks
goes into a snapshot; then it leads until the end, and has to go on with what came to it so.
"""

from typing import Final

from ddlsim.plan.swarm_faults import is_calm
from ddlsim.plan.swarm_knobs import Knobs, Table
from ddlsim.plan.swarm_work import is_quiet

SHARE: Final = 0.15
"""The share of their worlds with faults; there are no others."""
ENTRIES: Final = 1
"""How many entries a log keeps for members that lag: one that is sent none soon lacks more."""
LASTS: Final = (2, 3, 4, 5)
"""For how many DDs a voter is sent no log."""


def add(knobs: Knobs, data: Table) -> None:
    """Let a voter fall behind, and lead then."""
    unless = is_quiet(knobs) or is_calm(knobs) or data["cluster"]["voters"] < 2
    if not knobs.on("leader by a snapshot", SHARE, unless=unless):
        return
    data["protocol"]["snapshot_entries"] = ENTRIES
    knobs.tell("snapshot_entries", ENTRIES)
    load_ms, die = data["run"]["load_ms"], knobs.die("leader by a snapshot, when")
    lasts_ms = max(round(die.pick(LASTS) * data["protocol"]["delay_duration_ms"]), 2)
    node, from_ms = f"n{die.between(2, data['cluster']['voters'])}", max(load_ms // 20, 1)
    lag: Table = {"name": "learner_lag", "node": node, "from_ms": from_ms, "for_ms": lasts_ms}
    led: Table = {"name": "leader_transfer", "to": node, "from_ms": from_ms + lasts_ms + 1}
    data["faults"] = [lag, led]
