"""IEP-98's alternative of real-time atomicity: all nodes stop, change, and go on.

"To maintain the real-time atomicity, we would need to coordinate between all nodes of the cluster
on each schema update ... a lagging node would make all nodes wait" (IEP-98). While a barrier is up
no node resolves any schema, of whichever table, and open transactions on the table are aborted. No
write goes in one phase: the leader of a group, which takes commit_ts, does not wait for a barrier.
`a3_barrier_impatient` goes on after `barrier_wait_ms` without the nodes that have not answered.
"""

from dataclasses import replace
from typing import Final

from ddlsim.protocol.design import agreed_installs
from ddlsim.protocol.design.failure_rules import never_in_one_phase
from ddlsim.protocol.design.flows import whatever_is_known
from ddlsim.protocol.design.time_rules import at_message, at_once
from ddlsim.strategies.base import all_but, header, strategy
from ddlsim.strategies.iep import IEP

CLAIMS = all_but("I9", "I11")
"""Neither that only a lagging node waits, nor that no transaction is aborted without need."""


SOURCE: Final = "IEP-98, real-time atomicity"

A3_BARRIER = strategy(
    replace(
        IEP,
        header=header(
            "a3_barrier", "every DDL stops all nodes until all of them know it", SOURCE, CLAIMS
        ),
        install=agreed_installs.install_behind_a_barrier,
        resolve_schema=agreed_installs.behind_a_barrier,
        before_statement=whatever_is_known,
        activation_ts=at_message,
        acknowledge_ts=at_once,
        in_one_phase=never_in_one_phase,
    )
)
A3_BARRIER_IMPATIENT = strategy(
    replace(
        A3_BARRIER,
        header=header(
            "a3_barrier_impatient", "a3_barrier that goes on without late nodes", SOURCE, CLAIMS
        ),
        install=agreed_installs.install_behind_an_impatient_barrier,
    )
)
