"""IEP-110's simplification: the base timestamp is the transaction's begin [110.simple].

A table that was altered after the begin and before its first use then costs an abort that the
enlistment's timestamp spares [110.req.3]; and with the begin alone a table that was created since
cannot be used at all [110.req.2].
"""

from dataclasses import replace

from sim.model.design import DesignHeader
from sim.protocol import border_rules
from sim.strategies.base import FULL_CLAIMS, strategy
from sim.strategies.iep import IEP


def _header(name: str, summary: str) -> DesignHeader:
    return DesignHeader(name, summary, "IEP-110, Possible simplifications", "ignite", FULL_CLAIMS)


B5_BEGIN = strategy(
    replace(
        IEP,
        header=_header("b5_begin", "baseTs = beginTs"),
        base_ts=border_rules.at_begin,
    )
)

B5_BEGIN_OR_CREATE = strategy(
    replace(
        IEP,
        header=_header("b5_begin_or_create", "baseTs = max(beginTs, creation of the table)"),
        enlist=border_rules.enlist_as_of_begin_or_creation,
    )
)
