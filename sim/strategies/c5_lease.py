"""F1's leases: read the schema again in time, and refuse to work with an older one.

"If you require re-reading the schema every 1 minute, and refuse to answer queries if you haven't
read the schema within the past minute, then you'll prevent" that an old version is used for long.
An update waits until no process has a lease on the version before the newest; so at most two are in
use: what was sent under a lease that is over by now conflicts with the update after the next one.
`c6_f1` takes an index through F1's states. Its rows are read in reorganization, the second state
behind delete-only, so that nothing commits under delete-only any more.
"""

from dataclasses import replace
from typing import Final

from ddlsim.layer.rules import fences, plans, publishing, reading, waiting
from ddlsim.model.design import RATES_BOUNDED, Claim
from ddlsim.strategies.base import EVENTUAL, layer_design, layer_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

LEASED: Final = Claim("I6", (RATES_BOUNDED,))
"""What only reads, or begins behind the update after the next one, is bound by its lease alone: no
conflict ends it."""
OWN: Final = Claim("I4", (RATES_BOUNDED,))
"""A statement is answered once no process has a lease on the schema before, and no process works
without a lease."""
INDEXED: Final = Claim("I7", (RATES_BOUNDED,))
"""Entries are right because at most two adjacent states of an index are in use: it rests on I6."""
C5_LEASE = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c5_lease",
            "a cached schema under a lease; at most two versions in use",
            "re-reading the schema every 1 minute",
            (*EVENTUAL, LEASED, OWN),
        ),
        admit=fences.while_leased,
        read_schema=reading.kept,
        fence=fences.lease_and_next_step,
        after_failure=fences.read_again_after_newer_rows,
        pause_before=publishing.once_leases_have_ended,
        publish=publishing.head_and_step,
        settle=waiting.leases_end,
        background=(waiting.poll_the_head,),
    )
)
C6_F1 = layer_design(
    replace(
        C5_LEASE,
        header=layer_header(
            "c6_f1",
            "c5_lease whose indexes go through delete-only and write-only",
            "the paper on F1's schema changes",
            (*EVENTUAL, LEASED, OWN, INDEXED),
        ),
        plan=plans.all_states,
    )
)
