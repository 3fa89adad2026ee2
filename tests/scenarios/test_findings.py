"""Each recorded finding shows itself, and its closing rule makes it disappear."""

import pytest

from ddlsim.cluster.designs import with_fields, with_rules_of
from ddlsim.mutants.base import MUTANTS
from ddlsim.scenario import findings
from ddlsim.scenario.load import load
from ddlsim.scenario.rules import rules_of as rules_of_field
from ddlsim.scenario.scenario import Scenario
from ddlsim.strategies.base import STRATEGIES
from ddlsim.strategies.iep_closed import CLOSING
from ddlsim.verify.row import RunRow
from tests.scenarios.runs import compared, runner_of

TABLES = {table.id: table for table in findings.described()}
DESIGNS = {name: with_rules_of(design) for name, design in STRATEGIES.items()}
OF_THE_DOCUMENTS = list(
    dict.fromkeys(table.id for table in findings.known() if table.concerns(DESIGNS["iep"]))
)


def found(scenario: Scenario) -> tuple[RunRow, set[str]]:
    """The run, and the statuses of what was found: too many aborts are a closing rule's price."""
    row = runner_of(scenario).row(0)
    judged = [violation for violation in row.violations if violation.severity != "quality"]
    return row, {violation.status for violation in judged}


@pytest.mark.parametrize("number", TABLES)
def test_the_scenario_of_a_finding_shows_that_finding_only(number: str) -> None:
    scenario = load(f"findings/{number}")
    row, statuses = found(scenario)
    assert compared(scenario, [row]).as_expected
    assert f"finding:{number}" in statuses
    assert "violation" not in statuses


@pytest.mark.parametrize("number", TABLES)
def test_the_closing_rule_of_a_finding_removes_it(number: str) -> None:
    closing = {f"strategy.{field}": rule for field, rule in TABLES[number].closing.items()}
    row, statuses = found(load(f"findings/{number}", closing))
    assert not {one for one in statuses if one.startswith("finding")} | {"violation"} & statuses
    assert not row.stuck


@pytest.mark.parametrize("number", OF_THE_DOCUMENTS)
def test_iep_closed_shows_no_finding(number: str) -> None:
    overrides = {"strategy.name": "iep_closed", "strict": True}
    _, statuses = found(load(f"findings/{number}", overrides))
    assert statuses <= {"accepted"}


def test_the_closed_design_has_the_closing_rule_of_every_finding_of_the_documents() -> None:
    assert sorted(CLOSING) == sorted(OF_THE_DOCUMENTS)
    iep = STRATEGIES.get("iep")
    for number, fields in CLOSING.items():
        named = with_fields(iep, TABLES[number].closing)
        assert fields == {name: getattr(named, name) for name in TABLES[number].closing}


def test_a_hole_of_one_design_explains_nothing_in_another() -> None:
    """Findings of the shipped code are none of the documents'."""
    known = {finding.id: finding for finding in findings.known()}
    assert known["F-3"].concerns(DESIGNS["ignite3"])
    assert not known["F-3"].concerns(DESIGNS["iep"])
    assert known["F-1"].concerns(DESIGNS["iep"])
    assert not known["F-1"].concerns(DESIGNS["b15_exact"])


def test_every_finding_says_which_designs_have_the_hole() -> None:
    """By rules that exist, in fields that exist; and the closing rule is none of them."""
    iep = STRATEGIES.get("iep")
    for table in TABLES.values():
        assert table.hole, table.id
        for condition in table.hole:
            for name, rules in condition.items():
                for rule in rules:
                    with_fields(iep, {name: rule})
            both = table.closing.keys() & condition
            assert any(table.closing[name] not in condition[name] for name in both), table.id


@pytest.mark.parametrize("number", TABLES)
def test_a_finding_excuses_no_design_that_has_its_closing_rule(number: str) -> None:
    known = {finding.id: finding for finding in findings.known()}[number]
    name = load(f"findings/{number}").table.strategy["name"]
    assert known.concerns(DESIGNS[name])
    closed = with_fields(STRATEGIES.get(name), TABLES[number].closing)
    assert not known.concerns(with_rules_of(closed))
    assert not known.concerns(DESIGNS["iep_closed"])


def test_every_closing_rule_has_the_mutant_of_a_closed_design_that_lacks_it() -> None:
    """Which `test_mutants` sees convicted: the finding does not excuse it."""
    known = {finding.id: finding for finding in findings.known()}
    without = {
        (number, name)
        for _, mutant in MUTANTS.items()
        for number in mutant.reopens
        for name in mutant.fields
    }
    assert without == {(table.id, name) for table in TABLES.values() for name in table.closing}
    for name, mutant in MUTANTS.items():
        for number in mutant.reopens:
            design = DESIGNS[load(f"negative/{name}").table.strategy["name"]]
            assert not known[number].concerns(design)


@pytest.mark.parametrize("look", [False, True])
def test_no_finding_excuses_an_operation_after_the_change_without_a_check(look: bool) -> None:
    """Not even of a transaction that was shown the columns, which F-1 would be about."""
    overrides = {"step[0].do": "SELECT * FROM t WHERE id = 1"} if look else {}
    _, statuses = found(load("negative/checks_on_arrival_only", overrides))
    assert "violation" in statuses
    assert not {one for one in statuses if one.startswith("finding")}


@pytest.mark.parametrize(("found_row", "status"), [(False, "finding:F-3"), (True, "violation")])
def test_a_late_delete_is_excused_only_where_there_was_nothing(
    found_row: bool, status: str
) -> None:
    """By F-3; `go_on` compares no operation, so that the delete of a newer row goes on as well."""
    overrides: dict[str, object] = {"strategy.check_operation": "go_on"}
    if found_row:
        overrides["step[2].do"] = ["put", "a", 19, {"v": 1}]
    _, statuses = found(load("ignite3/late_delete_of_nothing", overrides))
    assert {one for one in statuses if one != "accepted"} == {status}


COMMITS = [name for name in rules_of_field("commit_schema") if name != "judged_at_finish"]


@pytest.mark.parametrize("rule", COMMITS)
@pytest.mark.parametrize("number", ["F-1", "F-2", "F-8", "F-9", "F-10"])
def test_every_rule_at_commit_either_closes_a_finding_or_leaves_it_open(
    number: str, rule: str
) -> None:
    """What is open is that finding and no other fault; a hole names all rules that leave it."""
    _, statuses = found(load(f"findings/{number}", {"strategy.commit_schema": rule}))
    assert "violation" not in statuses
