"""A read conflict on the schema's key "in the past".

"If you could set a read-conflict-key for a key in the past, then ... your transaction will be
failed at commit time if the schema has been changed" since the process read it. Nothing checks
read-only transactions, and others only at their end. A process reads the schema again within the
window of the resolvers. It needs what FoundationDB lacks: `past_read_conflicts`.
"""

from dataclasses import replace

from ddlsim.layer.rules import fences, reading, waiting
from ddlsim.strategies.base import claims, layer_design, layer_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

C13_PAST = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c13_past",
            "a cached schema, and a conflict since it was read",
            "a read-conflict-key for a key in the past",
            claims("I5", "I7", "I8", "I9", "I12"),
        ),
        read_schema=reading.kept,
        fence=fences.schema_key_in_the_past,
        after_failure=fences.read_again_after_conflicts,
        background=(waiting.poll_the_head,),
        poll_ms=2000,
    )
)
