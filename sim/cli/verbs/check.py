"""`ddlsim check`: judges stored histories again, with today's checkers, and external ones."""

from typing import TYPE_CHECKING, Union

from ddlsim.checkers.outcome import Outcome, worst
from ddlsim.cli import streams
from ddlsim.cli.documents import documents, junit
from ddlsim.cli.options import Options
from ddlsim.cli.problems import BAD_INPUT, InputError, note
from ddlsim.cli.verbs import check_spread
from ddlsim.cli.verbs.check_foreign import Foreign, refuse_model
from ddlsim.foreign import inputs
from ddlsim.history.history import FORMAT
from ddlsim.registry import load_file

if TYPE_CHECKING:
    from ddlsim.cli.verbs.check_native import Native

Judged = Union["Native", Foreign]


def execute(options: Options) -> int:
    """Judge every file, then print; the exit code is that of the worst."""
    results = results_of(options)
    wrong = [one for one in results if isinstance(one, InputError)]
    judged = _together([one for one in results if not isinstance(one, InputError)])
    if judged:
        _print(judged, options)
    for one in wrong:
        note(str(one))
    found = worst(one.outcome for one in judged)
    return BAD_INPUT if wrong and found.rank < Outcome.STUCK.rank else found.exit_code


def results_of(options: Options) -> list[Judged | InputError]:
    """What is to be said of every file, in their order, here or on Spark; of several files, one
    that cannot be judged is an error in its place."""
    for file in options.load:
        load_file(file)
    return check_spread.judged(judge, options)


def _print(judged: list[Judged], options: Options) -> None:
    """What was found, in the form that was asked for."""
    if options.output == "json":
        document = {"format": FORMAT, "files": [one.document() for one in judged]}
        streams.write(documents.text(document))
    elif options.output == "junit":
        streams.write(junit.text("ddlsim check", "histories", [one.case() for one in judged]))
    else:
        _show(judged)


def judge(options: Options, file: str) -> Judged:
    """One file, by what it is said to be, or looks like."""
    kind = inputs.kind_of(file) if options.input == "auto" else options.input
    if kind != "native":
        report = inputs.judge(kind, file, options.model, strict=options.strict)
        return Foreign(file, kind, report)
    if options.model is not None:
        refuse_model(file)
    from ddlsim.cli.verbs import check_native  # with it comes the simulator

    return check_native.judge(options, file)


def _together(judged: list[Judged]) -> list[Judged]:
    """The same, but a probe counts as reached when any history of its scenario has reached it."""
    if all(isinstance(one, Foreign) for one in judged):
        return judged
    from ddlsim.cli.verbs import check_native

    natives = iter(check_native.together([o for o in judged if not isinstance(o, Foreign)]))
    return [one if isinstance(one, Foreign) else next(natives) for one in judged]


def _show(judged: list[Judged]) -> None:
    """A line for each file, then what was found, once for all of them."""
    from ddlsim.cli.views.words import console

    to = console()
    for one in judged:
        one.show(to)
    natives = [one for one in judged if not isinstance(one, Foreign)]
    if natives:
        from ddlsim.cli.verbs import check_native

        check_native.show_found(natives, to)
