"""A metadata version that comes with the read version.

"A piece of meta-data that is returned with a get-read-version call ... each time the schema is
updated, you also update this key." FoundationDB has it since 6.1 as `\\xff/metadataVersion`. Read
with a conflict it makes transactions exact, and every change of any layer aborts them all.
`c12_at_start` reads it without: a consistent start, and nothing about what follows.
"""

from dataclasses import replace

from ddlsim.layer.rules import publishing, reading
from ddlsim.strategies.base import EVENTUAL, layer_design, layer_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

POST = "a piece of meta-data that is returned with a get-read-version call"

C12_GRV = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header("c12_grv", "the metadata version, with a conflict on it", POST),
        read_schema=reading.metadata_version,
        publish=publishing.head_and_metadata_version,
    )
)
C12_AT_START = layer_design(
    replace(
        C12_GRV,
        header=layer_header(
            "c12_at_start", "the metadata version, without a conflict", POST, EVENTUAL
        ),
        read_schema=reading.metadata_version_at_snapshot,
    )
)
