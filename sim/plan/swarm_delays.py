"""How a drawn world chooses delays: each by itself, by priorities (PCT), or near boundaries."""

from typing import Any, Final

from ddlsim.plan.swarm_knobs import Knobs, Table

SCHEDULES: Final[dict[str, Table | None]] = {
    "uniform": None,
    "pct 2": {"name": "pct", "depth": 2},
    "pct 4": {"name": "pct", "depth": 4},
    "pct 8": {"name": "pct", "depth": 8},
    "boundary 0.2": {"name": "boundary", "share": 0.2},
    "boundary 0.5": {"name": "boundary", "share": 0.5},
}
"""By the name that reports show."""
DRAWN: Final = ("uniform", "uniform", "uniform", "pct 2", "pct 4", "pct 8", "boundary 0.2",
                "boundary 0.5")  # fmt: skip


def schedule(knobs: Knobs) -> dict[str, Any]:
    """The keys of `[network]` for a drawn schedule; none where delays are drawn by themselves."""
    found = SCHEDULES[knobs.pick("schedule", DRAWN)]
    return {} if found is None else {"schedule": dict(found)}
