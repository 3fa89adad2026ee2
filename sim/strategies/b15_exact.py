"""IEP-110 without its optimisation: no commit across any change of an enlisted table.

"This optimization might be postponed" (IEP-110). It aborts a little more, and no transaction is
weird any longer.
"""

from dataclasses import replace

from ddlsim.protocol.design import border_rules
from ddlsim.strategies.base import all_but, header, strategy
from ddlsim.strategies.iep import IEP

CLAIMS = all_but("I11")
"""It aborts what IEP-110 would let pass."""


B15_EXACT = strategy(
    replace(
        IEP,
        header=header(
            "b15_exact",
            "no commit across any change of an enlisted table",
            "IEP-110, the postponed optimisation",
            CLAIMS,
        ),
        check_commit=border_rules.exact_match,
    )
)
