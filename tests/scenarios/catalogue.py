"""What the schedules of the catalogue of designs have in common."""

from tests.scenarios.runs import compared, loaded, runner_of

FOLDER = "strategies/"


def statuses(name: str) -> dict[str, set[str]]:
    """The statuses of what the judges found, by invariant; nothing but what the file expects."""
    scenario = loaded(f"{FOLDER}{name}")
    row = runner_of(scenario).row(1)
    assert row.crash is None
    found = compared(scenario, [row])
    assert found.unexpected == ()
    assert found.never_reached == ()
    statuses: dict[str, set[str]] = {}
    for violation in row.violations:
        statuses.setdefault(violation.invariant, set()).add(violation.status)
    return statuses
