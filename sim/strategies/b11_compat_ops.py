"""IEP-110's postponed relaxation: operations go on after a compatible DDL [110.later.1].

The client's schema is fixed, so only a question about the schema itself could show the change; "we
might consider such a level of weirdness negligible", says IEP-110. It makes cycles: a transaction
that was shown the columns of a table has run before the change of it, and what it does after that
change, on this table or another, reads what came later. So I3 is not claimed against cycles on
which every late use of a version is that of a transaction which looked at the columns. To have none
of them, commit across no change of such a table (`schema_at_commit_ts_exact_if_shown`).
"""

from dataclasses import replace
from typing import Final

from ddlsim.protocol.design import border_rules
from ddlsim.strategies.base import all_less, header, strategy
from ddlsim.strategies.iep import IEP

LOOKED: Final = tuple(
    f"rw-schema[metadata, late{how}{found}]"
    for how in ("", ", newer version read", ", judged in time")
    for found in ("", ", nothing found")
)
CLAIMS = all_less("I3", *LOOKED, of=all_less("I4", "ddl-not-seen"))
"""That a transaction in flight does not see a compatible DDL is what it is for."""


SOURCE: Final = "IEP-110, postponed: operations after a compatible DDL"

B11_COMPAT_OPS = strategy(
    replace(
        IEP,
        header=header(
            "b11_compat_ops", "operations go on under I after compatible changes", SOURCE, CLAIMS
        ),
        check_operation=border_rules.go_on_if_compatible,
    )
)

B11_DOWNGRADING = strategy(
    replace(
        IEP,
        header=header(
            "b11_downgrading",
            "b11_compat_ops that reads rows of newer schemas, downgraded",
            SOURCE,
            CLAIMS,
            backward="off",
        ),
        check_operation=border_rules.go_on_if_compatible,
        excuses_tuple=border_rules.any_newer_row,
    )
)
