"""Worlds as a swarm draws them around nothing, each of them once in a process.

To draw a world takes some milliseconds, and tests look at the same hundreds of them.
"""

import tomllib
from functools import cache
from typing import Any, Final

from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan

NOTHING: Final = swarm.source_of(None, {})


def under(design: str) -> swarm.Source:
    """A swarm around nothing but a design."""
    return swarm.source_of(None, {"strategy.name": design})


@cache
def drawn_of(seed: int, design: str | None = None) -> swarm.Drawn:
    """The world of a seed, under a design of its own or a given one."""
    return swarm.draw(NOTHING if design is None else under(design), seed)


@cache
def data_of(seed: int, design: str | None = None) -> dict[str, Any]:
    """The tables of its scenario, which stay as they are."""
    return tomllib.loads(drawn_of(seed, design).text)


def kinds(design: str, seed: int) -> set[str]:
    """What the judges hold against the design in the world of a seed, by themselves."""
    found = judge(run(plan(swarm.scenario(under(design), seed), seed))).violations
    return {one.kind for one in found if one.status == "violation"}
