"""Optimistic and pessimistic mode.

"Right before you change the meta-data, you push out a change ... and switch your application to
pessimistic mode. ... Then you switch your application back to optimistic mode. This only works if
you can be certain that all of your application instances switch over to the new mode and back."
`c14_modes` is certain: it waits for every process that ever ran, for ever if need be, so it does
not promise that a statement ends; a process that crashes within one leaves all in pessimistic mode
until its next one has ended, which is slower and right. `c14_hoped` gives them some time.
"""

from dataclasses import replace

from ddlsim.layer.rules import reading, waiting
from ddlsim.strategies.base import EVENTUAL, EXACT, layer_design, layer_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

POST = "Optimistic mode, Pessimistic mode"

C14_MODES = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c14_modes",
            "checks the schema only while one is about to change",
            POST,
            tuple(claim for claim in EXACT if claim.invariant != "I9"),
        ),
        read_schema=reading.by_mode,
        before_statement=waiting.all_pessimistic,
        after_statement=waiting.all_optimistic,
        background=(waiting.follow_the_mode,),
    )
)
C14_HOPED = layer_design(
    replace(
        C14_MODES,
        header=layer_header(
            "c14_hoped", "c14_modes that does not wait for every process", POST, EVENTUAL
        ),
        before_statement=waiting.pessimistic_in_time,
    )
)
