"""Counts, without a mutant, how often it would have made a difference where it stands.

A mutated statement that is executed need not do anything else than before: of `a or b`, half is as
good as the whole while `a` holds. A mutant *infects* a state (Voas, 1992) where its expression has
another value, or what it leaves out would have had an effect. So the survey evaluates, beside each
expression, what its mutants would have made of it, as far as that changes nothing.
"""

import ast
from collections.abc import Callable, Iterable
from typing import Any, Final

from ddlsim.mutation.mutants import Mutant
from ddlsim.mutation.operators.base import called
from ddlsim.mutation.source import Module

WATCH: Final = "_mutant_infects"
"""The built-in function that a surveyed module calls around an expression."""
PURE: Final = frozenset({
    "all", "any", "as_of", "behind_us", "between", "bool", "by_id", "by_name", "current",
    "definition", "dict", "enumerate", "fromkeys", "get", "held", "holds", "holds_any", "holds_at",
    "is_of_this_life", "is_outdated", "isinstance", "islice", "items", "keys", "latest", "len",
    "list", "max", "meant", "min", "newest", "of", "plus_ms", "range", "repr", "replicas_of",
    "silent_us", "sorted", "steps", "str", "sum", "term_at", "timestamp", "tuple", "type",
    "values", "zip", "zone", "Micros", "Timestamp", "index_owner", "default_zone", "ops_of",
    "hears_leader", "is_level", "goal", "stamp_of", "physical_ms", "__import__", "startswith",
    "convertible", "fit", "bisect_left", "bisect_right", "_is_alive", "_deserves", "_leads",
})  # fmt: skip
"""Names of functions that only compute."""


def watching(counts: list[int]) -> Callable[..., Any]:
    """The function to be called as `WATCH`; it counts in `counts` and returns the value."""

    def infects(number: int, as_test: int, alternative: Callable[[], object], value: Any) -> Any:
        try:
            other = alternative()
            if as_test or isinstance(other, bool) or isinstance(value, bool):
                differs = bool(other) != bool(value)
            else:
                differs = other is not value and bool(other != value)
        except Exception:
            differs = True
        counts[number] += differs
        return value

    return infects


def watch(module: Module, mutants: Iterable[tuple[int, Mutant]]) -> None:
    """Have a module's tree count infections, each under the number of its mutant."""
    calls: dict[int, list[tuple[int, int, ast.expr]]] = {}
    for number, mutant in mutants:
        watched = watched_by(module, mutant)
        if watched is not None:
            node, alternative = watched
            as_test = isinstance(module.parents.get(node), ast.If | ast.While)
            calls.setdefault(id(node), []).append((number, int(as_test), alternative))
    _Around(calls).visit(module.tree)


def watched_by(module: Module, mutant: Mutant) -> tuple[ast.expr, ast.expr] | None:
    """An expression, and what a mutant makes of it; None where that cannot be evaluated."""
    begin, end, text = mutant.change
    if text == "pass":
        return _left_out(_statement(module, begin, end))
    around = _smallest(module, begin, end)
    if not isinstance(around, ast.expr) or not isinstance(
        getattr(around, "ctx", ast.Load()), ast.Load
    ):
        return None
    first, last = module.span(around, around)
    changed = f"({module.between(first, begin)}{text}{module.between(end, last)})"
    alternative = ast.parse(changed, mode="eval").body
    if mutant.operator == "first" and called(alternative) == "islice":
        alternative = _first_of(around)
    return (around, alternative) if is_pure(alternative) else None


def _smallest(module: Module, begin: int, end: int) -> ast.expr | ast.stmt | None:
    """The smallest expression or statement around a piece of source; a call for its function."""
    found: ast.expr | ast.stmt | None = None
    for first, last, node in module.spans():
        if first <= begin and end <= last:
            found = node
    parent = None if found is None else module.parents.get(found)
    if isinstance(parent, ast.Call) and parent.func is found:
        return parent
    return found


def _statement(module: Module, begin: int, end: int) -> ast.stmt:
    """The statement with these bytes."""
    spans = module.spans()
    return next(one for *span, one in spans if isinstance(one, ast.stmt) and span == [begin, end])


def _left_out(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """For a write that is left out: its value, and what is there before; for a merge: the clock."""
    match statement:
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript() as target], value=value):
            before = ast.parse(ast.unparse(target), mode="eval").body
            return (value, before) if is_pure(before) else None
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="update", value=clock), args=[value])):
            text = f"min({ast.unparse(value)}, {ast.unparse(clock)}.current())"
            merged = ast.parse(text, mode="eval").body
            return (value, merged) if "clock" in text and is_pure(merged) else None
    return None


def _first_of(several: ast.expr) -> ast.expr:
    """The first of several, where they can be counted without taking them."""
    text = ast.unparse(several)
    whole = f"({text}) if len({text}) < 2 else None"
    return ast.parse(whole, mode="eval").body


def is_pure(node: ast.AST) -> bool:
    """Whether an expression only computes, as far as its calls have names of `PURE`."""
    for one in ast.walk(node):
        if isinstance(one, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
            return False
        if isinstance(one, ast.Call) and called(one) not in PURE:
            return False
    return True


class _Around(ast.NodeTransformer):
    """Puts calls of `WATCH` around expressions, the inner ones first."""

    def __init__(self, calls: dict[int, list[tuple[int, int, ast.expr]]]) -> None:
        self._calls = calls

    def generic_visit(self, node: ast.AST) -> ast.AST:
        calls = self._calls.get(id(node), [])
        found = super().generic_visit(node)
        for number, as_test, alternative in calls:
            text = f"{WATCH}({number}, {as_test}, lambda: 0, 0)"
            call = ast.parse(text, mode="eval").body
            assert isinstance(call, ast.Call), text
            late = call.args[2]
            assert isinstance(late, ast.Lambda), text
            late.body = alternative
            call.args[3] = found  # type: ignore[call-overload]  # an expression
            ast.copy_location(call, node)
            found = call
        return found
