"""The table of operators, filled: importing it imports every file of operators."""

from ddlsim.mutation.operators import conditions, effects, times
from ddlsim.mutation.operators.base import OPERATORS

__all__ = ["OPERATORS", "conditions", "effects", "times"]
