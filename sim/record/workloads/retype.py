"""`retype`: as schema-append, and every added column comes with a change of another one's type.

Such a statement writes each row of the table anew.
"""

from functools import partial

from ddlsim.record.programs import RETYPE
from ddlsim.record.workloads import schema_append
from ddlsim.record.workloads.base import WORKLOADS, Workload

WORKLOADS.add(
    "retype",
    Workload(
        "retype",
        "types of columns are changed, so that tables are written anew under transactions",
        schema_append.rows,
        partial(schema_append.tables, way=RETYPE),
    ),
)
