"""The result of `verify` as one JSON document, and as tests for JUnit."""

from collections.abc import Iterator

from ddlsim.cli.documents import shapes
from ddlsim.cli.documents.documents import part
from ddlsim.cli.documents.junit import TestCase
from ddlsim.cli.repeat import also, of_scenario
from ddlsim.history.history import FORMAT
from ddlsim.mutation.power import Power
from ddlsim.verify.claims import ClaimRow
from ddlsim.verify.kills import MutantRow, Survivor
from ddlsim.verify.verification import ScenarioRow, Verification


def document(result: Verification, measured: Power | None) -> shapes.Verify:
    """The document of `--output json`."""
    return part(
        result,
        shapes.Verify,
        format=FORMAT,
        seeds={"most": result.seeds, "least_run": result.least_run},
        mutation_score=result.score,
        mutants=[_mutant(row) for row in result.mutants],
        survivors=[_survivor(one) for one in result.survivors],
        undecided_mutants=[_survivor(one) for one in result.undecided_mutants],
        short=[part(row, shapes.ShortCase, case=row.label) for row in result.short],
        scenarios=[_scenario(row) for row in result.scenarios if row.kind != "claims"],
        claims=[_claim(row) for row in result.claims],
        vacuous=[row.scenario for row in result.vacuous],
        power=None if measured is None else power_of_search(measured),
    )


def power_of_search(measured: Power) -> shapes.PowerOfSearch:
    """The key `power` of the document."""
    areas: dict[str, shapes.PowerOfArea] = {
        area: {"mutants": mutants, "killed": killed}
        for area, (mutants, killed) in measured.areas.items()
    }
    return part(measured, shapes.PowerOfSearch, areas=areas, survivors=list(measured.survivors))


def _mutant(row: MutantRow) -> shapes.MutantOfSuite:
    killed = {
        checker: {"runs": runs, "first_seed": row.first_seed[checker]}
        for checker, runs in row.killed_by.items()
    }
    taken = {"median": row.median_seeds, "blocks": row.blocks}
    return part(row, shapes.MutantOfSuite, seeds_to_conviction=taken, killed_by=killed)


def _survivor(one: Survivor) -> shapes.SurvivorOfSuite:
    return part(one, shapes.SurvivorOfSuite, reason=one.reason or None)


def _scenario(row: ScenarioRow) -> shapes.ScenarioOfSuite:
    return part(
        row,
        shapes.ScenarioOfSuite,
        outcome=row.outcome if row.runs else None,
        as_expected=bool(row.runs) and not row.wrong,
        unexpected=row.wrong,
        argument=row.argument if row.wrong else None,
        command=command(row),
    )


def _claim(row: ClaimRow) -> shapes.ClaimOfSuite:
    example = row.example and dict(zip(shapes.Example.__annotations__, row.example, strict=True))
    return part(
        row, shapes.ClaimOfSuite, claim=row.word, example=example, excuse=row.excuse or None
    )


def command(row: ScenarioRow) -> str:
    """What repeats the first run of a scenario that failed, or its first run."""
    strategy, _, mutant = row.under.partition(" + ")
    return of_scenario(
        row.scenario,
        row.seed,
        strategy=strategy or None,
        mutant=mutant or None,
        also=also(row.loads, outside=row.outside),
    )


def tests(result: Verification) -> Iterator[TestCase]:
    """A test for each scenario, mutant and claim; skipped where the time did not suffice."""
    for row in result.scenarios:
        if row.kind == "claims":
            continue
        name = f"scenario {row.label}"
        if row.undecided and (row.missing or not row.runs or row.short):
            why = row.missing[0] if row.missing else f"{row.runs} of {row.wanted or 'all'} seeds"
            yield _skipped(name, why)
        else:
            text = "\n".join((*row.wrong, row.argument, f"repeat: {command(row)}"))
            yield _test(name, row.wrong, text)
    for mutant in sorted({row.mutant for row in result.mutants if row.killed}):
        yield TestCase(f"mutant {mutant}")
    for one in result.survivors:
        why = f"survived {one.runs} runs; {one.judge} does not convict it"
        yield _test(f"mutant {one.mutant}", () if one.reason else (why,), "")
    for one in result.undecided_mutants:
        yield _skipped(f"mutant {one.mutant}", f"not convicted in {one.runs} runs")
    for claim in result.claims:
        if claim.word == "not decided":
            yield _skipped(f"claim {claim.strategy} {claim.invariant}", "too few runs")
        elif claim.claimed:
            lines = () if claim.example is None or claim.excuse else (claim.example[2],)
            where = "" if claim.example is None else f"{claim.example[0]}, seed {claim.example[1]}"
            yield _test(f"claim {claim.strategy} {claim.invariant}", lines, where)
    whole = "every case was decided"
    yield TestCase(whole) if result.decided else _skipped(whole, "; ".join(result.open))


def _skipped(name: str, why: str) -> TestCase:
    return TestCase(name, "skipped", "not decided", f"the time was up: {why}")


def _test(name: str, wrong: tuple[str, ...], text: str) -> TestCase:
    if not wrong:
        return TestCase(name)
    return TestCase(name, "failure", "unexpected", wrong[0], text)
