"""`ddlsim run`: plans, runs and judges a scenario for one seed or many."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from ddlsim.analysis.sweep import totals
from ddlsim.checkers.outcome import Outcome
from ddlsim.cli import arguments, folder, repeat, streams
from ddlsim.cli.documents import documents, junit
from ddlsim.cli.documents.run import Report, case_of, case_of_expectation
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError, note
from ddlsim.cli.signals import code_of
from ddlsim.cli.views.progress import Progress
from ddlsim.cluster.designs import check_design
from ddlsim.execute.isolation import CAN_FORK, Limits
from ddlsim.files import write_text
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.registry import load_file
from ddlsim.scenario import bounds
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import Scenario, with_migration
from ddlsim.scenario.unenforced import unenforced
from ddlsim.verify.campaign import Job, Runner, run_seeds, swarm_source, violates
from ddlsim.verify.expectation import Sum, sum_of
from ddlsim.verify.row import RunRow

FIRST_SEED = 0
AS_EXPECTED, NOT_AS_EXPECTED = 0, 1


def execute(options: Options) -> int:
    """Run, print, and tell the exit code."""
    result, asked = judged(options)
    try:
        if options.out is not None:
            folder.finish(options.out, result.document())
            result = result._replace(kept=folder.histories(options.out))
    finally:  # a verdict is no less true where its summary cannot be kept
        crashes(result.sum)
        show(options, result)
        streams.result().flush()
    failed = worth_shrinking(options, result)
    interrupt = None if failed is None else shrink(options, asked, failed)
    return exit_code(options, result.sum) if interrupt is None else code_of(interrupt)


def worth_shrinking(options: Options, result: Report) -> int | None:
    """The first seed that fails as the scenario does not expect, where a person looks at it.

    That is in text, on a terminal or with --out; a sweep that a program reads is not slowed down.
    """
    if options.no_shrink or options.output != "text" or result.sum.as_expected:
        return None
    if options.out is None and not is_watched():
        return None
    return next((row.seed for row in result.sum.runs if can_shrink(row)), None)


def can_shrink(row: RunRow) -> bool:
    """Whether a run fails in a way that can be run again here: not where its process died."""
    if row.outcome is Outcome.CRASHED:
        return row.origin is not None
    return row.outcome in (Outcome.VIOLATED, Outcome.STUCK) and bool(row.violations)


def is_watched() -> bool:
    """Whether a person looks at the output."""
    return streams.result().isatty()


def shrink(options: Options, asked: Job, seed: int) -> KeyboardInterrupt | None:
    """Shrink the run of a seed: into files of --out, else onto the terminal.

    Returns what interrupted it; what was found by then is written all the same.
    """
    from ddlsim.cli.verbs import shrunk
    from ddlsim.shrink import failing
    from ddlsim.shrink.shrink import Budget

    runner = Runner(asked)
    scenario = runner.scenario or swarm.scenario(swarm_source(asked), seed)
    judging = {"strict": options.strict, "all_claims": options.all_claims}
    try:
        state = failing.begun(scenario, seed, Budget(), **judging)
    except failing.NothingToShrinkError as error:
        note(str(error))
        return None
    names = None if options.out is None else folder.shrunk(options.out, seed)
    shorter = shrunk.shrunk_text(
        state, shrunk.PRINTED if names is None else names.scenario, options.load
    )
    if names is None:
        streams.write(f"\n{shorter.text}")
    else:
        write_text(names.scenario, shorter.text)
        write_text(names.page, shrunk.page_of(shorter))
        note(f"wrote {names.scenario}, {names.page}; {shorter.command}")
    note(shrunk.sentence(shorter))
    return state.interrupt


def judged(options: Options) -> tuple[Report, Job]:
    """Run and judge what is asked for; the report, and the job that any seed repeats."""
    for file in options.load:
        load_file(file)
    seeds = seeds_of(options)
    bounds.check_seeds("run", len(seeds))
    _check_stream(options, len(seeds))
    if not CAN_FORK and (options.time, options.memory) != (None, None):
        raise InputError("run: --time and --memory need a system that can fork processes")
    requested = requested_of(options, seeds[0])
    found, unjudged = requested.scenario.estimate, options.unjudged
    bounds.check_run(requested.scenario.name, found, options.memory, unjudged=unjudged)
    settings = checked(requested.scenario, seeds[0])
    for text in unenforced(requested.scenario):
        note(f"kept as text and not enforced on rows: {text}")
    if options.out is not None:
        read = [file for file in (options.scenario, options.migration) if file is not None]
        folder.claim(options.out, read)
    asked = job(options, requested, seeds)
    with Progress(len(seeds)) as progress:
        until = violates if options.until_violation else None
        rows = run_seeds(asked, seeds, jobs=options.jobs, watch=progress.watch, until=until)
    return report(options, requested, seeds[: len(rows)], settings, rows), asked


def _check_stream(options: Options, runs: int) -> None:
    """Refuse a stream of several runs, or to nowhere."""
    if options.unjudged and not options.stream:
        raise InputError("run: --unjudged is for a run with --stream; add it, or leave both out")
    if options.stream and options.out is None:
        raise InputError("run: --stream writes into the directory of --out; name one")
    if options.stream and runs > 1:
        raise InputError("run: --stream is for one run; take --seed N")


class Requested(NamedTuple):
    """What was asked for: a scenario, or what each seed draws one around (then of the first)."""

    scenario: Scenario
    source: swarm.Source | None


def requested_of(options: Options, seed: int) -> Requested:
    """The scenario, with everything that the command line sets over it."""
    overrides = repeat.settings(options)
    if options.swarm:
        base = None if options.scenario is None else _load(options)
        source = swarm.source_of(base, overrides)
        scenario = swarm.scenario(source, seed)
    else:
        source, scenario = None, _load(options, overrides)
    if options.migration is not None:
        scenario = with_migration(scenario, options.migration)
        if source is not None:
            source = structs.replace(source, overrides=scenario.overrides)
    return Requested(scenario, source)


def _load(options: Options, overrides: dict[str, Any] | None = None) -> Scenario:
    idle = options.migration is not None
    return load(options.scenario, overrides, outside=options.allow_outside, idle=idle)


def seeds_of(options: Options) -> Sequence[int]:
    """One seed or several: those of the command, else that of the scenario.

    A world that is drawn around a scenario has nothing to do with a seed of that."""
    if options.seeds is not None:
        seeds: range = options.seeds
        return seeds
    if options.seed is not None:
        return (options.seed,)
    if options.scenario is None or options.swarm:
        return (FIRST_SEED,)
    own = _load(options, repeat.settings(options)).table.seed
    return (FIRST_SEED if own is None else own,)


def checked(scenario: Scenario, seed: int) -> dict[str, dict[str, int]]:
    """Plan the first run and make its design, so that errors come before any run.

    Returns the numbers of the protocol, of the cluster (`""`) and of each node.
    """
    planned = plan(scenario, seed)
    check_design(planned)
    return {
        "": dict(planned.cluster_settings),
        **{node.name: dict(node.settings) for node in planned.nodes},
    }


def job(options: Options, requested: Requested, seeds: Sequence[int]) -> Job:
    """What every process must know."""
    what = requested.source or requested.scenario
    return Job(
        name=what.name or "",
        text=what.text,
        overrides=what.overrides,
        swarm=requested.source is not None,
        loads=tuple(options.load),
        strict=options.strict,
        all_claims=options.all_claims,
        trace=options.trace,
        keep=options.out,
        first=seeds[0],
        limits=Limits(options.time, options.memory),
        stream=options.stream,
        unjudged=options.unjudged,
    )


def report(
    options: Options,
    requested: Requested,
    seeds: Sequence[int],
    settings: Mapping[str, Any],
    rows: Sequence[RunRow],
) -> Report:
    """Everything that there is to tell."""
    scenario = requested.scenario
    total = sum_of(rows, reaches=scenario.reaches, expect=scenario.expect)
    first = total.first_failed or total.runs[0]
    return Report(
        scenario=scenario.name,
        title=scenario.title,
        strategy=scenario.strategy,
        mutant=scenario.mutant,
        settings=dict(settings),
        expect=scenario.expect,
        seeds=seeds,
        sum=total,
        figures=totals.total(rows) if len(rows) > 1 else rows[0].figures,
        found=totals.grouped(total.runs),
        command=repeat.of_options(options, first.seed),
        drawn={} if requested.source is None else swarm.draw(requested.source, first.seed).knobs,
    )


def crashes(total: Sum) -> None:
    """Where a crash came from, if that was asked for."""
    crashed = [row for row in total.runs if row.outcome is Outcome.CRASHED]
    if crashed and arguments.debugging():
        note(f"seed {crashed[0].seed} crashed:")
        print(crashed[0].origin, file=sys.stderr, flush=True)


def show(options: Options, result: Report) -> None:
    """Print the result in the form that was asked for."""
    if options.output == "json":
        streams.write(documents.text(result.document()))
    elif options.output == "junit":
        streams.write(junit_of(options, result))
    else:
        from ddlsim.cli.views import run as view
        from ddlsim.cli.views import words

        view.show(result, words.console())


def junit_of(options: Options, result: Report) -> str:
    """One test for each run, or, with `--expect`, one for all of them."""
    if options.expect:
        cases = [case_of_expectation(result.sum.unexpected)]
    else:
        cases = [case_of(row, f"seed {row.seed}") for row in result.sum.runs]
    return junit.text("ddlsim run", result.scenario, cases)


def exit_code(options: Options, total: Sum) -> int:
    """The outcome's code; with `--expect` whether it is as expected."""
    if options.expect:
        return AS_EXPECTED if total.as_expected else NOT_AS_EXPECTED
    return total.outcome.exit_code
