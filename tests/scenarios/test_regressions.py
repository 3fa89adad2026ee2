"""What the search has found stays found, by its signature; what was mended shows it no more."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.checkers.signature import signature_of
from ddlsim.verify.suite import designs_named, under
from tests.scenarios.runs import compared, loaded, names, result, runner_of, summed

NAMES = names("regressions")
BREACHES = ("violation", "stuck", "finding")


def signatures(expect: Any) -> list[str]:
    return [expect["signature"]] if isinstance(expect, dict) and "signature" in expect else []


@pytest.mark.parametrize("name", NAMES)
def test_a_regression_names_the_signature_that_was_found(name: str) -> None:
    """Its own, or, where the fault was mended, that of the mutant which brings it back."""
    scenario = loaded(name)
    table = scenario.table
    found = [
        one for each in (table.expect, *table.expect_under.values()) for one in signatures(each)
    ]
    assert found
    if not signatures(scenario.expect):
        assert scenario.expect == "ok"
        shown = {signature_of(one).text for one in result(name).runs[0].violations}
        assert shown.isdisjoint(found)


OTHERS = [(name, *label) for name in NAMES for label in designs_named(loaded(name))]


@pytest.mark.parametrize(("name", "strategy", "mutant"), OTHERS)
def test_a_regression_shows_its_signature_under_the_designs_that_it_names(
    name: str, strategy: str, mutant: str | None
) -> None:
    assert summed(under(loaded(name), strategy, mutant)).as_expected


@pytest.mark.parametrize("name", [name for name in NAMES if signatures(loaded(name).expect)])
def test_a_regression_without_its_violation_is_not_as_expected(name: str) -> None:
    """The planted fault: a run in which nothing is found."""
    scenario = loaded(name)
    row = runner_of(scenario).row(0)
    quiet = [one for one in row.violations if one.status.partition(":")[0] not in BREACHES]
    assert not compared(scenario, [replace(row, violations=tuple(quiet))]).as_expected
