"""Infections are counted where a mutant's expression has another value, and only there."""

import ast
from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.mutation.infection import WATCH, is_pure, watch, watched_by, watching
from ddlsim.mutation.mutants import Mutant
from ddlsim.mutation.operators.table import OPERATORS
from ddlsim.mutation.source import COUNTS, Module, counted, inside, number_at

SOURCE = """\
class Lock:
    held = False

    def take(self, a, b, many):
        if a and not b:
            return a
        self.held = b
        for one in many:
            b = max(one, a)
        return b < a
"""


def mutant(module: Module, name: str, number: int = 1) -> Mutant:
    """A mutant of `take`."""
    function = next(iter(module.functions()))
    changes = [each for node in function.parents for each in OPERATORS[name].make(function, node)]
    change = changes[number - 1]
    line, column = module.place(change)
    place = f"{module.file}:{function.name}"
    source = module.changed(change)
    return Mutant(name, "test", place, name, "lock", line, column, name, source, change)


def infections(name: str, number: int, *arguments: Any) -> int:
    """How often `take` would be infected by a mutant."""
    module = Module("lock.py", SOURCE)
    counts = [0]
    watch(module, [(0, mutant(module, name, number))])
    found: dict[str, Any] = {WATCH: watching(counts)}
    exec(compile(module.tree, "lock.py", "exec"), found)
    plain: dict[str, Any] = {}
    exec(SOURCE, plain)
    assert found["Lock"]().take(*arguments) == plain["Lock"]().take(*arguments)
    return counts[0]


@pytest.mark.parametrize(
    ("name", "number", "arguments", "times"),
    [
        ("half", 1, (1, 0, []), 0),  # `not b` for `a and not b`
        ("half", 1, (0, 0, []), 1),
        ("half", 2, (1, 0, []), 0),  # `a`
        ("half", 2, (1, 1, []), 1),
        ("negation", 1, (1, 1, []), 1),
        ("comparison", 1, (1, 1, []), 1),
        ("comparison", 1, (0, 1, []), 0),
        ("min-max", 1, (1, 1, [1, 1]), 0),
        ("min-max", 1, (1, 1, [1, 2, 3]), 2),
        ("first", 1, (1, 1, [4]), 0),
        ("first", 1, (1, 1, [4, 4]), 1),
        ("state", 1, (0, False, []), 0),
        ("state", 1, (0, True, []), 1),
    ],
)
def test_an_infection_is_another_value(
    name: str, number: int, arguments: tuple[Any, ...], times: int
) -> None:
    assert infections(name, number, *arguments) == times


def test_an_alternative_that_raises_infects() -> None:
    counts, nothing = [0], iter(())
    infects: Callable[..., Any] = watching(counts)
    assert infects(0, 0, lambda: next(nothing), 7) == 7
    assert counts == [1]


def test_alternatives_with_effects_are_not_evaluated() -> None:
    effects = SOURCE.replace("max(one, a)", "max(self.pop(), a)")
    module = Module("lock.py", effects)
    assert watched_by(module, mutant(module, "min-max")) is None
    tests = [one.test for one in ast.walk(module.tree) if isinstance(one, ast.If)]
    assert is_pure(tests[0])


def test_a_guard_counts_where_it_would_have_ended_the_function() -> None:
    module = Module("lock.py", SOURCE)
    guard = mutant(module, "guard")
    line, column = inside(module.tree, guard.line, guard.column)
    number = number_at(module.tree, line, column)
    counts = [0] * counted(module.tree, 0)
    counts += [0]
    found: dict[str, Any] = {COUNTS: counts}
    exec(compile(module.tree, "lock.py", "exec"), found)
    found["Lock"]().take(0, 0, [])
    assert counts[number] == 0
    found["Lock"]().take(1, 0, [])
    assert counts[number] == 1
