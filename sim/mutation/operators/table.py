"""The table of operators, filled: importing it imports every file of operators."""

import ast
from functools import cache

from ddlsim.mutation.operators import conditions, effects, times
from ddlsim.mutation.operators.base import OPERATORS, Operator

__all__ = ["OPERATORS", "asked", "conditions", "effects", "times"]


@cache
def asked(kind: type[ast.AST]) -> tuple[Operator, ...]:
    """The operators that make changes at nodes of a type."""
    return tuple(one for one in OPERATORS.values() if kind in one.kinds)
