"""How far a campaign is: lines where there is no terminal, a bar where there is one; on stderr."""

import io
import sys
from typing import Any

import pytest
from msgspec import structs

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.views import progress
from ddlsim.cli.views.progress import UNFIT, Progress
from tests.support.results import a_crash, a_row, a_violation


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_single_run_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(1) as shown:
        shown.watch(a_row())
    assert capsys.readouterr() == ("", "")


def test_many_runs_end_with_their_speed(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(2) as shown:
        for row in (a_row(0), a_row(1)):
            shown.watch(row)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ddlsim: 2 runs in ")
    assert err.endswith(" a second)\n")


def test_now_and_then_a_line_tells_violations_and_what_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    with Progress(4) as shown:
        for row in (a_row(0), a_row(1, a_violation()), a_crash(2)):
            shown.watch(row)
    told = capsys.readouterr().err.splitlines()[2]
    assert told.startswith("ddlsim: 3 of 4 runs done, 1 violated, 1 crashed, about ")
    assert told.endswith(" s left")


def test_more_runs_than_expected_leave_no_negative_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    with Progress(2) as shown:
        shown.count(3)
    told = capsys.readouterr().err.splitlines()[0]
    assert told == "ddlsim: 3 runs done (2 were expected), 0 violated, not done yet"


def test_each_end_of_a_run_is_told_by_its_own_word() -> None:
    """A run that was not judged to its end, or reached nothing, has not failed."""
    shown = Progress(2_000)
    ends = (Outcome.VACUOUS, Outcome.UNKNOWN, Outcome.VACUOUS, Outcome.OK, Outcome.STUCK)
    for seed, outcome in enumerate(ends):
        shown.watch(structs.replace(a_row(seed), outcome=outcome))
    assert shown.counts == "0 violated, 2 vacuous, 1 unknown, 1 stuck"
    shown.found(1_200, 1_100, 2)
    assert shown.counts.endswith("1,100 violated, 2 vacuous, 1 unknown, 1 stuck, 2 " + UNFIT)
    assert shown.status().startswith("1,205 of 2,000 runs done, 1,100 violated, ")


def test_lines_do_not_come_all_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(200) as shown:
        for seed in range(200):
            shown.watch(a_row(seed))
    assert capsys.readouterr().err.count("\n") == 1


def test_a_terminal_has_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(3) as shown:
        for row in (a_row(0, a_violation()), a_row(1), a_row(2)):
            shown.watch(row)
    written: Any = terminal.getvalue()
    assert "3/3" in written
    assert "1 violated" in written
    assert written.endswith(" a second)\n")


def test_an_interrupt_tells_how_far_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        with Progress(9) as shown:
            shown.watch(a_row(0))
            shown.watch(a_row(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    told = capsys.readouterr().err
    assert told == "ddlsim: 2 of 9 runs done, 0 violated; a part of them is no result\n"
