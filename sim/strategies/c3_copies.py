"""The thread's third option: several copies, of which a transaction reads any one.

"Storing the schema in multiple places such that each copy is most likely on a different storage
server, and updating all copies whenever the schema changes." `c3b_versions` copies only the
version: "you can keep multiple copies of the schema version information around".

Here the copies lie on as many storage servers as rows leave to them, each of which gets its part of
the reads.
"""

from dataclasses import replace

from ddlsim.layer.rules import publishing, reading
from ddlsim.strategies.base import layer_design, layer_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

C3_COPIES = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header("c3_copies", "reads any of several copies", "first post, the copies"),
        read_schema=reading.one_of_the_copies,
        publish=publishing.head_and_copies,
        copies=10,
        copy_servers=5,
    )
)
C3B_VERSIONS = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c3b_versions",
            "reads any of several copies of the schema's version",
            "pick a schema version key at random",
        ),
        read_schema=reading.one_of_the_version_keys,
        publish=publishing.head_and_version_keys,
        copy_servers=5,
    )
)
