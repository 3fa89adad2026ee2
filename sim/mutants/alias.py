"""A rename in two stages with one of its rules missing each [110.later.3].

They are put into `b13_alias`. An old name that is not reserved is a design: `b13_unreserved`.
"""

from ddlsim.model.ddl import ObjectChange
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Alias
from ddlsim.mutants.base import mutates
from ddlsim.protocol.design.schema_rules import each_step_forward_compatible
from ddlsim.protocol.metastorage.alias_ends import AliasEnds
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.strategy import Steps
from ddlsim.units import Timestamp


@mutates("check_commit", "allows_ended_alias", "110.later.3", "forward_compatible")
def end_of_alias_is_compatible(steps: Steps) -> Reason | None:
    """A transaction commits by an old name that has ended."""
    return each_step_forward_compatible(tuple(step for step in steps if step.kind != "alias"))


@mutates("alias_ends", "ends_alias_early", "110.later.3", "machinery")
class HastyAliasEnds(AliasEnds):
    """An old name ends as soon as the new one is in force."""

    def due_ts(self, _alias: Alias, activation_ts: Timestamp) -> Timestamp:
        return activation_ts


@mutates("catalog", "forgets_old_names", "110.later.3", "forward_compatible")
class ForgetfulCatalog(Catalog):
    """A transaction on a table from before its rename may commit after its old name's end."""

    def _ends_of_names(
        self, _steps: tuple[ObjectChange, ...], _ts: Timestamp
    ) -> tuple[ObjectChange, ...]:
        return ()
