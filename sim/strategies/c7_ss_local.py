"""Every storage server holds the schema, and commits are checked against it.

"Read from the storage-server local data ... Do commits that push to this space on every storage
server. ... A schema would change atomically at a version." It needs what FoundationDB lacked in
2018: `local_keys`.
"""

from dataclasses import replace

from ddlsim.layer.rules import fences, publishing, reading
from ddlsim.strategies.base import layer_design, layer_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

C7_SS_LOCAL = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c7_ss_local",
            "the schema's version from the storage server, compared again by the proxy",
            "the completely atomic cutover semantics",
        ),
        read_schema=reading.local_to_storage,
        fence=fences.local_head,
        publish=publishing.head_and_local,
    )
)
