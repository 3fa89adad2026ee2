"""The conditions of a sweep: `"dd >= h and strategy != 'iep'"`, over the names of its axes.

Python's syntax, read by its parser, never run by it: comparisons, and/or/not, arithmetic, lists,
numbers and texts are all there is.
"""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ddlsim.model.records import Record
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, near

COMPARISONS: Final[dict[type, Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, among: value in among,
    ast.NotIn: lambda value, among: value not in among,
}
ARITHMETIC: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class Condition(Record, frozen=True):
    """A condition that a cell must meet; `where` is what errors call it."""

    text: str
    where: str

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether it holds for these values; `ValueError` where they cannot be compared."""
        try:
            return bool(_value(ast.parse(self.text, mode="eval").body, values))
        except (TypeError, ZeroDivisionError) as error:
            raise ValueError(f"{self.where}: {self.text!r} cannot be decided: {error}") from None


def read_condition(text: str, known: Iterable[str], origin: Origin, path: Path) -> Condition:
    """A condition, every name of it known."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        raise origin.error(path, f'{text!r} is not a condition, such as "dd >= h"') from None
    names = sorted(known)
    for node in ast.walk(tree.body):
        if isinstance(node, ast.Name) and node.id not in names:
            what = f"no parameter is called {node.id!r}; {near(node.id, names)}"
            raise origin.error(path, what)
        if isinstance(node, ast.expr) and not _is_allowed(node):
            what = f"{ast.unparse(node)!r} cannot be used; compare parameters, with and, or, not"
            raise origin.error(path, what)
    return Condition(text, origin.at(path))


def _is_allowed(node: ast.expr) -> bool:
    match node:
        case ast.Compare(ops=ops):
            return all(type(op) in COMPARISONS for op in ops)
        case ast.BinOp(op=op):
            return type(op) in ARITHMETIC
        case ast.UnaryOp(op=op):
            return isinstance(op, ast.Not | ast.USub)
        case ast.Constant(value=value):
            return isinstance(value, int | float | str)
        case _:
            return isinstance(node, ast.BoolOp | ast.Name | ast.List | ast.Tuple)


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return values[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, values) for part in parts]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, values)
        case ast.UnaryOp(operand=operand):
            return -_value(operand, values)
        case ast.BinOp(left=left, op=op, right=right):
            return ARITHMETIC[type(op)](_value(left, values), _value(right, values))
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, values) for part in parts)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_value(side, values) for side in (left, *others)]
            pairs = zip(ops, sides, sides[1:], strict=False)
            return all(COMPARISONS[type(op)](a, b) for op, a, b in pairs)
    raise AssertionError(f"not allowed: {ast.dump(node)}")
