"""The conditions of CHECK constraints that are enforced, out of what sqlglot parses.

Read are comparisons of a column with a constant, IS [NOT] NULL, AND, OR and parentheses. The text
of every other expression is kept, and rows are not compared with it.
"""

from math import isfinite
from typing import Final

from sqlglot import exp

from ddlsim.model.schema import Comparison, Condition, IsNull, Junction, Value

_OPERATORS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operators with their sides exchanged."""
_JUNCTIONS: Final[dict[type[exp.Expr], str]] = {exp.And: "and", exp.Or: "or"}


class _OtherExpressionError(Exception):
    """The expression is none of those that are enforced."""


def condition_of(expression: exp.Expr) -> tuple[Condition | None, tuple[str, ...]]:
    """The condition, and the columns that its places count; (None, ()) for any other expression."""
    columns: dict[str, int] = {}
    try:
        condition = _condition(expression, columns)
    except _OtherExpressionError:
        return None, ()
    return condition, tuple(columns)


def _condition(expression: exp.Expr, columns: dict[str, int]) -> Condition:
    kind = type(expression)
    if isinstance(expression, exp.Paren):
        return _condition(expression.this, columns)
    if kind in _JUNCTIONS:
        sides = (expression.this, expression.expression)
        parts = tuple(_condition(side, columns) for side in sides)
        return Junction(_JUNCTIONS[kind], parts)
    if kind in _OPERATORS:
        left, right, operator = expression.this, expression.expression, _OPERATORS[kind]
        if not isinstance(left, exp.Column):
            left, right, operator = right, left, _MIRRORED[operator]
        return Comparison(_place(left, columns), operator, _constant(right))
    negated = isinstance(expression, exp.Not)
    if negated:
        expression = expression.this
    if isinstance(expression, exp.Is) and isinstance(expression.expression, exp.Null):
        return IsNull(_place(expression.this, columns), negated)
    raise _OtherExpressionError


def _place(expression: exp.Expr, columns: dict[str, int]) -> int:
    """The place of a column among those that were named; a new name comes last."""
    identifier = expression.this
    plain = isinstance(expression, exp.Column) and not expression.args.get("table")
    if not plain or not isinstance(identifier, exp.Identifier):
        raise _OtherExpressionError
    name = str(identifier.this)
    return columns.setdefault(name if identifier.quoted else name.lower(), len(columns))


def _constant(expression: exp.Expr) -> Value:
    """A number, a string or a truth value."""
    if isinstance(expression, exp.Neg):
        value = _constant(expression.this)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _OtherExpressionError
        return -value
    if isinstance(expression, exp.Boolean):
        return bool(expression.this)
    if not isinstance(expression, exp.Literal):
        raise _OtherExpressionError
    text = str(expression.this)
    if expression.is_string:
        return text
    try:
        value = int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise _OtherExpressionError from None
    if not isfinite(value):
        raise _OtherExpressionError
    return value
