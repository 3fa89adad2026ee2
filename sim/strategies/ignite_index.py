"""Apache Ignite 3 with its index builds: REGISTERED, BUILDING, AVAILABLE, STOPPING, removed.

`ignite3` with the contents of indexes: an index is written from its registration on, filled beside
the load, and answers queries once it is AVAILABLE. In `ignite3` and every other design on this
plane an index is usable at once, since its entries follow from the rows (strategies.md 5 and C6).

What it claims is what `ignite3` claims, and its holes are that design's. That no transaction is
aborted by the build of an index while its node answers is part of I11.
"""

from dataclasses import replace

from ddlsim.protocol.design import index_rules
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.ignite3 import IGNITE3

IGNITE_INDEX = strategy(
    replace(
        IGNITE3,
        header=header(
            "ignite_index",
            "Apache Ignite 3 with index builds in states, beside the load",
            "Apache Ignite 3, commit d46ac208937; strategies.md 5",
            IGNITE3.header.claims,
            backward=IGNITE3.header.backward,
        ),
        check_commit=index_rules.each_step_as_shipped_and_no_build,
        install=index_rules.install_in_states,
        index_entries=index_rules.by_state,
        drain=index_rules.older_have_ended,
        fills_index=index_rules.once_building,
        erases_index=index_rules.once_removed,
    )
)
