"""A mutant: a strategy with one rule removed or broken, to see that a checker convicts it.

The decorator names the field that is replaced (`ddlsim list rules`), the mutant, the clause of the
documents that it breaks (`ddlsim list clauses`), and the checker that must convict it (`ddlsim list
checkers`). The first line of the docstring is its summary.
"""

from ddlsim.mutants.base import mutates
from ddlsim.units import Timestamp


@mutates("activation_ts", "my_mutant", "98.past.2", "atomicity")
def activates_at_once(message_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """Schema updates activate when they are logged: Tu = Tm, without DD."""
    del delay_duration_ms
    return message_ts
