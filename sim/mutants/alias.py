"""A rename in two stages with one of its rules missing each [110.later.3].

They are put into `b13_alias`. That nobody reserves the old name is a design: `b13_unreserved`.
"""

from ddlsim.model.ddl import ObjectChange
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Alias
from ddlsim.mutants.base import Mutant, mutant
from ddlsim.protocol.design.schema_rules import each_step_forward_compatible
from ddlsim.protocol.metastorage.alias_ends import AliasEnds
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.strategy import Steps
from ddlsim.units import Timestamp


def end_of_alias_is_compatible(steps: Steps) -> Reason | None:
    """What happens to an alias is nothing to anybody."""
    return each_step_forward_compatible(tuple(step for step in steps if step.kind != "alias"))


class HastyAliasEnds(AliasEnds):
    """The end of an old name is due as soon as the new one is in force."""

    def due_ts(self, alias: Alias, activation_ts: Timestamp) -> Timestamp:
        del alias
        return activation_ts


class ForgetfulCatalog(Catalog):
    """Only who has enlisted the alias itself is told of its end."""

    def _ends_of_names(
        self, steps: tuple[ObjectChange, ...], ts: Timestamp
    ) -> tuple[ObjectChange, ...]:
        del steps, ts
        return ()


mutant(
    Mutant(
        name="allows_ended_alias",
        summary="a transaction commits by an old name that has ended",
        breaks="110.later.3",
        caught_by="forward_compatible",
        fields={"check_commit": end_of_alias_is_compatible},
    )
)
mutant(
    Mutant(
        name="forgets_old_names",
        summary="who has used a table before it was renamed may commit after its old name's end",
        breaks="110.later.3",
        caught_by="forward_compatible",
        parts={"catalog": ForgetfulCatalog},
    )
)
mutant(
    Mutant(
        name="ends_alias_early",
        summary="an old name ends as soon as the new one is in force",
        breaks="110.later.3",
        caught_by="machinery",
        parts={"alias_ends": HastyAliasEnds},
    )
)
