"""Which worlds a mutant is tried in, and in which order.

A run that never executes the changed statement is as it was without the mutant. So of the worlds
of a survey only those that execute it are run, most executions per CPU time first, and only then
fresh worlds.
"""

import zlib
from collections.abc import Sequence
from functools import cache
from typing import Final

from ddlsim.model.records import Record
from ddlsim.mutation.mutants import Mutant, files
from ddlsim.mutation.records import World
from ddlsim.mutation.source import Module, number_at, number_of_statements

MOST: Final = 255


class Surveyed(Record, frozen=True):
    """What a world executes without a mutant, and the CPU time that it takes.

    `counts` has for each statement the number of bits of how often it was executed (compressed).
    """

    world: World
    cpu_s: float
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
        self._worlds = [(one.world, one.cpu_s, zlib.decompress(one.counts)) for one in surveyed]
        self._fresh = max((one.world.seed + 1 for one in surveyed), default=0)

    def course(self, mutant: Mutant, designs: tuple[str, ...]) -> Course:
        """The worlds of a mutant: of the first of its designs that executes its statement."""
        if not self._worlds:
            return Course((), designs, 0)
        number = _number(mutant)
        for design in designs:
            found = [
                (counts[number] / cpu_s, world)
                for world, cpu_s, counts in self._worlds
                if world.design == design and counts[number]
            ]
            if found:
                found.sort(key=lambda each: (-each[0], each[1].seed))
                return Course(tuple(world for _, world in found), (design,), self._fresh)
        return Course((), designs, self._fresh)


def packed(counts: Sequence[int]) -> bytes:
    """Counts as `Surveyed` has them."""
    return zlib.compress(bytes(min(one.bit_length(), MOST) for one in counts))


def _number(mutant: Mutant) -> int:
    """The number of the changed statement."""
    file = mutant.place.partition(":")[0]
    module, first = _modules()[file]
    return first + number_at(module.tree, mutant.line, mutant.column)


@cache
def _modules() -> dict[str, tuple[Module, int]]:
    """Every module in which mutants are made, and the number of its first statement."""
    found: dict[str, tuple[Module, int]] = {}
    first = 0
    for file in files():
        module = Module.read(file)
        found[file] = module, first
        first += number_of_statements(module.tree)
    return found
