"""`ddlsim ablate`: rules left out or changed, and the invariants that show it."""

from ddlsim.cli.options import Options
from ddlsim.cli.verbs import ablate_scenario, ablate_scope, scoped
from ddlsim.registry import load_file


def execute(options: Options) -> int:
    """Ablate a scope or a scenario; the exit code."""
    for file in options.load:
        load_file(file)
    if scoped.is_scope(options.scenario):
        return ablate_scope.execute(options)
    return ablate_scenario.execute(options)
