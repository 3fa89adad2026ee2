"""Every mutant is convicted by its judge, the design without it is not; each judge is needed."""

from collections.abc import Iterator
from functools import cache

import pytest
from msgspec import structs

from ddlsim.checkers.base import CHECKERS
from ddlsim.model.clauses import CLAUSES
from ddlsim.mutants.base import FDB, IGNITE, MUTANTS
from ddlsim.scenario.shipped import shipped
from ddlsim.verify.row import RunRow
from tests.scenarios.runs import NEGATIVE, compared, convicted_by, loaded, runner_of, under_mutant
from tests.scenarios.test_scenarios import BY_MUTANT

NAMES = [name for name, _ in MUTANTS.items()]
MOST_SEEDS = 50


@cache
def first_conviction(name: str) -> RunRow:
    """The run of the first seed in which a mutant's own judge convicts it: its scenario names one,
    which is tried before all others."""
    runner, judge_of_it = runner_of(loaded(f"{NEGATIVE}{name}")), MUTANTS.get(name).caught_by
    seeds = range(1, MOST_SEEDS + 1)
    named = runner.scenario.table.seed if runner.scenario else None
    for seed in (*(one for one in (named,) if one in seeds), *seeds):
        row = runner.row(seed)
        assert row.crash is None
        if judge_of_it in convicted_by(row):
            return row
    return pytest.fail(f"{judge_of_it} does not convict {name} in {MOST_SEEDS} seeds")


def test_every_mutant_has_its_scenario() -> None:
    """And every negative scenario its mutant, of the same name."""
    found = [name.removeprefix(NEGATIVE) for name in shipped() if name.startswith(NEGATIVE)]
    assert sorted(found) == sorted(NAMES)
    assert [loaded(f"{NEGATIVE}{name}").mutant for name in NAMES] == NAMES


def test_every_rule_has_its_mutant() -> None:
    """A clause that says must is broken by some mutant."""
    rules = {clause.id for clause in CLAUSES if clause.must}
    assert rules <= {mutant.breaks for _, mutant in MUTANTS.items()}


def test_what_a_mutant_breaks_are_clauses() -> None:
    """The rule and whatever does not hold either without it; on the other plane a sentence."""
    known = {clause.id for clause in CLAUSES}
    for name, mutant in MUTANTS.items():
        named = {mutant.breaks, *mutant.also}
        assert (named <= known) is (mutant.plane == IGNITE), name
        assert mutant.plane == IGNITE or not named & known, name


@pytest.mark.parametrize("name", [name for name in NAMES if MUTANTS.get(name).plane == FDB])
def test_the_scenario_of_a_mutant_of_a_layer_names_its_design_and_its_source(name: str) -> None:
    scenario, mutant = loaded(f"{NEGATIVE}{name}"), MUTANTS.get(name)
    assert scenario.table.cluster.plane == FDB
    assert scenario.table.source == mutant.breaks
    assert mutant.under in ("", scenario.strategy)


@pytest.mark.parametrize("name", NAMES)
def test_the_judge_of_a_mutant_convicts_it(name: str) -> None:
    """Within 50 seeds, and that run is all that its scenario says: the judge, steps, probes."""
    scenario, mutant = loaded(f"{NEGATIVE}{name}"), MUTANTS.get(name)
    assert scenario.title
    assert mutant.plane == FDB or mutant.breaks in scenario.clauses
    stuck = scenario.expect == "stuck" and mutant.caught_by == "liveness"
    assert stuck or mutant.caught_by in scenario.expect["violated"]
    found = compared(scenario, [first_conviction(name)])
    assert found.unexpected == ()
    assert found.never_reached == ()


@pytest.mark.parametrize("name", NAMES)
def test_the_design_is_not_convicted_without_the_mutant(name: str) -> None:
    """The same run of the design as it is: nothing violated or stuck, and the probes are met."""
    runner = runner_of(loaded(f"{NEGATIVE}{name}"))
    runner.scenario = structs.replace(runner.scenario, mutant=None)
    row = runner.row(first_conviction(name).seed)
    found = compared(runner.scenario, [row])
    # its steps tell how it ends with the mutant, so without it some are unmet
    assert found.outcome.word in {"ok", "vacuous", "unmet"}
    assert not convicted_by(row)
    # only the broken commit check lets a transaction pass this border
    assert set(found.never_reached) <= {"transborder-commit"}


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_that_draws_names_a_seed_that_convicts_its_mutant(name: str) -> None:
    """So that `ddlsim run negative/NAME` shows what the scenario is about."""
    scenario = loaded(f"{NEGATIVE}{name}")
    if scenario.scripted:
        assert scenario.table.seed is None
        return
    seed = first_conviction(name).seed
    assert scenario.table.seed == seed, f"write seed = {seed} into the scenario"


def convictions() -> Iterator[frozenset[str]]:
    """The checkers that convict each mutant, in its own scenario and in one of the documents'."""
    for name in NAMES:
        yield convicted_by(first_conviction(name))
    for name, mutant in BY_MUTANT.items():
        yield from map(convicted_by, under_mutant(name, mutant).runs)


@pytest.mark.parametrize("checker", [name for name, _ in CHECKERS.items()])
def test_each_checker_alone_convicts_some_mutant(checker: str) -> None:
    """Some run of some mutant is convicted by it alone, or its docstring says that it never is."""
    alone = any(found == {checker} for found in convictions())
    confessed = "never alone" in (type(CHECKERS.get(checker)).__doc__ or "")
    assert alone != confessed
