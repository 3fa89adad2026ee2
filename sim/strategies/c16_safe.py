"""What layers on FoundationDB do today: the metadata version, and a read conflict on a schema key.

The version that comes with the read version tells of changes before it, the conflict of changes
after it; the key is the store's own, so that a change elsewhere aborts nothing. The Record Layer
and CouchDB work so. `c16_states` takes an index through write-only, which is enough where no
transaction commits under an older schema (C6-C1); `c16_tables` conflicts on the tables it used.
"""

from dataclasses import replace

from ddlsim.layer.rules import fences, plans, publishing, reading
from ddlsim.strategies.base import layer_design, layer_header
from ddlsim.strategies.c1_schema import C1_SCHEMA

POST = "a piece of meta-data that is returned with a get-read-version call"

C16_SAFE = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c16_safe", "the metadata version at the start, a conflict on the schema's key", POST
        ),
        read_schema=reading.metadata_version_at_snapshot,
        fence=fences.schema_key,
        publish=publishing.head_and_metadata_version,
    )
)
C16_STATES = layer_design(
    replace(
        C16_SAFE,
        header=layer_header(
            "c16_states", "c16_safe that fills new indexes while they are write-only", POST
        ),
        plan=plans.three_states,
    )
)
C16_TABLES = layer_design(
    replace(
        C16_SAFE,
        header=layer_header(
            "c16_tables", "c16_safe with a conflict on each table that was used", POST
        ),
        fence=fences.object_keys,
    )
)
