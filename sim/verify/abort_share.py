"""Closed forms: the share of transactions that a stream of DDL aborts.

Statements come to a table as a Poisson stream of rate λ; a transaction uses the table for a time L,
from its first use to its commit. A share q of the statements is not forward-compatible. Up to its
last operation, during a share w of L, the transaction dies of any statement [110.valid.2]; in the
rest it only waits for its commit, and dies of incompatible ones [110.valid.1]:

    1 - exp(-λ L (v w + q (1 - w)))           L is always the same
    λ L (v w + q (1 - w)) / (1 + the same)    L is exponentially distributed, with this mean

w = 1 is the worst case of the design (operations up to the commit) and w = 0 its best (one
operation). Designs that let transactions operate on, options 1 and 2 [110.border], have w = 0 too;
a commit check that wants the very same version has v in the place of q. By the texts v = 1: every
statement makes a new version. In Ignite 3 indexes make none, so v is the share of the others; and
L begins with the transaction, not with the first use.
"""

from math import expm1, inf
from typing import Any, Final, NamedTuple

Report = dict[str, Any]

DESIGNS: Final = ("option_3", "option_3_one_operation", "options_1_and_2", "exact_match")
"""The designs that are compared, as a report names them."""


class Rates(NamedTuple):
    """Statements on a table and the length of a transaction in one unit of time; w of above."""

    ddl_rate: float
    tx_length: float
    working_share: float


def expected_abort_share(
    *,
    ddl_rate: float,
    tx_length: float,
    incompatible_share: float,
    working_share: float,
    changing_share: float = 1.0,
    exponential: bool = False,
) -> float:
    """The share of aborted transactions, between 0 and 1; rate and length in one unit of time."""
    deadly = changing_share * working_share + incompatible_share * (1 - working_share)
    deaths = ddl_rate * deadly * tx_length
    if exponential:
        return deaths / (1 + deaths) if deaths < inf else 1.0
    return -expm1(-deaths)


def with_rates(
    report: Report, *, ddl_rate: float, tx_length: float, working_share: float = 1.0
) -> Report:
    """A report with the expected share of aborted transactions if such statements keep coming.

    A statement counts that changes a table or view which transactions may be using; all are equally
    likely. Where there is none, nothing aborts. The same is given for each table, of the statements
    that concern it.
    """
    given = Rates(ddl_rate, tx_length, working_share)
    changes = [one for one in report["statements"] if one["tables"]]
    lasting = _shares(changes, given, exponential=True)
    tables = {
        name: _shares([one for one in changes if name in one["tables"]], given)
        for name in report["tables"]
    }
    rates: Report = given._asdict() | _shares(changes, given)
    rates |= {"exponential_length": {design: lasting[design] for design in DESIGNS}}
    return report | {"expected_abort_share": rates | {"tables": tables}}


def _shares(changes: list[Report], rates: Rates, *, exponential: bool = False) -> dict[str, float]:
    """The share of aborted transactions per design under a stream of these statements."""
    if not changes:
        return {"statements": 0, "incompatible_share": 0.0} | dict.fromkeys(DESIGNS, 0.0)
    share = sum(not one["forward_compatible"] for one in changes) / len(changes)
    both = ("forward_compatible", "backward_compatible")
    changing = sum(not all(one[each] for each in both) for one in changes) / len(changes)
    asked = ((share, rates.working_share), (share, 0.0), (share, 0.0), (changing, 0.0))
    found = {
        design: expected_abort_share(
            ddl_rate=rates.ddl_rate,
            tx_length=rates.tx_length,
            incompatible_share=incompatible,
            working_share=working,
            changing_share=changing,
            exponential=exponential,
        )
        for design, (incompatible, working) in zip(DESIGNS, asked, strict=True)
    }
    return {"statements": len(changes), "incompatible_share": share} | found
