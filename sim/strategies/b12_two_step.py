"""IEP-110's postponed NOT NULL column without default, on an empty table [110.later.2].

"We could allow it for empty tables. This requires an additional design" (IEP-110). `b12_two_step`
is one; `b12_naive_check` looks and then installs, and a row may come in between. What all others
do is to refuse the statement.
"""

from dataclasses import replace
from typing import Final

from ddlsim.protocol.design import mandatory_columns
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.iep import IEP

SOURCE: Final = "IEP-110, postponed: a NOT NULL column on an empty table"

B12_TWO_STEP = strategy(
    replace(
        IEP,
        header=header(
            "b12_two_step", "a mandatory column is pending until its table was read", SOURCE
        ),
        install=mandatory_columns.install_pending_first,
    )
)
B12_NAIVE_CHECK = strategy(
    replace(
        IEP,
        header=header(
            "b12_naive_check", "a mandatory column where the table was seen empty", SOURCE
        ),
        install=mandatory_columns.install_if_seen_empty,
    )
)
