"""The other preference: a DDL waits for the transactions on its table, as a metadata lock does.

IEP-110 wants neither side to block [110.req.0]; here one idle transaction holds a DDL up for ever.
New transactions are not kept out: what first uses the table between the wait and the activation may
abort, as under `iep`.
"""

from dataclasses import replace

from ddlsim.protocol.design import border_rules
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.iep import IEP

B16_MDL = strategy(
    replace(
        IEP,
        header=header(
            "b16_mdl",
            "a DDL waits until no open transaction has used its table",
            "IEP-110, abort or block",
        ),
        install=border_rules.install_once_unused,
    )
)
