"""The thread's first option: read the schema in every transaction.

"Simply reading the schema on every transaction would bottleneck throughput at the throughput of the
storage servers where the keys for the schema are." Each design of the family is one of these with
some fields replaced.

`c1_schema` reads the whole log of updates by one request, a range: its last entry tells the number,
and an update to come writes into the range. `c1b_version` reads a number instead, and the schema
only where that has changed: as many requests, but less to read and to parse. `c1c_replicas` asks
the cluster to keep the schema on more storage servers than the rest.
"""

from dataclasses import replace

from ddlsim.layer.design import LayerDesign
from ddlsim.layer.rules import fences, plans, publishing, reading, waiting
from ddlsim.strategies.base import layer_design, layer_header

C1_SCHEMA = layer_design(
    LayerDesign(
        header=layer_header("c1_schema", "reads the schema in every transaction", "first post"),
        # transactions
        admit=fences.always,
        read_schema=reading.whole_schema,
        fence=fences.unfenced,
        after_failure=fences.keep_the_schema,
        newer_row=fences.refuse_newer_rows,
        token=fences.no_token,
        # DDL
        plan=plans.direct,
        pause_before=publishing.at_any_time,
        activation=publishing.at_commit,
        publish=publishing.head,
        own_change=publishing.leave_the_cache,
        settle=waiting.at_once,
        writes_entries=plans.the_same,
        before_statement=waiting.nothing,
        after_statement=waiting.nothing,
    )
)
C1B_VERSION = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c1b_version",
            "reads the schema's version in every transaction",
            "version your schema, with a single version key",
        ),
        read_schema=reading.version_key_first,
    )
)
C1C_REPLICAS = layer_design(
    replace(
        C1_SCHEMA,
        header=layer_header(
            "c1c_replicas",
            "reads the schema in every transaction, from more replicas than rows have",
            "mark some keyspaces as requiring additional replication",
        ),
        schema_replicas=5,
    )
)
