"""Every word that a screen shows as a label or a header is in the glossary."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.picture.state import COLUMNS
from ddlsim.cli.views.run import STATUS
from ddlsim.graph.edges import NAMES
from ddlsim.model.terms import terms
from tests.support.command import ROOT, ddlsim

SCREENS = sorted((ROOT / "sim" / "cli").glob("*.py"))
PAGES = sorted([*ROOT.glob("analysis/templates/*.j2"), *ROOT.glob("sim/cli/templates/*.j2")])
KNOWN = {term.name.casefold() for term in terms()}
LABELS = {"labelled": 1, "_goals": 1, "_table": None}
"""The functions whose first arguments, or all, are labels of a screen."""


def labels(source: str) -> Iterator[str]:
    """The labels of calls, and the headers that an f-string pads: `{'mutant':{WIDTH}}`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in LABELS:
                for argument in node.args[: LABELS[name]]:
                    parts = (
                        [argument.body, argument.orelse]
                        if isinstance(argument, ast.IfExp)
                        else [argument]
                    )
                    yield from (p.value for p in parts if isinstance(p, ast.Constant))
        if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def headers(page: str) -> Iterator[str]:
    """The headers of a template's tables."""
    yield from re.findall(r"<th[^>]*>([^<{]*)</th>", page)


def unexplained(words: Iterator[str]) -> set[str]:
    """The words that the glossary does not have; units in brackets or at the end do not count."""
    plain = (re.sub(r" \((ms|%)\)$| ms$", "", word) for word in words)
    return {word for word in plain if word and word.casefold() not in KNOWN}


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.stem)
def test_the_glossary_has_the_labels_of_a_screen(path: Path) -> None:
    assert unexplained(labels(path.read_text("utf-8"))) == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_glossary_has_the_headers_of_a_page(path: Path) -> None:
    assert unexplained(headers(path.read_text("utf-8"))) == set()


def test_the_glossary_has_the_columns_of_the_state_of_a_picture() -> None:
    assert unexplained(iter(COLUMNS)) == set()


def test_the_glossary_has_the_words_of_verdicts_and_edges() -> None:
    outcomes = (outcome.word for outcome in Outcome)
    assert unexplained(iter([*outcomes, *STATUS, *NAMES.values()])) <= {"out_of_assumption"}


def test_a_label_without_a_term_is_seen() -> None:
    source = "labelled('plumbus' if x else 'kept', y, to); print(f\"{'grumbo':>5}\")"
    assert unexplained(labels(source)) == {"plumbus", "grumbo"}
    assert unexplained(headers("<th class='t'>plumbus (ms)</th>")) == {"plumbus"}


def test_terms_are_listed_once_each_with_a_sentence_and_a_source() -> None:
    assert len(KNOWN) == len(terms())
    assert all(term.sentence and term.source for term in terms())
    told = ddlsim("list", "terms")
    assert told.code == 0
    assert re.search(r"^Tu +the timestamp from which", told.out, re.MULTILINE)
