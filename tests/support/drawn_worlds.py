"""Worlds as a swarm draws them around nothing, each of them once in a process.

To draw a world takes some milliseconds, and tests look at the same hundreds of them.
"""

import tomllib
from functools import cache
from typing import Any, Final

from ddlsim.plan import swarm

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
