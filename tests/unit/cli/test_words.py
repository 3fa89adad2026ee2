"""Words on a terminal: its width, its colours, and texts that wrap below their own beginning."""

import io
import sys

import pytest

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.views.words import block, console, labelled, say, verdict, width


class Terminal(io.StringIO):
    """A stdout that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Terminal:
    """A terminal in place of stdout, from here to the end of the test."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return shown


@pytest.mark.parametrize(("columns", "taken"), [("70", 70), ("300", 100), ("10", 60), ("0", 80)])
def test_a_terminal_gives_its_width_within_reason(
    columns: str, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal(monkeypatch, COLUMNS=columns)
    assert width() == taken


def test_a_file_is_80_columns_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert width() == 80


def test_a_verdict_is_in_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch)
    verdict(Outcome.VIOLATED, "smoke", console())
    assert shown.getvalue() == "\x1b[1;31mVIOLATED\x1b[0m  smoke\n"


def test_no_color_means_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch, NO_COLOR="1")
    verdict(Outcome.VIOLATED, "smoke", console())
    assert "VIOLATED" in shown.getvalue()
    assert "31m" not in shown.getvalue()


def test_a_text_wraps_below_its_own_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    block("short\n    " + "word " * 20, console())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "  short"
    assert lines[1] == "      " + " ".join(["word"] * 15)
    assert lines[2] == "      " + " ".join(["word"] * 5)


def test_names_are_not_torn(capsys: pytest.CaptureFixture[str]) -> None:
    say("a" * 75 + " wait-die-abort " + "b" * 90, console())
    assert capsys.readouterr().out.splitlines() == ["a" * 75, "wait-die-abort", "b" * 90]


def test_a_label_stands_once_before_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    labelled("also met", "x" * 60 + ", " + "y" * 60, console())
    assert capsys.readouterr().out.splitlines() == [
        "also met      " + "x" * 60 + ",",
        " " * 14 + "y" * 60,
    ]
