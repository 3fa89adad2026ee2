"""IEP-98's schema change flow, its acknowledgement resting on answers and not on the clock bound.

"We must make the client wait for CSmax after installing an update to make sure that Tu has become
non-future on any node" (IEP-98). Here every node is asked once the coordinator's clock shows Tu,
and its answer says that it has applied the update and shows Tu. So that clients see their own DDL
needs no CSmax; and one node that does not answer holds the statement back without end.
"""

from dataclasses import replace
from typing import Final

from ddlsim.model.design import Claim
from ddlsim.protocol.design import agreed_installs
from ddlsim.protocol.design.time_rules import at_activation
from ddlsim.strategies.base import all_but, all_less, header, strategy
from ddlsim.strategies.iep import IEP

CLAIMS: Final = all_less("I11", "answered-too-late", of=(*all_but("I4", "I9"), Claim("I4")))
"""I4 under any clocks; not that a statement is independent of nodes that have no part in it.

Where messages take longer than CSmax the answers of all nodes come later than Tu + CSmax."""


A8_ALL_ACKS = strategy(
    replace(
        IEP,
        header=header(
            "a8_all_acks",
            "a DDL is acknowledged once every node has applied it and shows Tu",
            "IEP-98, clients see their own schema changes: by answers instead of CSmax",
            CLAIMS,
            ddl_edges_assume=(),
        ),
        install=agreed_installs.install_and_hear_from_all,
        acknowledge_ts=at_activation,
        acknowledge_known_ts=at_activation,
    )
)
