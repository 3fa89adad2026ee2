"""`truncate`: as schema-append, and every column is added after the table was truncated and its
rows put back, in one transaction.
"""

from functools import partial

from ddlsim.record.programs import TRUNCATE
from ddlsim.record.workloads import schema_append
from ddlsim.record.workloads.base import WORKLOADS, Workload

WORKLOADS.add(
    "truncate",
    Workload(
        "truncate",
        "tables are truncated and filled again in one transaction, under transactions",
        schema_append.rows,
        partial(schema_append.tables, way=TRUNCATE),
        copies=True,
    ),
)
