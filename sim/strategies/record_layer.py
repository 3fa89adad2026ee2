"""FoundationDB's Record Layer: cached store states, checked by version stamp and store header.

A model of the documented protocol (`MetaDataVersionStampStoreStateCache`,
`FDBRecordStoreStateCacheEntry`, `IndexState`), not of the code. A cached state is used if the
metadata version that came with the read version is the one of when it was read; the store's header
then joins the read conflicts. A state is kept only once it was read from committed keys. New
indexes are write-only until they are built in transactions of some rows each, then readable.

What differs: each table is a record store of its own here, with its header; a record type of the
Record Layer shares its store with others. Its metadata comes with the application, which brings the
header up when it opens the store; here a statement does. There, writes to a unique index that is
write-only put repeated values down, and the index does not become readable; here they are refused.
"""

from dataclasses import replace

from ddlsim.layer.rules import plans
from ddlsim.strategies.base import layer_design, preset_header
from ddlsim.strategies.c16_safe import C16_TABLES

RECORD_LAYER = layer_design(
    replace(
        C16_TABLES,
        header=preset_header(
            "record_layer",
            "c16_tables with index states: after FoundationDB's Record Layer",
            "FoundationDB/fdb-record-layer: MetaDataVersionStampStoreStateCache, IndexState",
        ),
        plan=plans.three_states,
    )
)
