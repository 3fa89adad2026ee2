"""IEP-110 without its quirk: the coordinator enlists a table again that nothing has run on.

An activation between enlistTs at the coordinator and opTs at the primary refuses the first
operation on a table. Here the coordinator enlists the table anew and sends the operation once more,
one round trip later, where IEP-110 aborts the transaction; the client encodes its row anew, and
does not learn of more. What is left out is said in `enlisted_again`.
"""

from dataclasses import replace

from ddlsim.protocol.design.quirk_rules import coordinator_retry
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.iep import IEP

B9_COORDINATOR_RETRY = strategy(
    replace(
        IEP,
        header=header(
            "b9_coordinator_retry",
            "a table is enlisted again as long as nothing of the transaction has run on it",
            "IEP-110, the quirk after the basic schema changes: retried by the coordinator",
        ),
        enlists_again=coordinator_retry,
    )
)
