"""Histories with a violation, and the space-time pictures of them."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ddlsim.analysis.sweep import totals
from ddlsim.checkers.argument import Argument, argue
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import Violation, judge
from ddlsim.cli.options import Options
from ddlsim.cli.picture import page as picture
from ddlsim.cli.picture import space as picture_space
from ddlsim.cli.picture.layout import Lane
from ddlsim.cli.picture.space import Space
from ddlsim.cli.repeat import of_header
from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.history.world_events import ClockSet
from ddlsim.kernel.clock import Piece
from ddlsim.plan.plan import plan
from ddlsim.scenario import findings
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import override
from ddlsim.verify.row import row_of

STORIES = ("findings/F-1", "findings/F-8", "negative/commits_beyond_lease", "strategies/B3-T1")
SKEWED = "negative/no_completeness_wait"
NO_CHANGES: Final[Mapping[str, Any]] = MappingProxyType({})


class Drawn(NamedTuple):
    """A traced history with its first violation, and the picture of it."""

    case: Case
    violation: Violation
    argument: Argument
    space: Space


def history_of(name: str, *, trace: bool, changes: Mapping[str, Any] = NO_CHANGES) -> History:
    return run(plan(override(load(name), changes), 0, trace=trace))


def drawn_of(name: str, changes: Mapping[str, Any] = NO_CHANGES, which: int = 0) -> Drawn:
    """The run of a scenario with seed 0, drawn for one of its violations, by its place."""
    history = history_of(name, trace=True, changes=changes)
    case = Case(history)
    violation = judge(history).violations[which]
    argument = argue(case, violation)
    return Drawn(case, violation, argument, picture_space.space(case, violation, argument))


def write_picture(history: History, path: Path, command: str | None = None) -> None:
    """Judge a history and write the page of its gravest violation.

    `command` repeats the run; without it, the one that the history's header tells.
    """
    row = row_of(history, strict=False, all_claims=False, known=findings.known())
    case = Case(history)
    argued = [
        picture.ArguedViolation(one.example, argue(case, one.example))
        for one in sorted(totals.grouped([row]), key=picture.gravest_first)
    ]
    options = Options(strict=False, all_claims=False, load=(), allow_outside=False)
    again = of_header(history.header, options) if command is None else command
    path.write_text(picture.html(case, picture.title_of(row), argued, again), "utf-8")


def nodes_of(drawn: Drawn) -> list[Lane]:
    return [lane for lane in drawn.space.layout.lanes if lane.is_node]


def pieces(case: Case, node: str) -> list[Piece]:
    """The clock as the kernel has it."""
    return [
        Piece(event.at_us, event.offset_us, event.drift_ppm)
        for _, event in case.of(ClockSet)
        if event.node == node
    ]
