"""How far the regression suite has come, on stderr: a bar on a terminal, else a line at times."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from ddlsim.cli.problems import note
from ddlsim.cli.progress import EVERY_S
from ddlsim.cli.words import counted
from ddlsim.verify.suite import (
    Case,
    Schedule,
    Trial,
    convicts,
)

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class SuiteProgress:
    """Counts trials and convicted mutants as they come in; by the clock where time is bounded."""

    def __init__(self, cases: Sequence[Case], seeds: Sequence[int], time_s: float | None) -> None:
        self._total = float(Schedule(cases, seeds).planned) if time_s is None else time_s
        self._timed = time_s is not None
        self._began = self._told = time.monotonic()
        self._convicted: dict[str | None, None] = {}
        self.done = 0
        self._bar: Bar | None = None

    def __enter__(self) -> "SuiteProgress":
        if sys.stderr.isatty():
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            from ddlsim.cli.words import Piped

            self._bar = Bar(
                BarColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                console=Piped(file=sys.stderr),
                transient=True,
            )
            self._bar.add_task("", total=self._total)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def watch(self, case: Case, trial: Trial) -> None:
        """Another trial is there."""
        self.done += 1
        if case.kind == "mutant" and convicts(case, trial):
            self._convicted[case.mutant] = None
        if self._bar is not None:
            at = time.monotonic() - self._began if self._timed else self.done
            self._bar.update(self._bar.task_ids[0], completed=at, description=self._counts())
        elif time.monotonic() - self._told >= EVERY_S:
            self._told = time.monotonic()
            note(f"{self.told()}, {self._left()}")

    def told(self) -> str:
        """What was done, in words."""
        return f"{self._counts()}, in {time.monotonic() - self._began:.1f} s"

    def _left(self) -> str:
        """How much there is to come, by what there was."""
        took = max(time.monotonic() - self._began, 1e-6)
        left = self._total - took if self._timed else took * (self._total / self.done - 1)
        return f"at most {max(left, 0):.0f} s left" if self._timed else f"about {left:.0f} s left"

    def _counts(self) -> str:
        mutants = counted(len(self._convicted), "mutant")
        return f"{counted(self.done, 'trial')}, {mutants} convicted"
