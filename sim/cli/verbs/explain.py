"""`ddlsim explain`: the arguments against a history in full, in words, as data, as pictures."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import structs

from ddlsim.analysis.sweep import totals
from ddlsim.analysis.sweep.totals import ViolationGroup
from ddlsim.checkers.argument import Argument, argue, prose
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.extent import Extent, extents
from ddlsim.checkers.signature import signature_of
from ddlsim.cli import repeat, stored, streams
from ddlsim.cli.documents import documents, shapes_explain
from ddlsim.cli.options import Options
from ddlsim.cli.picture import cycle as picture_cycle
from ddlsim.cli.picture import page as picture
from ddlsim.cli.picture import trace
from ddlsim.cli.problems import InputError
from ddlsim.cli.verbs import explain_foreign, explain_likelihood
from ddlsim.cli.verbs.check_foreign import refuse_model
from ddlsim.cli.views import checked as view_checked
from ddlsim.cli.views import figures as view_figures
from ddlsim.cli.views import run as view
from ddlsim.cli.views.words import command, console, labelled, say, unreached, verdict
from ddlsim.files import apart, write_text
from ddlsim.foreign import inputs
from ddlsim.history.history import FORMAT, Header, History
from ddlsim.problems import BadInputError
from ddlsim.registry import load_file
from ddlsim.scenario import findings
from ddlsim.scenario.scenario import parse_toml
from ddlsim.search.likelihood import Likelihood
from ddlsim.verify.row import RunRow, row_of

PERFETTO: Final = "perfetto:"


def execute(options: Options) -> int:
    """Judge a history and tell everything that its judges have to say."""
    for file in options.load:
        load_file(file)
    apart(
        {"HISTORY": options.history, "--html": options.html, "--svg": options.svg,
         "--trace-out": _trace_file(options)}
    )  # fmt: skip
    kind = inputs.kind_of(options.history) if options.input == "auto" else options.input
    if kind != "native":
        return explain_foreign.execute(options, kind)
    if options.model is not None:
        refuse_model(options.history)
    history = stored.load(options.history)
    row = row_of(
        history, strict=options.strict, all_claims=options.all_claims, known=findings.known()
    )
    case = Case(history)
    found = sorted(totals.grouped([row]), key=_order(history.header))
    arguments = [argue(case, one.example) for one in found]
    again = repeat.of_header(history.header, options)
    if found and options.likelihood and options.svg is not None and _cycle(arguments) is None:
        raise _without_cycle(options.svg, "--html")  # before what takes long
    likely = explain_likelihood.of(options, history, found)
    files = _pictures(options, case, row, found, arguments, likely)
    looked = list(extents(case, all_claims=options.all_claims))
    if options.output == "json":
        document = documents.part(
            row,
            shapes_explain.Explain,
            format=FORMAT,
            file=options.history,
            arguments=[
                {**msgspec.to_builtins(one.example), "times": one.times,
                 **msgspec.to_builtins(argument)}
                for one, argument in zip(found, arguments, strict=True)
            ],
            never_reached=[name for name in history.header.reaches if not row.reached[name]],
            command=again,
            checked=view_checked.document(looked, row),
            files=files,
            not_met=view_checked.unreached(row),
        )  # fmt: skip
        if likely is not None:
            document["likelihood"] = explain_likelihood.document(likely)
        streams.write(documents.text(document))
        return 0
    _show(history, row, found, arguments, looked, likely, files, again)
    return 0


def _order(header: Header) -> Callable[[ViolationGroup], tuple[bool | int, ...]]:
    """What the scenario expects by its signature comes first, then the gravest."""
    expect = None
    with suppress(BadInputError):
        expect = parse_toml(header.scenario_text, header.scenario).get("expect")
    expected = expect.get("signature") if isinstance(expect, dict) else None

    def key(one: ViolationGroup) -> tuple[bool | int, ...]:
        return (signature_of(one.example).text != expected, *picture.gravest_first(one))

    return key


# --- as text -------------------------------------------------------------------------------------


def _show(
    history: History,
    row: RunRow,
    found: list[ViolationGroup],
    arguments: list[Argument],
    looked: list[Extent],
    likely: Likelihood | None,
    files: list[str],
    again: str,
) -> None:
    to = console()
    header = history.header
    design = row.strategy if row.mutant is None else f"{row.strategy} + {row.mutant}"
    verdict(row.outcome, f"{row.scenario}, seed {row.seed}", to)
    say(f"design {design}, fingerprint {row.fingerprint}", to)
    if row.figures is not None:
        to.print()
        view_figures.show(row.figures, to)
    argued = [
        structs.replace(one, argument="\n".join(prose(argument)))
        for one, argument in zip(found, arguments, strict=True)
    ]
    view.findings(argued, [row], to, all_in_full=True)
    view.troubles([row], to)
    for line in row.missed:
        say(f"not as the scenario expects: {line}", to, "yellow")
    view_checked.show(looked, row, to)
    to.print()
    if unmet := [probe for probe in header.reaches if not row.reached[probe]]:
        labelled("NEVER reached", ", ".join(unmet), to, "bold yellow")
    if row.unmatched:
        labelled("met nothing", "; ".join(row.unmatched), to, "bold yellow")
    labelled("not met", unreached(view_checked.unreached(row)), to)
    if likely is not None:
        explain_likelihood.show(likely, to)
    if files:
        labelled("wrote", ", ".join(files), to)
    to.print()
    command(again, to)


# --- as pictures ---------------------------------------------------------------------------------


def _pictures(
    options: Options,
    case: Case,
    row: RunRow,
    found: list[ViolationGroup],
    arguments: list[Argument],
    likely: Likelihood | None,
) -> list[str]:
    """Every file that was asked for; their names. The drawing of a cycle comes last: there may be
    none."""
    title, files = picture.title_of(row), []
    if options.html is not None:
        argued = [
            picture.ArguedViolation(one.example, argument)
            for one, argument in zip(found, arguments, strict=True)
        ]
        again = repeat.of_header(case.header, options)
        write_text(options.html, picture.html(case, title, argued, again, likely))
        files.append(options.html)
    if (file := _trace_file(options)) is not None:
        write_text(file, trace.perfetto(case))
        files.append(file)
    if options.svg is not None:
        cycle = _cycle(arguments)
        if cycle is None:
            raise _without_cycle(options.svg, options.html or "--html")
        write_text(options.svg, picture_cycle.svg(cycle, title))
        files.append(options.svg)
    return files


def _cycle(arguments: list[Argument]) -> Argument | None:
    """The first argument that is a cycle."""
    return next((one for one in arguments if one.steps), None)


def _without_cycle(svg: str, html: str) -> InputError:
    """The error where --svg has nothing to draw, and the page shows the steps."""
    return InputError(f"--svg {svg}: this history has no cycle to draw; {html} shows its steps")


def _trace_file(options: Options) -> str | None:
    """The file of --trace-out; `InputError` where it names none."""
    if options.trace_out is None:
        return None
    file: str = options.trace_out.removeprefix(PERFETTO)
    if not file or file == options.trace_out:
        raise InputError(f"--trace-out {options.trace_out}: expected perfetto:FILE")
    return file
