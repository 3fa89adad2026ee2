"""`ddlsim explain` of histories of others: everything that was found, and what was looked for."""

import argparse
from typing import Any

from rich.console import Console
from rich.text import Text

from sim.checkers.outcome import Outcome
from sim.cli import check_foreign, documents
from sim.cli.check_foreign import Foreign
from sim.cli.problems import InputError
from sim.cli.words import INDENT, command, console, say
from sim.columns.models import DEFAULT
from sim.history.history import FORMAT

PICTURES = ("svg", "html", "trace_out")


def execute(options: argparse.Namespace, kind: str) -> int:
    """Judge a file of a kind and tell all of it."""
    for flag in PICTURES:
        if getattr(options, flag) is not None:
            raise InputError(
                f"--{flag.replace('_', '-')}: draws runs of this program; {options.history} is a "
                f"{kind} history, which explain tells in words and as --output json"
            )
    for flag in ("strict", "all_claims"):
        if getattr(options, flag):
            what = f"is for runs of this program; --model says what a {kind} history must keep to"
            raise InputError(f"--{flag.replace('_', '-')}: {what}")
    model = options.model or DEFAULT
    judged = check_foreign.judge(options.history, kind, model)
    if options.output == "json":
        print(documents.text(_document(judged)))
    else:
        _show(judged, model if options.model is not None else None, console())
    return 0


def _document(one: Foreign) -> dict[str, Any]:
    """The element of `check`, with what was checked."""
    return {
        "format": FORMAT,
        **check_foreign.document_of(one),
        "checked": [{"what": what, "amount": amount} for what, amount in one.report.checked],
        "files": [],
    }


def _show(one: Foreign, model: str | None, to: Console) -> None:
    check_foreign.show(one, to)
    to.print()
    if one.report.outcome is Outcome.OK:
        say("Nothing was found that is forbidden.", to)
        to.print()
    to.print(Text("what was checked", "bold"))
    for what, amount in one.report.checked:
        say(f"{what}: {amount}", to, indent=INDENT)
    to.print()
    asked = "" if model is None else f" --model {model}"
    command(f"ddlsim check {one.file} --input {one.input}{asked}", to)
