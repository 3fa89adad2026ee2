"""IEP-110's option 2: a transaction goes on under the schema that it began with.

Its client does not see a DDL that has happened; and if it reads what was written after the DDL it
is before and after it. `b2_opt2_downgrading` reads such rows, too.
"""

from dataclasses import replace
from typing import Final

from ddlsim.protocol.design import border_rules
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.iep import IEP

SOURCE: Final = "IEP-110, option 2"

B2_OPT2 = strategy(
    replace(
        IEP,
        header=header("b2_opt2", "operations go on under the schema of the first one", SOURCE),
        check_operation=border_rules.go_on,
    )
)

B2_OPT2_DOWNGRADING = strategy(
    replace(
        IEP,
        header=header(
            "b2_opt2_downgrading",
            "b2_opt2 that reads rows of newer schemas, downgraded",
            SOURCE,
            backward="off",
        ),
        check_operation=border_rules.go_on,
        excuses_tuple=border_rules.any_newer_row,
    )
)
