"""IEP-110's option 2: a transaction goes on under the schema that it began with.

Its client does not see a DDL that has happened; and if it reads what was written after the DDL it
is before and after it. `b2_opt2_downgrading` reads such rows, too.
"""

from dataclasses import replace

from ddlsim.model.design import DesignHeader
from ddlsim.protocol.design import border_rules
from ddlsim.strategies.base import FULL_CLAIMS, strategy
from ddlsim.strategies.iep import IEP


def _header(name: str, summary: str, backward: str = "forbid_all") -> DesignHeader:
    return DesignHeader(
        name, summary, "IEP-110, option 2", "ignite", FULL_CLAIMS, backward=backward
    )


B2_OPT2 = strategy(
    replace(
        IEP,
        header=_header("b2_opt2", "operations go on under the schema of the first one"),
        check_operation=border_rules.go_on,
    )
)

B2_OPT2_DOWNGRADING = strategy(
    replace(
        IEP,
        header=_header(
            "b2_opt2_downgrading", "b2_opt2 that reads rows of newer schemas, downgraded", "off"
        ),
        check_operation=border_rules.go_on,
        excuses_tuple=border_rules.any_newer_row,
    )
)
