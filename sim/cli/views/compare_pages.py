"""Designs side by side as Markdown, and as one HTML page that loads nothing."""

from typing import Final

from ddlsim import pages
from ddlsim.analysis.compare.columns import BESIDE, COLUMNS, COSTS, FORMED, LATENCIES, MET, Column
from ddlsim.analysis.compare.records import WORDS, Line
from ddlsim.cli.documents.shapes_compare import Compare
from ddlsim.cli.views.compare import (
    FORMULA_SAID,
    breach_text,
    claims_text,
    empty,
    heading,
    strict_text,
)

TEMPLATE: Final = "compare.html.j2"
TITLE: Final = "Designs side by side"
SPECIAL: Final = "\\`*_{}[]<>()#+!|~"
"""Characters that Markdown would take for its own."""


def markdown(found: Compare) -> str:
    """A table for each design's numbers, then its claims."""
    lines = found["designs"]
    heads = ["design", "verdict", *(f"{one.head} {one.unit}".strip() for one in COLUMNS)]
    rows = [[line.design, line.verdict, *(one.shown(line) for one in COLUMNS)] for line in lines]
    made = [
        f"# {TITLE}\n",
        f"{plain(heading(found))}.\n",
        f"```sh\n{found['command']}\n```\n",
        _row(heads),
        _row(["---", "---", *("--:" for _ in COLUMNS)]),
        *(_row([plain(cell) for cell in row]) for row in rows),
        "\n## By formula\n",
        f"{plain(FORMULA_SAID)}.\n",
        _row(["design", *(head for one in FORMED for head in _two_heads(one))]),
        _row(["---", *("--:" for _ in FORMED for _ in range(2))]),
        *(_row([plain(line.design), *_formed(line)]) for line in lines),
        "\n## Claims\n",
        *(_claims(line) for line in lines),
        "\n## What the words mean\n",
        *(f"* {word}: {plain(said)}" for word, said in WORDS.items()),
        *(f"* {plain(one.head)}: {plain(one.said)}" for one in COLUMNS),
        *(f"* empty, {plain(why)}: {plain(', '.join(of))}" for why, of in empty(lines).items()),
        *(f"* left out: {plain(one['design'])}: {plain(one['why'])}" for one in found["left_out"]),
    ]
    return "\n".join(made) + "\n"


def _two_heads(column: Column) -> tuple[str, str]:
    return f"{column.head} {column.unit}".strip(), "by formula"


def _formed(line: Line) -> list[str]:
    """Each number of which some design has a closed form, and that of this design."""
    return [
        plain(one) for column in FORMED for one in (column.shown(line), column.by_formula(line))
    ]


def plain(text: str) -> str:
    """A text as Markdown shows it: its own characters are escaped, lines joined."""
    escaped = "".join(f"\\{sign}" if sign in SPECIAL else sign for sign in text)
    return " ".join(escaped.split())


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _claims(line: Line) -> str:
    told = [claims_text(line), *(breach_text(one) for one in line.breaches), strict_text(line)]
    inner = "".join(f"\n  * {plain(one)}" for one in told if one)
    return f"* **{plain(line.design)}**, {line.verdict}: {plain(line.summary)}{inner}"


def html(found: Compare) -> str:
    """The page as text."""
    environment = pages.environment("ddlsim.cli")
    lines = found["designs"]
    return environment.get_template(TEMPLATE).render(
        title=TITLE,
        heading=heading(found),
        found=found,
        parts=(MET + LATENCIES, COSTS + BESIDE),
        formed=FORMED,
        formula_said=FORMULA_SAID,
        lines=lines,
        empty=empty(lines),
        claims=claims_text,
        breach=breach_text,
        strict=strict_text,
        words=WORDS,
    )
