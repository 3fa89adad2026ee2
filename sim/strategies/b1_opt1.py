"""IEP-110's option 1: a transaction that crosses a compatible DDL goes on under the new schema.

Its rows then obey two schemas at one commit timestamp, which is why the document does not choose it
(Weirdness and DDL linearization wrt DML).
"""

from dataclasses import replace

from ddlsim.protocol.design import border_rules
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.iep import IEP

B1_OPT1 = strategy(
    replace(
        IEP,
        header=header(
            "b1_opt1",
            "operations run under the schema of their time, if that is compatible",
            "IEP-110, option 1",
        ),
        enlist=border_rules.enlist_what_is_current,
    )
)
