"""The table of operators, filled: importing it imports every file of operators."""

import ast
from typing import Final

from ddlsim.mutation.operators import conditions, effects, times
from ddlsim.mutation.operators.base import OPERATORS, Operator

__all__ = ["ASKED", "OPERATORS", "conditions", "effects", "times"]

KINDS: Final = {kind for operator in OPERATORS.values() for kind in operator.kinds}
ASKED: Final[dict[type[ast.AST], tuple[Operator, ...]]] = {
    kind: tuple(one for one in OPERATORS.values() if kind in one.kinds) for kind in KINDS
}
"""The operators that make changes at nodes of a type."""
