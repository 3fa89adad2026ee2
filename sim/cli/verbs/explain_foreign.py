"""`ddlsim explain` of external histories: everything that was found, and what was looked for."""

import shlex
from typing import Any

from rich.console import Console
from rich.text import Text

from ddlsim.checkers.argument import Argument, Party
from ddlsim.checkers.base import Step
from ddlsim.checkers.outcome import Outcome
from ddlsim.cli import streams
from ddlsim.cli.documents import documents
from ddlsim.cli.options import Options
from ddlsim.cli.picture import cycle as picture_cycle
from ddlsim.cli.problems import InputError
from ddlsim.cli.verbs.check_foreign import Foreign
from ddlsim.cli.views.words import INDENT, command, console, labelled, say
from ddlsim.files import write_text
from ddlsim.foreign import inputs
from ddlsim.history.history import FORMAT

PICTURES = ("html", "trace_out")
OF_RUNS = ("likelihood", "continuations", "jobs")


def execute(options: Options, kind: str) -> int:
    """Judge a file of a kind and tell all of it."""
    for flag in PICTURES:
        if getattr(options, flag) is not None:
            raise InputError(
                f"--{flag.replace('_', '-')}: draws runs of this program; {options.history} is a "
                f"{kind} history, which explain tells in words, as --output json, and as --svg FILE"
            )
    for flag in OF_RUNS:
        if getattr(options, flag):
            what = f"runs a history of this program again; {options.history} is a {kind} history"
            raise InputError(f"--{flag}: {what}")
    for flag in ("strict", "all_claims"):
        tells = flag == "strict" and inputs.INPUTS[kind].judge_strictly is not None
        if getattr(options, flag) and not tells:
            what = f"is for runs of this program; --model says what a {kind} history must keep to"
            raise InputError(f"--{flag.replace('_', '-')}: {what}")
    report = inputs.judge(kind, options.history, options.model, strict=options.strict)
    judged = Foreign(options.history, kind, report)
    files = [] if options.svg is None else [_drawn(judged, options.svg)]
    if options.output == "json":
        streams.write(documents.text(_document(judged, files)))
    else:
        _show(judged, options.model, files, console())
    return 0


def _drawn(one: Foreign, file: str) -> str:
    """Write the cycle of the fewest steps as a picture; the name of the file."""
    cycles = [found for found in one.report.fields["anomalies"] if found["steps"]]
    if not cycles:
        raise InputError(f"--svg {file}: nothing that was found in {one.file} is a cycle to draw")
    cycle = min(cycles, key=lambda found: len(found["steps"]))
    write_text(file, picture_cycle.svg(argument_of(cycle), f"{one.file}: {cycle['type']}"))
    return file


def argument_of(cycle: dict[str, Any]) -> Argument:
    """A cycle of the document as what is drawn: what each did, and why each edge is there."""
    steps = tuple(
        Step(one["from"], one["to"], "T", one["edge"], one["because"]) for one in cycle["steps"]
    )
    parties = tuple(
        Party(
            one.source, is_ddl=False, did=cycle["did"].get(one.source, ""), node=None, client=None,
            begins_ms=None, ends_ms=None, stamps={},
        )
        for one in steps
    )  # fmt: skip
    return Argument(cycle["explanation"], parties, steps, ())


def _document(one: Foreign, files: list[str]) -> dict[str, Any]:
    """The element of `check`, with what was checked."""
    return {
        "format": FORMAT,
        **one.document(),
        "checked": [{"what": what, "amount": amount} for what, amount in one.report.checked],
        "files": files,
    }


def _show(one: Foreign, model: str | None, files: list[str], to: Console) -> None:
    one.show(to)
    to.print()
    if one.report.outcome is Outcome.OK:
        say("Nothing was found that is forbidden.", to)
        to.print()
    to.print(Text("what was checked", "bold"))
    for what, amount in one.report.checked:
        say(f"{what}: {amount}", to, indent=INDENT)
    if files:
        labelled("wrote", ", ".join(files), to)
    to.print()
    asked = [] if model is None else ["--model", model]
    command(shlex.join(["ddlsim", "check", one.file, "--input", one.input, *asked]), to)
