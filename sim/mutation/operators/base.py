"""What an operator is, and the table of all of them."""

import ast
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from ddlsim.mutation.source import Change, Function

Make = Callable[[Function, ast.AST], Iterator[Change]]
"""The changes that an operator makes at one node of a function."""
LEFT_OUT: Final = "pass"


class Operator(NamedTuple):
    """A kind of fault; `summary` says what the changed code does.

    `kinds` are the types of the nodes at which it makes changes; at others it is not asked.
    """

    name: str
    summary: str
    make: Make
    kinds: frozenset[type[ast.AST]]


OPERATORS: Final[dict[str, Operator]] = {}


def operator(name: str, *kinds: type[ast.AST]) -> Callable[[Make], Make]:
    """Add an operator for nodes of these types to the table; its docstring is the summary."""

    def add(make: Make) -> Make:
        assert name not in OPERATORS, f"two operators are called {name}"
        summary = (make.__doc__ or "").partition("\n")[0]
        OPERATORS[name] = Operator(name, summary, make, frozenset(kinds))
        return make

    return add


def left_out(function: Function, statement: ast.AST) -> Change:
    """One statement is left out."""
    return function.replaced(statement, LEFT_OUT)


def called(node: ast.AST) -> str:
    """The last name of what a call calls; empty for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
    return ""


def waits(node: ast.AST) -> bool:
    """Whether a node contains an `await` of its own function."""
    return any(isinstance(one, ast.Await) for one in ast.walk(node))


def names(node: ast.AST) -> set[str]:
    """The names of variables and attributes in a node."""
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return found | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
