"""The thread's second option: the schema as a log, and a watch on its head.

"Storing the schema in some sort of a log structure and using a watch would make it eventually
consistent", and no more: "your layer process could be partitioned away from only the storage
servers that have the schema. Watches give you no notification of this". `c2b_poll` reads the head
every so often instead, and refuses nothing.
"""

from dataclasses import replace

from ddlsim.layer.rules import reading, waiting
from ddlsim.strategies.base import EVENTUAL, layer_design, layer_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

C2_WATCH = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c2_watch", "a cached schema that a watch renews", "first post, the log", EVENTUAL
        ),
        read_schema=reading.kept,
        background=(waiting.watch_the_head,),
    )
)
C2B_POLL = layer_design(
    replace(
        C2_WATCH,
        header=layer_header(
            "c2b_poll",
            "a cached schema that is read again every poll_ms",
            "explicit reads every so often rather than a watch",
            EVENTUAL,
        ),
        background=(waiting.poll_the_head,),
    )
)
