"""`rename-swap`: as schema-append, and every column is added in a copy of the table.

The copy is renamed to take the table's place in the same transaction. No lock is taken before it is
made: what is committed to the table in between is the database's to keep, or to refuse.
"""

from functools import partial

from ddlsim.record.programs import SWAP
from ddlsim.record.workloads import schema_append
from ddlsim.record.workloads.base import WORKLOADS, Workload

WORKLOADS.add(
    "rename-swap",
    Workload(
        "rename-swap",
        "a copy of a table takes its place by renaming, under transactions",
        schema_append.rows,
        partial(schema_append.tables, way=SWAP),
        copies=True,
    ),
)
