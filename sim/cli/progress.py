"""How far a campaign has come: a bar on a terminal, now and then a line elsewhere; on stderr."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.problems import note
from ddlsim.verify.campaign import RunRow

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

EVERY_S: Final = 10.0


class Progress:
    """Counts runs and violations as they come in; quiet for a single run.

    `interrupted` is what an interrupt makes of the runs that are done.
    """

    def __init__(self, runs: int, interrupted: str = "a part of them is no result") -> None:
        self._runs = runs
        self._interrupted = interrupted
        self.done = self.violated = self.failed = self._before = 0
        self._began = self._told = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> "Progress":
        if self._runs > 1 and sys.stderr.isatty():
            self._begin_bar()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        ran = self.done - self._before
        if self._runs > 1 and kind is None and ran:
            note(f"{ran} runs in {self._elapsed():.1f} s ({self._rate():.1f} a second)")
        if self._runs > 1 and kind and issubclass(kind, KeyboardInterrupt):
            note(f"{self.told()}; {self._interrupted}")

    def _begin_bar(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        from ddlsim.cli.words import Piped

        self._bar = Bar(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=Piped(file=sys.stderr),
            transient=True,
        )
        self._task = self._bar.add_task("0 violated", total=self._runs)
        self._bar.start()

    def watch(self, rows: Sequence[RunRow]) -> None:
        """Some more rows are there."""
        violated = sum(row.outcome is Outcome.VIOLATED for row in rows)
        self.count(len(rows), violated, sum(row.failed for row in rows))

    def count(self, runs: int, violated: int, failed: int) -> None:
        """So many more runs are done; `failed` counts those that violated too."""
        self.done += runs
        self.violated += violated
        self.failed += failed
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self.done, description=self._counts())
        elif self._runs > 1 and time.monotonic() - self._told >= EVERY_S:
            self._told = time.monotonic()
            left = (self._runs - self.done) / self._rate()
            note(f"{self.told()}, about {left:.0f} s left")

    def expect(self, runs: int) -> None:
        """There will be so many more runs than was known."""
        self._runs += runs
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=self._runs)

    def found(self, runs: int, violated: int, failed: int) -> None:
        """So many were done before: they tell nothing about how fast it goes."""
        self._before += runs
        self.count(runs, violated, failed)

    def told(self) -> str:
        """How far it is, in words."""
        return f"{self.done} of {self._runs} runs done, {self._counts()}"

    def _counts(self) -> str:
        others = self.failed - self.violated
        return f"{self.violated} violated" + (f", {others} failed otherwise" if others else "")

    def _elapsed(self) -> float:
        return max(time.monotonic() - self._began, 1e-6)

    def _rate(self) -> float:
        return max(self.done - self._before, 1) / self._elapsed()
