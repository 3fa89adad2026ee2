"""IEP-110's simplification: the base timestamp is the transaction's begin [110.simple].

A table that was altered after the begin and before its first use then costs an abort that the
enlistment's timestamp spares [110.req.3]; and with the begin alone a table that was created since
cannot be used at all [110.req.2]. With the creation of the table, too, one that was created and
then altered since the begin costs the abort.
"""

from dataclasses import replace
from typing import Final

from ddlsim.protocol.design import as_shipped, border_rules
from ddlsim.strategies.base import all_less, header, strategy
from ddlsim.strategies.iep import IEP

CLAIMS = all_less("I4", "resolved-too-early")
"""To look up at the begin, whatever was acknowledged since, is what it is for; an operation on a
table that a DDL has changed meanwhile aborts."""


SOURCE: Final = "IEP-110, Possible simplifications"

B5_BEGIN = strategy(
    replace(
        IEP,
        header=header("b5_begin", "baseTs = beginTs", SOURCE),
        base_ts=as_shipped.at_begin,
    )
)

B5_BEGIN_OR_CREATE = strategy(
    replace(
        IEP,
        header=header(
            "b5_begin_or_create", "baseTs = max(beginTs, creation of the table)", SOURCE, CLAIMS
        ),
        base_ts=border_rules.at_begin_or_creation,
        enlist=border_rules.enlist_as_of_begin_or_creation,
    )
)
