"""The result of `verify` as one JSON document, and as tests for JUnit."""

from collections.abc import Iterator
from typing import Any, Final

from ddlsim.cli.documents import fields
from ddlsim.cli.junit import TestCase
from ddlsim.cli.repeat import also, of_scenario
from ddlsim.history.history import FORMAT
from ddlsim.verify.claims import ClaimRow
from ddlsim.verify.kills import MutantRow, Survivor
from ddlsim.verify.verification import ScenarioRow, Verification

MUTANT: Final = ("mutant", "scenario", "breaks", "judge", "killed", "runs", "complete")
CLAIM: Final = ("assumes", "runs", "breaches", "foretold", "out_of_assumption", "accepted",
                "unjudged", "findings")  # fmt: skip


def document(result: Verification) -> dict[str, Any]:
    """The shape `verify`, described in docs/how-to/regression-suite.md."""
    short = [{"case": row.label, **fields(row, ("runs", "wanted"))} for row in result.short]
    return {
        "format": FORMAT,
        **fields(result, ("as_expected", "unexpected", "open", "decided")),
        "seeds": {"most": result.seeds, "least_run": result.least_run},
        **fields(result, ("cases", "runs")),
        "mutation_score": result.score,
        "mutants": [_mutant(row) for row in result.mutants],
        "survivors": [_survivor(one) for one in result.survivors],
        "undecided_mutants": [_survivor(one) for one in result.undecided_mutants],
        "short": short,
        "scenarios": [_scenario(row) for row in result.scenarios if row.kind != "claims"],
        "claims": [_claim(row) for row in result.claims],
        "vacuous": [row.scenario for row in result.vacuous],
        **fields(result, ("not_run", "never_reached")),
    }


def _mutant(row: MutantRow) -> dict[str, Any]:
    return {
        **fields(row, MUTANT),
        "seeds_to_conviction": {"median": row.median_seeds, "blocks": list(row.blocks)},
        "killed_by": {
            checker: {"runs": runs, "first_seed": row.first_seed[checker]}
            for checker, runs in row.killed_by.items()
        },
    }


def _survivor(one: Survivor) -> dict[str, Any]:
    return {**fields(one, ("mutant", "judge", "runs")), "reason": one.reason or None}


def _scenario(row: ScenarioRow) -> dict[str, Any]:
    return {
        **fields(row, ("scenario", "strategy", "mutant", "runs", "complete")),
        "outcome": row.outcome if row.runs else None,
        "expected": row.expected,
        "as_expected": bool(row.runs) and not row.wrong,
        "unexpected": list(row.wrong),
        "never_reached": list(row.never_reached),
        "argument": row.argument if row.wrong else None,
        "command": command(row),
    }


def _claim(row: ClaimRow) -> dict[str, Any]:
    example = None
    if row.example is not None:
        example = dict(zip(("scenario", "seed", "summary"), row.example, strict=True))
    return {
        **fields(row, ("strategy", "invariant")),
        "claim": row.word,
        **fields(row, CLAIM),
        "example": example,
        "excuse": row.excuse or None,
    }


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
