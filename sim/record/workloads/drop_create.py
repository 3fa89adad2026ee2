"""`drop-create`: as schema-append, and every column is added by dropping the table and creating it
again with its rows, in one transaction.
"""

from functools import partial

from ddlsim.record.programs import RECREATE
from ddlsim.record.workloads import schema_append
from ddlsim.record.workloads.base import WORKLOADS, Workload

WORKLOADS.add(
    "drop-create",
    Workload(
        "drop-create",
        "tables are dropped and created again with their rows, under transactions",
        schema_append.rows,
        partial(schema_append.tables, way=RECREATE),
        copies=True,
    ),
)
