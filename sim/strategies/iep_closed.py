"""IEP-98 and IEP-110 with the rule that closes each recorded finding: a line for each.

Where two findings are closed by the same field, the later line must close the earlier one as well.
It claims I11 but for `compatible-change`: to abort what the documents' own rules would let pass is
its price.
"""

from dataclasses import replace
from typing import Final

from ddlsim.protocol.design import closing, schema_rules
from ddlsim.strategies.base import all_less, header, strategy
from ddlsim.strategies.iep import IEP

CLOSING: Final[dict[str, dict[str, object]]] = {
    "F-1": {"commit_schema": closing.schema_at_commit_ts_exact_if_shown},
    "F-8": {"commit_schema": closing.schema_at_commit_ts_at_one_instant},
    "F-9": {"commit_schema": closing.schema_at_commit_ts_at_one_instant},
    "F-10": {"commit_schema": closing.schema_at_commit_ts_at_one_instant},
    "F-2": {
        "commit_schema": closing.schema_at_commit_ts_exact_if_written,
        "validate_one_phase": closing.exact_at_the_stamp,
    },
    "F-5": {"before_answer": closing.answer_once_active_everywhere},
    "F-6": {"before_answer": closing.answer_once_past_everywhere},
    "F-15": {"refuses_change": schema_rules.add_no_not_null},
}
"""By the number of the finding: the fields of its file in `scenarios/findings/`.

F-3 and F-4 are holes of `ignite3` alone.
"""

IEP_CLOSED = strategy(
    replace(
        IEP,
        header=header(
            "iep_closed",
            "iep, and the closing rule of every recorded finding",
            "IEP-98, IEP-110; scenarios/findings",
            all_less("I11", "compatible-change"),
        ),
    ).with_rules({name: rule for fields in CLOSING.values() for name, rule in fields.items()})
)
