"""The model of what a design refuses to install: changes of the shipped code (Apache Ignite 3)."""

from ddlsim.cluster.models.design.rule_forms import Rule, widens_as_shipped
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.words import words
from ddlsim.model.ddl import ColumnAltered, SimpleChange


def refused(rule: Rule, divergence: Divergence) -> Rule:
    """F-15: no column becomes NOT NULL, and any other change is allowed but for what narrows.

    Which changes of a type narrow it is said by the shipped code alone (Apache Ignite 3).
    """

    def compared(change: SimpleChange) -> str | None:
        result: str | None = rule(change)
        bad = False
        if isinstance(change, ColumnAltered):
            before, after = change.before, change.after
            bad = (before.nullable, after.nullable) == (True, False)
            if rule.__name__ == "allow_what_widens":  # Apache Ignite 3
                bad = bad or not widens_as_shipped(before.type, after.type)
        if bad != (result is not None):
            divergence.found(f"{rule.__name__} gave {words(result)} for {words(change)}")
        return result

    compared.__name__ = rule.__name__
    return compared
