"""IEP-110's postponed rename in two stages: the old name stays as an alias for a while.

A transaction that is done with its operations, and no longer than the window A, is not aborted for
a rename that it crosses [110.later.3]. A is `alias_ms`; `strategy.alias_ms` sets another one.
"""

from dataclasses import replace
from typing import Final

from ddlsim.protocol.schema import renaming
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.iep import IEP

SOURCE: Final = "IEP-110, postponed: rename"

B13_ALIAS = strategy(
    replace(
        IEP,
        header=header("b13_alias", "the old name of what is renamed stays for A, reserved", SOURCE),
        rename=renaming.alias,
        alias_ms=200,
    )
)

B13_UNRESERVED = strategy(
    replace(
        B13_ALIAS,
        header=header(
            "b13_unreserved", "b13_alias where the old name may be taken at once", SOURCE
        ),
        rename=renaming.alias_unreserved,
    )
)
