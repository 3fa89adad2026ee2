"""The other preference: a DDL waits for those who use its table, as a metadata lock does.

IEP-110 wants neither side to block [110.req.0]; here one idle transaction holds a DDL up for ever.
"""

from dataclasses import replace

from ddlsim.model.design import DesignHeader
from ddlsim.protocol.design import border_rules
from ddlsim.strategies.base import FULL_CLAIMS, strategy
from ddlsim.strategies.iep import IEP


def _header(name: str, summary: str) -> DesignHeader:
    return DesignHeader(name, summary, "IEP-110, abort or block", "ignite", FULL_CLAIMS)


B16_MDL = strategy(
    replace(
        IEP,
        header=_header("b16_mdl", "a DDL waits until no open transaction has used its table"),
        install=border_rules.install_once_unused,
    )
)
