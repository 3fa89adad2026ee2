"""Each recorded finding shows itself, and its closing rule makes it disappear."""

import pytest

from sim.strategies.base import STRATEGIES
from sim.strategies.iep_closed import CLOSING
from sim.world import findings
from sim.world.campaign import RunRow
from sim.world.designs import with_fields
from sim.world.scenario import Scenario
from sim.world.shipped import load
from tests.scenarios.runs import compared, runner_of

TABLES = {table.id: table for table in findings.described()}
OF_THE_DOCUMENTS = [number for number, table in TABLES.items() if not table.designs]


def found(scenario: Scenario) -> tuple[RunRow, set[str]]:
    """The run, and the statuses of what was found: too many aborts are a closing rule's price."""
    row = runner_of(scenario).row(0)
    judged = [violation for violation in row.violations if violation.severity != "quality"]
    return row, {violation.status for violation in judged}


@pytest.mark.parametrize("number", TABLES)
def test_a_finding_shows_itself_and_nothing_else(number: str) -> None:
    scenario = load(f"findings/{number}")
    row, statuses = found(scenario)
    assert compared(scenario, [row]).as_expected
    assert f"finding:{number}" in statuses
    assert "violation" not in statuses


@pytest.mark.parametrize("number", TABLES)
def test_its_closing_rule_closes_it(number: str) -> None:
    closing = {f"strategy.{field}": rule for field, rule in TABLES[number].closing.items()}
    row, statuses = found(load(f"findings/{number}", closing))
    assert not {one for one in statuses if one.startswith("finding")} | {"violation"} & statuses
    assert not row.stuck


@pytest.mark.parametrize("number", OF_THE_DOCUMENTS)
def test_the_closed_design_shows_none(number: str) -> None:
    overrides = {"strategy.name": "iep_closed", "strict": True}
    _, statuses = found(load(f"findings/{number}", overrides))
    assert statuses <= {"accepted"}


def test_the_closed_design_has_the_closing_rule_of_every_finding_of_the_documents() -> None:
    assert list(CLOSING) == OF_THE_DOCUMENTS
    iep = STRATEGIES.get("iep")
    for number, fields in CLOSING.items():
        named = with_fields(iep, TABLES[number].closing)
        assert fields == {name: getattr(named, name) for name in TABLES[number].closing}


def test_a_hole_of_one_design_explains_nothing_in_another() -> None:
    """Findings of the shipped code are none of the documents'."""
    known = {finding.id: finding for finding in findings.known()}
    assert known["F-3"].concerns("ignite3")
    assert not known["F-3"].concerns("iep")
    assert known["F-1"].concerns("iep")
