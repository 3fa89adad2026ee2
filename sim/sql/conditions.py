"""The conditions of CHECK constraints that are enforced, out of what sqlglot parses.

Read are comparisons of a column with a constant, IS [NOT] NULL, AND, OR and parentheses. The text
of every other expression is kept, and rows are not compared with it; the columns that it names are
read, so that a slip in one of them is found.
"""

from collections.abc import Iterator
from math import isfinite
from typing import Final, NamedTuple

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
_WORDS: Final = {
    *("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH"),
    *("QUARTER", "YEAR", "USER", "SESSION_USER", "SYSTEM_USER", "CURRENT_ROLE", "CURRENT_SCHEMA"),
    *("CURRENT_CATALOG", "CURRENT_PATH", "SYSDATE", "UNKNOWN"),
}
"""Words that sqlglot takes for columns where they stand without quotes."""
_OF_A_UNIT: Final = {"TIMESTAMPADD", "DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF"}
"""Functions that sqlglot knows by name alone and whose first argument may be a unit of time."""
_JUNCTIONS: Final[dict[type[exp.Expr], str]] = {exp.And: "and", exp.Or: "or"}


class _OtherExpressionError(Exception):
    """The expression is none of those that are enforced."""


class Said(NamedTuple):
    """The columns that a condition's places count, and it; else the columns that are named."""

    columns: tuple[str, ...]
    condition: Condition | None = None
    reads: tuple[str, ...] = ()


def said_of(expression: exp.Expr) -> Said:
    """The condition of an expression, or what any other one names."""
    columns: dict[str, int] = {}
    try:
        condition = _condition(expression, columns)
    except _OtherExpressionError:
        return Said((), None, tuple(dict.fromkeys(_named(expression))))
    return Said(tuple(columns), condition)


def _named(expression: exp.Expr) -> Iterator[str]:
    """The columns that an expression names, behind a table's name where they are.

    Not those of a query within it.
    """
    for column in _columns(expression):
        if column.find_ancestor(exp.Query) is None:
            words = (column.args.get("table"), column.this)
            yield ".".join(_name(word) for word in words if word is not None)


def _columns(expression: exp.Expr) -> Iterator[exp.Column]:
    """The columns in an expression, but not words taken for some: units of time, functions."""
    for column in expression.find_all(exp.Column):
        bare = column.args.get("table") is None and not column.this.args.get("quoted")
        if not (bare and (column.name.upper() in _WORDS or _is_unit(column))):
            yield column


def columns_read(query: exp.Query) -> Iterator[tuple[str, str]]:
    """The columns that a query names, each with its table, where both are plain to see.

    In one SELECT from tables alone; where there are several, only those behind the name of one.
    """
    start = query.args.get("from_")
    if not isinstance(query, exp.Select) or start is None or len([*query.find_all(exp.Query)]) > 1:
        return
    found = [start.this, *(join.this for join in query.args.get("joins") or ())]
    if not all(type(one) is exp.Table and _is_plain(one) for one in found):
        return
    tables = {_name(one.args["alias"].this if one.alias else one.this): one.this for one in found}
    own = {_name(one.args["alias"]) for one in query.selects if isinstance(one, exp.Alias)}
    for column in _columns(query):
        table, name = column.args.get("table"), column.this
        if not isinstance(name, exp.Identifier) or column.args.get("db") is not None:
            continue
        if table is None and len(tables) == len(found) == 1 and _name(name) not in own:
            yield _name(found[0].this), _name(name)
        elif table is not None and _name(table) in tables:
            yield _name(tables[_name(table)]), _name(name)


def _is_plain(table: exp.Table) -> bool:
    """Whether it is a table by its name, its columns by theirs; not a function."""
    is_name = isinstance(table.this, exp.Identifier) and table.db.lower() in {"", "public"}
    return is_name and not (table.args.get("alias") and table.args["alias"].columns)


def _is_unit(column: exp.Column) -> bool:
    """Whether it is the first of three arguments of a function that counts in units of time."""
    call = column.parent
    if isinstance(call, exp.TimestampDiff | exp.DateDiff):
        return call.this is column and call.args.get("unit") is not None
    if not isinstance(call, exp.Anonymous) or call.name.upper() not in _OF_A_UNIT:
        return False
    return len(call.expressions) > 2 and call.expressions[0] is column


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
    return columns.setdefault(_name(identifier), len(columns))


def _name(identifier: exp.Expr) -> str:
    """A name as it is compared: without quotes it is folded."""
    name = str(identifier.this)
    return name if identifier.args.get("quoted") else name.lower()


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
