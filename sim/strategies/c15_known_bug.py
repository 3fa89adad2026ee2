"""The thread's question: a cached schema, and a read conflict on its key.

"Could you accomplish correct caching by adding a READ conflict range?" No: "there is a gap where
the schema might change that you might miss", between the read of the schema and the read version.
Nothing tells a process of the statements of others; its own it reads once they are committed.

`c15_recheck` reads the schema again after every conflict, which closes the gap a little sooner.
`c15_unassuming` claims what the question hopes for.
"""

from dataclasses import replace

from ddlsim.layer.rules import fences, reading, waiting
from ddlsim.strategies.base import EVENTUAL, layer_design, layer_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

POST = "accomplish correct caching by adding a READ conflict range"

C15_KNOWN_BUG = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c15_known_bug", "a cached schema, and a read conflict on its key", POST, EVENTUAL
        ),
        read_schema=reading.kept,
        fence=fences.schema_key,
        settle=waiting.read_again,
    )
)
C15_RECHECK = layer_design(
    replace(
        C15_KNOWN_BUG,
        header=layer_header(
            "c15_recheck", "c15_known_bug that reads again after conflicts", POST, EVENTUAL
        ),
        after_failure=fences.read_again_after_conflicts,
    )
)
C15_UNASSUMING = layer_design(
    replace(
        C15_RECHECK,
        header=layer_header("c15_unassuming", "c15_recheck that claims to be right", POST),
    )
)
