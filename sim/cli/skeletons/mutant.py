"""A mutant: a strategy with one rule removed or broken, to see that a checker convicts it.

`fields` replaces one field of the strategy (`ddlsim list rules`); `breaks` is the clause of the
documents that is broken (`ddlsim list clauses`), `caught_by` the checker that must convict it
(`ddlsim list checkers`).
"""

from ddlsim.mutants.base import Mutant, mutant
from ddlsim.units import Timestamp


def at_once(message_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """Tu = Tm: DD is left out, so that nodes that do not know the update yet are too late."""
    del delay_duration_ms
    return message_ts


MY_MUTANT = mutant(
    Mutant(
        name="my_mutant",
        summary="schema updates activate at the instant at which they are logged",
        breaks="98.flow.2",
        caught_by="atomicity",
        fields={"activation_ts": at_once},
    )
)
