"""IEP-110's option 3, the one that it chooses: no operation after a DDL, commit if compatible.

`b3_opt3` is `iep` under the catalogue's name; the two others leave one check out.
"""

from dataclasses import replace

from ddlsim.model.design import DesignHeader
from ddlsim.protocol.design import border_rules
from ddlsim.protocol.design.flows import leave_unmarked
from ddlsim.strategies.base import FULL_CLAIMS, strategy
from ddlsim.strategies.iep import IEP


def _header(name: str, summary: str) -> DesignHeader:
    return DesignHeader(name, summary, "IEP-110, option 3", "ignite", FULL_CLAIMS)


B3_OPT3 = strategy(
    replace(
        IEP,
        header=_header("b3_opt3", "no operation after a DDL, commit if forward-compatible"),
    )
)

B3_NO_COMMIT_CHECK = strategy(
    replace(
        IEP,
        header=_header("b3_no_commit_check", "b3_opt3 without the check at commit"),
        check_commit=border_rules.commit_anyway,
        on_activated=leave_unmarked,
    )
)
