"""`ddlsim verify`: the regression suite, with a verdict for CI."""

from typing import Final

from ddlsim.cli import streams
from ddlsim.cli.documents import documents, junit
from ddlsim.cli.documents import verify as document_verify
from ddlsim.cli.exit_codes import NOT_DECIDED
from ddlsim.cli.options import Options
from ddlsim.cli.problems import note
from ddlsim.cli.views.progress import SuiteProgress
from ddlsim.mutation.power import Power, power
from ddlsim.registry import load_file
from ddlsim.scenario import bounds
from ddlsim.verify.suite import cases_of, names_of, run_suite
from ddlsim.verify.verification import Verification, verification

SEEDS: Final = range(10)
UNTIL_TIME_IS_UP: Final = range(2**31)
AS_EXPECTED, NOT_AS_EXPECTED = 0, 1


def execute(options: Options) -> int:
    """Run the suite, print, and tell whether everything is as expected."""
    for file in options.load:
        load_file(file)
    whole = not options.scenarios
    cases = cases_of(
        names_of(options.scenarios),
        options.load,
        every_design=whole,
        outside=options.allow_outside,
    )
    seeds = options.seeds or (SEEDS if options.time is None else UNTIL_TIME_IS_UP)
    if options.time is None:
        bounds.check_seeds("verify", len(cases) * len(seeds))
    with SuiteProgress(cases, seeds, options.time) as progress:
        trials = run_suite(
            cases, seeds, time_s=options.time, jobs=options.jobs, watch=progress.watch
        )
        note(progress.status())
    result = verification(
        cases,
        trials,
        seeds,
        every_mutant=whole,
        bounded=options.time is not None and seeds is UNTIL_TIME_IS_UP,
    )
    show(options, result, power(options.jobs) if options.power else None)
    return exit_code(result)


def exit_code(result: Verification) -> int:
    """1 where something is wrong, else 7 where the time did not suffice to tell."""
    if result.unexpected:
        return NOT_AS_EXPECTED
    return AS_EXPECTED if result.decided else NOT_DECIDED


def show(options: Options, result: Verification, measured: Power | None) -> None:
    """Print the result in the form that was asked for."""
    if options.output == "json":
        streams.write(documents.text(document_verify.document(result, measured)))
    elif options.output == "junit":
        streams.write(junit.text("ddlsim verify", "verify", document_verify.tests(result)))
    else:
        from ddlsim.cli.views import verify as view_verify
        from ddlsim.cli.views import words

        view_verify.show(result, words.console(), measured)
