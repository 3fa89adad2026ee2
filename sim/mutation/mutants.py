"""All mutants of the protocol's source, and a sample of them that is even over areas.

The name of a mutant is `area:file:function:operator:number`; the number counts the changes that
the operator makes in this function, so that an edit elsewhere leaves it as it is.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Final

from ddlsim.model.records import Record
from ddlsim.mutation.areas import AREAS, FILES, area_of
from ddlsim.mutation.operators.table import ASKED, OPERATORS
from ddlsim.mutation.source import NONE, ROOT, Change, Function, Module

SEED: Final = "2026"
"""Part of what orders the mutants of a sample; another one gives another sample."""
DIGITS: Final = 8


class Mutant(Record, frozen=True):
    """One small fault; `place` is `file:function`, `source` the whole changed module.

    `line` and `column` (in bytes) are where its change begins.
    """

    id: str
    area: str
    place: str
    operator: str
    module: str
    line: int
    column: int
    sentence: str
    source: str
    change: Change = NONE

    @property
    def digest(self) -> str:
        """Some digits that stand for its change, and for the line in which that begins.

        The number in an id may come to mean another change by an edit of the function; this not.
        """
        line = self.source.split("\n")[self.line - 1].strip()
        what = self.sentence.partition(" ")[2]
        return hashlib.sha256(f"{line}\n{what}".encode()).hexdigest()[:DIGITS]


@cache
def mutants() -> dict[str, Mutant]:
    """Every mutant of the protocol by its id, in the order of the files."""
    return {one.id: one for module in modules() for one in mutants_of(module)}


@cache
def modules() -> tuple[Module, ...]:
    """The modules in which mutants are made; their trees stay as they are."""
    return tuple(map(Module.read, files()))


def files() -> list[str]:
    """The files in which mutants are made."""
    paths = sorted(path for pattern in FILES for path in ROOT.glob(pattern))
    return [path.relative_to(ROOT).as_posix() for path in paths]


def mutants_of(module: Module) -> Iterator[Mutant]:
    """The mutants of one module."""
    for function in module.functions():
        place = f"{module.file}:{function.name}"
        area = area_of(place)
        if area is not None:
            yield from _mutants_of(function, place, area)


def _mutants_of(function: Function, place: str, area: str) -> Iterator[Mutant]:
    module = function.module
    changes: dict[str, list[Change]] = {name: [] for name in OPERATORS}
    for node in function.parents:
        for operator in ASKED.get(type(node), ()):
            changes[operator.name] += operator.make(function, node)
    for name, made in changes.items():
        for number, change in enumerate(made, start=1):
            line, column = module.place(change)
            yield Mutant(
                f"{area}:{place}:{name}:{number}",
                area,
                place,
                name,
                module.name,
                line,
                column,
                module.sentence(change),
                module.changed(change),
                change,
            )


def sample(known: Iterable[Mutant], size: int) -> list[Mutant]:
    """So many mutants: the same number of each area where it has them, and of each operator there.

    A larger sample begins with the smaller one.
    """
    found = list(known)
    by_area = [_by_operator([one for one in found if one.area == area]) for area in AREAS]
    return _in_turn(by_area)[:size]


def _by_operator(known: Sequence[Mutant]) -> list[Mutant]:
    """These mutants, of each operator one in turn, in an order that their ids give."""
    ordered = sorted(known, key=lambda one: _draw(one.id))
    names = dict.fromkeys(one.operator for one in ordered)
    return _in_turn([[one for one in ordered if one.operator == name] for name in names])


def _in_turn(lists: Sequence[Sequence[Mutant]]) -> list[Mutant]:
    rounds = zip_longest(*lists)
    return [one for each in rounds for one in each if one is not None]


def _draw(name: str) -> str:
    return hashlib.sha256(f"{SEED} {name}".encode()).hexdigest()
