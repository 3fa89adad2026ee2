"""Designs side by side on one screen: the verdicts with latencies, the costs, what is broken."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from ddlsim.analysis.compare.columns import (
    BESIDE,
    COLUMNS,
    COSTS,
    FORMED,
    LATENCIES,
    MET,
    OUTSIDE,
    Column,
)
from ddlsim.analysis.compare.records import UNMET, UNTESTED, WORDS, Breach, Line, Word
from ddlsim.cli.documents.shapes_compare import Advise, Compare
from ddlsim.cli.views.words import command, labelled, say
from ddlsim.escape import counted

STYLES: Final[dict[Word, str]] = {
    "safe": "bold green",
    "holes": "green",
    "weaker": "yellow",
    "untested": "yellow",
    "conditional": "yellow",
    "unclaimed": "red",
    "unsafe": "bold red",
    "not judged": "bold magenta",
}
BY_FORMULA: Final = {
    "dml_added_mean": ("~added", "mean ms"),
    "ddl_p50": ("~DDL", "p50 ms"),
    "ddl_p99": ("~DDL", "p99 ms"),
    "schema_aborts": ("~schema", "abort %"),
    "reads_per_transaction": ("~reads", "per tx"),
    "reads_per_ddl": ("~reads", "per DDL"),
    "schema_hottest_per_s": ("~schema", "per s"),
}
"""The heads of the closed forms."""
TIMES: Final = ("dml_added_mean", "ddl_p50", "ddl_p99")
"""Those of latencies, which have a table of their own: the text is 80 columns wide."""
FORMULA_SAID: Final = (
    "closed forms of the catalogue of designs, from the rates, lengths and delays of these runs, "
    "without queues of statements, and of faults with a held log (DML) and the longest (DDL p99); "
    f"{OUTSIDE}: the number's interval lies outside"
)
STATUS: Final = {
    "violation": "broken",
    "stuck": "stuck",
    "out_of_assumption": "broken out of assumption",
    "accepted": "not claimed, broken",
}


def show(found: Compare, to: Console) -> None:
    """Everything that an architect asks first, then what each number is."""
    lines = found["designs"]
    say(heading(found), to, "bold")
    to.print()
    _table(lines, MET + LATENCIES, to, verdicts=True)
    to.print()
    _table(lines, COSTS, to, verdicts=False)
    to.print()
    _formulas(lines, to)
    to.print()
    for line in lines:
        _claims(line, to)
    to.print()
    for word in dict.fromkeys(line.verdict for line in lines):
        labelled(word, WORDS[word], to, STYLES[word])
    _explained(lines, to)
    for one in found["left_out"]:
        labelled("left out", f"{one['design']}: {one['why']}", to, "yellow")
    to.print()
    command(found["command"], to)


def show_advice(found: Advise, to: Console) -> None:
    """The designs that fit, the table of those that were run, and why the others do not."""
    fits = found["fits"]
    say(f"fits: {', '.join(fits)}" if fits else "no design fits", to, "bold")
    to.print()
    for name, reasons in found["others"].items():
        labelled(name, "; ".join(reasons), to)
    if found["table"] is not None:
        to.print()
        show(found["table"], to)
    else:
        to.print()
        command(found["command"], to)


def heading(found: Compare) -> str:
    """What was run, in a line."""
    first, last = found["seeds"]
    names = ", ".join(found["scenarios"])
    text = f"{counted(len(found['designs']), 'design')} in {names}, seeds {first}..{last}, "
    text += counted(found["runs"], "run")
    return text + (f", {found['failed']} of them not finished" if found["failed"] else "")


def _table(
    lines: Sequence[Line], columns: Sequence[Column], to: Console, *, verdicts: bool
) -> None:
    """A row for each design; the numbers stand below two lines of heads."""
    cells = [[column.shown(line) for column in columns] for line in lines]
    _rows(lines, [column.narrow for column in columns], cells, to, verdicts=verdicts)


def _formulas(lines: Sequence[Line], to: Console) -> None:
    """What closed forms give for the numbers of each design: latencies, then shares and rates; of
    each, the last number stands in no other table."""
    _beside(lines, [column for column in FORMED if column.key in TIMES], to)
    to.print()
    _beside(lines, [column for column in FORMED if column.key not in TIMES], to)


def _beside(lines: Sequence[Line], columns: Sequence[Column], to: Console) -> None:
    heads = [BY_FORMULA[column.key] for column in columns]
    cells = [[column.by_formula(line) for column in columns] for line in lines]
    for column in (one for one in columns if one in BESIDE):
        heads.append(column.narrow)
        for row, line in zip(cells, lines, strict=True):
            row.append(column.shown(line))
    _rows(lines, heads, cells, to, verdicts=False)


def _rows(
    lines: Sequence[Line],
    heads: Sequence[tuple[str, str]],
    cells: Sequence[Sequence[str]],
    to: Console,
    *,
    verdicts: bool,
) -> None:
    longest = max(len(name) for name in ("design", *(line.design for line in lines)))
    words = max(len(word) for word in ("verdict", *(line.verdict for line in lines)))
    beside = f" {'verdict'.ljust(words)}" if verdicts else ""
    widths = [
        max(len(text) for text in (*head, *(row[at] for row in cells)))
        for at, head in enumerate(heads)
    ]
    first, second = zip(*heads, strict=True)
    to.print(" " * (longest + len(beside)) + _right(first, widths), soft_wrap=True)
    to.print("design".ljust(longest) + beside + _right(second, widths), soft_wrap=True)
    to.print("─" * (longest + len(beside) + sum(widths) + len(widths)), soft_wrap=True)
    for line, row in zip(lines, cells, strict=True):
        word = f" {line.verdict.ljust(words)}" if verdicts else ""
        to.print(
            Text.assemble(
                line.design.ljust(longest), (word, STYLES[line.verdict]), _right(row, widths)
            ),
            soft_wrap=True,
        )


def _right(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f" {cell.rjust(width)}" for cell, width in zip(cells, widths, strict=True))


def _claims(line: Line, to: Console) -> None:
    """The claims of a design: what is kept, what is broken, and how to see it."""
    labelled(line.design, claims_text(line), to, STYLES[line.verdict])
    for one in line.breaches:
        labelled("", breach_text(one), to)
    if text := strict_text(line):
        labelled("", text, to)


def claims_text(line: Line) -> str:
    """`keeps I1, I2; holes F-1, F-2 (seen: F-2 in 1 of 20 runs)`."""
    parts = [f"keeps {', '.join(line.kept)}" if line.kept else "keeps no claim"]
    if line.verdict == UNTESTED:
        parts = [f"{UNMET}: {', '.join(line.kept) or 'no claim'} kept without"]
    if line.holes:
        seen = ", ".join(f"{name} in {runs}" for name, runs in line.findings.items())
        parts.append(
            f"recorded holes {', '.join(line.holes)}"
            + (f" (seen here: {seen} of {line.runs} runs)" if seen else "")
        )
    if line.lost:
        why = f", the first: {line.crash}" if line.crash else ""
        parts.append(f"{line.lost} of {line.runs} runs did not finish{why}")
    if line.known:
        parts.append(f"known to the regression suite: {line.known}")
    return "; ".join(parts)


def breach_text(one: Breach) -> str:
    """What is broken, how often, and the shortest way to see it."""
    if one.source == "shipped":
        often = "not in these runs, but in a shipped scenario"
    else:
        often = f"in {one.runs} of {one.of} runs"
    text = f"{one.invariant} {STATUS[one.status]} {often}: {one.summary}"
    if one.shortest:
        return f"{text}; {counted(one.steps or 0, 'step')}: {one.shortest}"
    return f"{text}; {one.command}"


def strict_text(line: Line) -> str:
    """What judges found in strict mode, claimed or not."""
    found = [
        f"{one.invariant} in {one.runs}"
        + (f" ({one.strict_only} strict only)" * bool(one.strict_only))
        for one in line.strict
    ]
    return f"strict mode, of {line.runs} runs: {', '.join(found)}" if found else ""


def _explained(lines: Sequence[Line], to: Console) -> None:
    """What each number is measured on, and why some cells are empty."""
    said: dict[str, list[str]] = {}
    for column in MET + LATENCIES + COSTS:
        said.setdefault(column.said, []).append(column.head)
    for text, heads in said.items():
        labelled(heads[0].removesuffix(" p50"), text, to)
    labelled("by formula", f"~: {FORMULA_SAID}", to)
    for reason, cells in empty(lines).items():
        labelled("-", f"{reason}: {', '.join(cells)}", to)


def empty(lines: Sequence[Line]) -> dict[str, list[str]]:
    """The empty cells by their reasons."""
    found: dict[str, list[str]] = {}
    for column in COLUMNS:
        for line in lines:
            if why := column.of(line).why:
                found.setdefault(f"{column.head}: {why}", []).append(line.design)
    return found
