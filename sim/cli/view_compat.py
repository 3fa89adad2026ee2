"""The linter's verdicts for people: each statement with its rules, then each table."""

from typing import Any

from rich.console import Console
from rich.text import Text

from sim.cli.words import block

GOOD, BAD, REFUSED = "green", "bold red", "bold yellow"
VERDICTS = {True: ("survive", GOOD), False: ("ABORT", BAD), None: ("REFUSED", REFUSED)}


def show(report: dict[str, Any], migration: str, to: Console) -> None:
    """The whole report."""
    statements = report["statements"]
    bad = sum(statement["forward_compatible"] is not True for statement in statements)
    count = f"{len(statements)} statement{'' if len(statements) == 1 else 's'}"
    head = ("COMPATIBLE", GOOD) if not bad else ("NOT COMPATIBLE", BAD)
    rest = f"  {migration}, {count}, {bad} not; rules of {report['baseline']}"
    to.print(Text.assemble(head, rest), soft_wrap=True)
    for statement in statements:
        to.print()
        _statement(statement, to)
    to.print()
    _tables(report, to)
    if "expected_abort_share" in report:
        _rates(report["expected_abort_share"], to)


def _statement(statement: dict[str, Any], to: Console) -> None:
    word, style = VERDICTS[statement["forward_compatible"]]
    first = " ".join(statement["sql"].split())
    told = "refused" if word == "REFUSED" else f"transactions {word}"
    to.print(Text.assemble(f"line {statement['line']}: ", (told, style)))
    block(first, to)
    for rule in statement["rules"]:
        column = f"{rule['column']}: " if rule["column"] else ""
        block(f"  {rule['clause']} {rule['verdict']}: {column}{rule['reason']}", to)
    if statement["error"] is not None:
        block(f"  {statement['error']['message']}", to)
    if statement["no_op"] is not None:
        block(f"  changes nothing: {statement['no_op']}", to)


def _tables(report: dict[str, Any], to: Console) -> None:
    """What becomes of transactions that span the whole migration."""
    to.print("a transaction that used a table before and commits after all of it")
    names = report["tables"]
    width = max(map(len, names), default=0)
    for name, verdict in names.items():
        word, style = VERDICTS[verdict["forward_compatible"]]
        line = f"  {name.ljust(width)}  "
        because = ""
        if verdict["because"] is not None:
            because = f", because of line {report['statements'][verdict['because']]['line']}"
        to.print(Text.assemble(line, (f"{word}s".lower(), style), because), soft_wrap=True)


def _rates(shares: dict[str, Any], to: Console) -> None:
    to.print()
    to.print("if such statements keep coming, the share of transactions that they abort")
    for name, told in (("option_3", "the design"), ("options_1_and_2", "options 1 and 2")):
        to.print(f"  {told.ljust(16)}{100 * shares[name]:6.2f} %")
