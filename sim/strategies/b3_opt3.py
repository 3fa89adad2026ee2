"""IEP-110's option 3, the one that it chooses: no operation after a DDL, commit if compatible.

`b3_opt3` is `iep` under the catalogue's name; the two others leave one check out.
"""

from dataclasses import replace
from typing import Final

from ddlsim.protocol.design import border_rules
from ddlsim.protocol.design.flows import leave_unmarked
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.iep import IEP

SOURCE: Final = "IEP-110, option 3"

B3_OPT3 = strategy(
    replace(
        IEP,
        header=header("b3_opt3", "no operation after a DDL, commit if forward-compatible", SOURCE),
    )
)

B3_NO_COMMIT_CHECK = strategy(
    replace(
        IEP,
        header=header("b3_no_commit_check", "b3_opt3 without the check at commit", SOURCE),
        check_commit=border_rules.commit_anyway,
        on_activated=leave_unmarked,
    )
)
