"""Backward compatibility, which IEP-110 forbids altogether [110.back] and postpones refining
[110.later.4].

A row of a newer schema may be read after changes that no reader can notice (`b7_type`), if its own
values fit (`b7_tuple`), or always (`b7_off`, which is wrong). The operation check on arrival alone
lets such rows be met at all.
"""

from dataclasses import replace
from typing import Final

from ddlsim.protocol.design import border_rules
from ddlsim.protocol.design.schema_rules import ARRIVAL_ONLY
from ddlsim.strategies.base import header, strategy
from ddlsim.strategies.iep import IEP

SOURCE: Final = "IEP-110, Backward compatibility"

B7_TYPE = strategy(
    replace(
        IEP,
        header=header(
            "b7_type",
            "rows of newer schemas after changes that no reader notices",
            SOURCE,
            backward="by_change_type",
        ),
        excuses_tuple=border_rules.by_change_type,
        check_operation_when=ARRIVAL_ONLY,
    )
)

B7_TUPLE = strategy(
    replace(
        IEP,
        header=header(
            "b7_tuple",
            "rows of newer schemas whose values fit the older one",
            SOURCE,
            backward="by_tuple",
        ),
        excuses_tuple=border_rules.by_tuple,
        check_operation_when=ARRIVAL_ONLY,
    )
)

B7_OFF = strategy(
    replace(
        IEP,
        header=header(
            "b7_off", "every row of a newer schema, silently downgraded", SOURCE, backward="off"
        ),
        excuses_tuple=border_rules.any_newer_row,
        check_operation_when=ARRIVAL_ONLY,
    )
)
