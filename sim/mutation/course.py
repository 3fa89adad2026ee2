"""Which worlds a mutant is tried in, and in which order.

A run that the mutant nowhere infects (`infection`) is as it was without it. So of the worlds of a
survey only those with an infection are run, most infections per event first, those of all of its
designs in turn, and only then fresh worlds. No machine's speed has a say in that. Where infections
cannot be counted, executions of the changed statement are.
"""

import zlib
from collections.abc import Sequence
from functools import cache
from typing import Final

from ddlsim.model.records import Record
from ddlsim.mutation.infection import watched_by
from ddlsim.mutation.mutants import Mutant, modules, mutants
from ddlsim.mutation.records import World
from ddlsim.mutation.source import Module, inside, number_at, number_of_statements

MOST: Final = 255


class Surveyed(Record, frozen=True):
    """What a world executes without a mutant, and in how many events.

    `counts` has the number of bits of how often each statement was executed, and then of how often
    each mutant infected the run (compressed).
    """

    world: World
    events: int
    counts: bytes


class Course(Record, frozen=True):
    """The worlds of one mutant in their order: those listed, then fresh ones without an end."""

    worlds: tuple[World, ...]
    designs: tuple[str, ...]
    fresh: int

    def at(self, number: int) -> World:
        """The world of a number, from 0."""
        if number < len(self.worlds):
            return self.worlds[number]
        number -= len(self.worlds)
        return World(self.designs[number % len(self.designs)], self.fresh + number)


class Survey:
    """The worlds of a survey."""

    def __init__(self, surveyed: Sequence[Surveyed]) -> None:
        self._worlds = [(one.world, one.events, zlib.decompress(one.counts)) for one in surveyed]
        self._fresh = max((one.world.seed + 1 for one in surveyed), default=0)

    def course(self, mutant: Mutant, designs: tuple[str, ...]) -> Course:
        """The worlds of a mutant: those of its designs that execute its statement, in turn.

        The first of these designs has as many turns as all others, which may have other rules in
        the place of one that makes up for the mutant. Of a design that was not surveyed, nothing is
        known: it has fresh worlds in its turns.
        """
        if not self._worlds:
            return Course((), designs, 0)
        number = number_of(mutant)
        found = {design: self._infected(design, number) for design in designs}
        known = {world.design for world, _, _ in self._worlds}
        if not any(found.values()):
            return Course((), designs, self._fresh)
        turns = in_turn(tuple(one for one in designs if found[one] or one not in known))
        left = {design: iter(worlds) for design, worlds in found.items()}
        longest = len(turns) * max(map(len, found.values()))
        listed: list[World] = []
        for at in range(longest):
            design = turns[at % len(turns)]
            world = next(left[design], None)
            if design not in known:
                world = World(design, self._fresh + at)
            listed += () if world is None else (world,)
        return Course(tuple(listed), turns, self._fresh + longest)

    def _infected(self, design: str, number: int) -> list[World]:
        """The worlds of a design with an infection, most infections per event first."""
        found = [
            (counts[number] / events, world)
            for world, events, counts in self._worlds
            if world.design == design and counts[number]
        ]
        found.sort(key=lambda each: (-each[0], each[1].seed))
        return [world for _, world in found]


def in_turn(designs: tuple[str, ...]) -> tuple[str, ...]:
    """The first of these before each of the others; it alone where there are none."""
    first, *others = designs
    return tuple(one for other in others for one in (first, other)) or (first,)


def packed(counts: Sequence[int]) -> bytes:
    """Counts as `Surveyed` has them."""
    return zlib.compress(bytes(min(one.bit_length(), MOST) for one in counts))


def number_of(mutant: Mutant) -> int:
    """The number under which a survey counts what says most about a mutant."""
    module, first, end = _modules()[mutant.place.partition(":")[0]]
    if watched_by(module, mutant) is not None:
        return end + _order()[mutant.id]
    line, column = mutant.line, mutant.column
    if mutant.operator == "guard":
        line, column = inside(module.tree, line, column)
    return first + number_at(module.tree, line, column)


@cache
def _order() -> dict[str, int]:
    return {name: place for place, name in enumerate(mutants())}


@cache
def _modules() -> dict[str, tuple[Module, int, int]]:
    """Every module with mutants, the number of its first statement, and of all statements."""
    sizes = [number_of_statements(module.tree) for module in modules()]
    firsts = [sum(sizes[:at]) for at in range(len(sizes))]
    pairs = zip(modules(), firsts, strict=True)
    return {module.file: (module, first, sum(sizes)) for module, first in pairs}
