"""`ddlsim ablate SCENARIO`: each mutant of its design in the same seeds, and what shows it."""

import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import structs

from ddlsim.checkers.base import in_order
from ddlsim.checkers.outcome import Outcome
from ddlsim.cli import repeat, streams
from ddlsim.cli.documents import documents
from ddlsim.cli.documents.shapes_ablate import (
    AblateScenario,
    ScenarioEffect,
    ScenarioRow,
    SeedCell,
)
from ddlsim.cli.exit_codes import NOT_DECIDED
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.cli.signals import code_of
from ddlsim.cli.verbs import scoped
from ddlsim.cli.verbs.run import Requested, requested_of
from ddlsim.cli.views.progress import Progress
from ddlsim.cluster.designs import check_design, fitting
from ddlsim.history.history import FORMAT
from ddlsim.mutants.base import MUTANTS
from ddlsim.plan.plan import plan
from ddlsim.scenario import bounds
from ddlsim.scenario.scenario import NO_MUTANT, Scenario
from ddlsim.search.crash import ran
from ddlsim.strategies.base import DESIGNS
from ddlsim.verify import ablation
from ddlsim.verify.ablation import Runs
from ddlsim.verify.campaign import Job
from ddlsim.verify.row import RunRow
from ddlsim.verify.suite import wanted

VERB: Final = "ablate"
SEEDS: Final = range(10)
"""The seeds of each row, without --seeds."""
OF_SCOPES: Final = ("depth",)
"""Flags that mean nothing for a scenario."""
OPEN: Final = (Outcome.OK, Outcome.VACUOUS, Outcome.UNKNOWN)
"""Outcomes that more seeds might alter, which the time did not allow."""


class Asked(NamedTuple):
    """What was asked for: its scenario (of a swarm that of the first seed), job, mutants, seeds."""

    scenario: Scenario
    job: Job
    mutants: Sequence[str]
    seeds: Sequence[int]


def execute(options: Options) -> int:
    """Run all rows, print the matrix; the exit code."""
    asked = asked_of(options)
    once = asked.scenario.scripted and not options.swarm and _is_one_run(asked)
    cases = ablation.cases_of(asked.scenario, asked.job, asked.mutants, once=once)
    each = wanted(cases[0], asked.seeds)
    with Progress(len(cases) * each, "what is missing is not decided") as progress:
        runs, interrupt = ablation.run_all(
            cases, asked.seeds, time_s=options.time, jobs=options.jobs, watch=progress.watch
        )
    finished = all(len(rows) == each for rows in runs.values())
    ended = "interrupted" if interrupt else "finished" if finished else "time"
    whole = document(options, asked._replace(seeds=asked.seeds[:each]), runs, ended)
    if options.output == "json":
        streams.write(documents.text(whole))
    else:
        from ddlsim.cli.views import ablate as view

        view.show_scenario(whole)
    return exit_code(whole) if interrupt is None else code_of(interrupt)


def exit_code(whole: AblateScenario) -> int:
    """That of the outcome; where the time was up before something was found, that."""
    outcome = Outcome.called(whole["outcome"])
    return NOT_DECIDED if whole["ended"] == "time" and outcome in OPEN else outcome.exit_code


# --- what is asked for ----------------------------------------------------------------------------


def asked_of(options: Options) -> Asked:
    """What is run; raises `BadInputError` before anything is."""
    what = "is for scopes; those are listed by ddlsim list scopes"
    scoped.refuse(VERB, options, OF_SCOPES, what)
    if "strategy.mutant" in repeat.settings(options):
        raise InputError(f"{VERB}: --set strategy.mutant: each row has its own; say --mutants M,M")
    seeds = SEEDS if options.seeds is None else options.seeds
    scenario, source = _requested(options, seeds[0])
    bounds.check_run(scenario.name, scenario.estimate, None)
    planned = structs.replace(plan(scenario, seeds[0]), mutant=None)
    check_design(planned)
    fit = fitting(DESIGNS.get(scenario.strategy).header.plane, scenario.strategy)
    mutants = options.mutants or fit
    for one in mutants:
        check_design(structs.replace(planned, mutant=MUTANTS.get(one).name))
    bounds.check_seeds(VERB, (1 + len(mutants)) * len(seeds))
    what_runs = source or scenario
    job = Job(
        name=what_runs.name or "",
        text=what_runs.text,
        overrides=what_runs.overrides,
        swarm=source is not None,
        loads=tuple(options.load),
        strict=options.strict,
        all_claims=options.all_claims,
    )
    return Asked(scenario, job, mutants, seeds)


def _is_one_run(asked: Asked) -> bool:
    """Whether the control is the same in the first and the last seed: a script may have delays
    that are drawn.
    """
    plans = [
        structs.replace(plan(asked.scenario, seed), mutant=None)
        for seed in {asked.seeds[0], asked.seeds[-1]}
    ]
    return len(plans) == 1 or len({ran(one)[0].fingerprint() for one in plans}) == 1


def _requested(options: Options, seed: int) -> Requested:
    """The scenario, or the source of a swarm with the scenario of its first seed."""
    if options.swarm:
        return requested_of(_as_run(options, None), seed)
    return Requested(scoped.scenario_of(VERB, options), None)


def _as_run(options: Options, mutant: str | None) -> Options:
    """The options of the `run` of a row."""
    more = {"migration": None, "trace": False, "time": None, "memory": None, "mutant": mutant}
    return Options(**{**vars(options), **more})


# --- the document ---------------------------------------------------------------------------------


def document(options: Options, asked: Asked, runs: Runs, ended: str) -> AblateScenario:
    """The document of `--output json`."""
    scenario = asked.scenario
    names = ablation.invariants_of(scenario, runs, all_claims=options.all_claims)
    rows = [_row(options, asked, names, one, runs) for one in (None, *asked.mutants)]
    return {
        "format": FORMAT,
        "scenario": scenario.name,
        "title": scenario.title,
        "strategy": scenario.strategy,
        "seeds": [asked.seeds[0], asked.seeds[-1]],
        "runs": sum(row["runs"] for row in rows),
        "outcome": ablation.outcome_of(runs, scenario.reaches).word,
        "ended": ended,
        "invariants": {one: _checkers_of(one) for one in names},
        "rows": rows,
        "no_effect": [str(row["mutant"]) for row in rows[1:] if row["effect"] == "no effect"],
        "changed_nothing": [
            str(row["mutant"]) for row in rows[1:] if row["effect"] == "changed nothing"
        ],
        "command": _command(options),
    }


def _checkers_of(invariant: str) -> list[str]:
    return [one.name for one in in_order() if one.invariant == invariant]


def _row(
    options: Options, asked: Asked, names: Sequence[str], mutant: str | None, runs: Runs
) -> ScenarioRow:
    rows = runs[mutant]
    known = None if mutant is None else MUTANTS.get(mutant)
    crash = next((row.crash for row in rows if row.crash is not None), None)
    made: ScenarioRow = {
        "mutant": mutant,
        "says": None if known is None else known.summary,
        "breaks": None if known is None else known.breaks,
        "judge": None if known is None else known.caught_by,
        "effect": "no effect",
        "runs": len(rows),
        "changed": ablation.changed(rows, runs[None]),
        "cells": {one: _cell(options, asked, mutant, one, rows) for one in names},
        "stuck": sum(bool(row.stuck) for row in rows),
        "unmet": sum(bool(row.missed) for row in rows),
        "crashed": sum(row.crash is not None for row in rows),
        "crash": crash,
        "command": _repeat(options, asked, mutant, _first(rows, asked)),
    }
    least = min(len(rows), len(runs[None]))
    made["effect"] = _effect(made, is_short=least < len(asked.seeds))
    return made


def _first(rows: Sequence[RunRow], asked: Asked) -> int:
    """The seed of the first run that failed, else of the first one."""
    return next((row.seed for row in rows if row.failed), asked.seeds[0])


def _cell(
    options: Options, asked: Asked, mutant: str | None, invariant: str, rows: Sequence[RunRow]
) -> SeedCell:
    shown = [(row.seed, ablation.broken_by(invariant, row)) for row in rows]
    broken = [(seed, summary) for seed, summary in shown if summary is not None]
    seed, summary = broken[0] if broken else (None, None)
    return {
        "broken": len(broken),
        "unjudged": sum(invariant in row.unjudged for row in rows),
        "first_seed": seed,
        "summary": summary,
        "command": None if seed is None else _repeat(options, asked, mutant, seed),
    }


def _effect(row: ScenarioRow, *, is_short: bool) -> ScenarioEffect:
    """The gravest of what a row shows; `is_short`: it or the control lacks some seeds."""
    cells = row["cells"].values()
    is_the_control = row["mutant"] is None
    effects: dict[ScenarioEffect, bool] = {
        "crashed": row["crashed"] > 0,
        "violated": any(cell["broken"] for cell in cells),
        "stuck": row["stuck"] > 0,
        "unmet": row["unmet"] > 0,
        "not decided": is_short,
        "unknown": any(cell["unjudged"] for cell in cells),
        "changed nothing": not row["changed"] and not is_the_control,
    }
    return next((effect for effect, holds in effects.items() if holds), "no effect")


def _repeat(options: Options, asked: Asked, mutant: str | None, seed: int) -> str:
    """The command that runs a row's seed; the control's takes the mutant of the file away."""
    of_control = None if asked.scenario.mutant is None else NO_MUTANT
    return repeat.of_options(_as_run(options, mutant or of_control), seed)


def _command(options: Options) -> str:
    """The command that makes the matrix again."""
    said = ["ddlsim", VERB, *([] if options.scenario is None else [options.scenario])]
    said += ["--swarm"] * options.swarm
    seeds = SEEDS if options.seeds is None else options.seeds
    said += ["--seeds", f"{seeds[0]}..{seeds[-1]}"]
    said += [] if options.strategy is None else ["--strategy", options.strategy]
    said += [word for value in options.set for word in ("--set", value)]
    said += ["--mutants", ",".join(options.mutants)] if options.mutants else []
    said += repeat.judging(options) + repeat.also(options.load, outside=options.allow_outside)
    return shlex.join(said)
