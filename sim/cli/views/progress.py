"""How far a command has come: a bar on a terminal, now and then a line elsewhere; on stderr."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.problems import note
from ddlsim.escape import counted
from ddlsim.verify.row import RunRow
from ddlsim.verify.suite import Case, Schedule, Trial, convicts

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

EVERY_S: Final = 10.0
UNFIT: Final = "stuck, crashed, unmet or unknown"
"""How runs ended of which is counted only that they ended neither well nor violated."""


class Meter:
    """Shows how much is done of `total`, with `counts` beside it; nothing while it is below 2.

    What is `timed` goes by seconds.
    """

    def __init__(self, total: float, *, timed: bool = False) -> None:
        self._total, self._timed = total, timed
        self._began = self._shown_s = time.monotonic()
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def counts(self) -> str:
        """What was counted so far, in words."""
        raise NotImplementedError

    def status(self) -> str:
        """How far it is, in words."""
        raise NotImplementedError

    @property
    def elapsed_s(self) -> float:
        """Since it began."""
        return max(time.monotonic() - self._began, 1e-6)

    def show(self, done: float, left: str) -> None:
        """So much is done; `left` says when it will end."""
        if self._total < 2:
            return
        if sys.stderr.isatty():
            bar = self._bar = self._bar or _begun(timed=self._timed)
            task = bar.task_ids[0]
            bar.update(task, total=self._total, completed=done, description=self.counts)
        elif time.monotonic() - self._shown_s >= EVERY_S:
            self._shown_s = time.monotonic()
            note(f"{self.status()}, {left}")


def _begun(*, timed: bool) -> "Bar":
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    from ddlsim.cli.views.words import Piped

    bar = Bar(
        BarColumn(),
        TaskProgressColumn() if timed else MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=Piped(file=sys.stderr),
        transient=True,
    )
    bar.add_task("")
    bar.start()
    return bar


class Progress(Meter):
    """Counts runs and violations as they come in; quiet for a single run.

    `interrupted` is what an interrupt makes of the runs that are done.
    """

    def __init__(self, runs: int, interrupted: str = "a part of them is no result") -> None:
        super().__init__(runs)
        self._interrupted = interrupted
        self.done = self.violated = self._before = 0
        self._others: Counter[str] = Counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        ran = self.done - self._before
        if self._total > 1 and kind is None and ran:
            rate = f"{ran / self.elapsed_s:.1f} a second"
            note(f"{counted(ran, 'run')} in {self.elapsed_s:.1f} s ({rate})")
        if self._total > 1 and kind and issubclass(kind, KeyboardInterrupt):
            note(f"{self.status()}; {self._interrupted}")

    def watch(self, row: RunRow) -> None:
        """Another row is there."""
        if row.outcome not in (Outcome.OK, Outcome.VIOLATED):
            self._others[row.outcome.word] += 1
        self.count(1, int(row.outcome is Outcome.VIOLATED))

    def count(self, runs: int, violated: int = 0, unfit: int = 0) -> None:
        """So many more runs are done; `unfit` ended as `UNFIT` says."""
        self.done += runs
        self.violated += violated
        self._others[UNFIT] += unfit
        each_s = self.elapsed_s / max(self.done - self._before, 1)
        left_s = (self._total - self.done) * each_s
        self.show(self.done, f"about {left_s:.0f} s left" if left_s >= 0 else "not done yet")

    def expect(self, runs: int) -> None:
        """There will be so many more runs than was known."""
        self._total += runs

    def found(self, runs: int, violated: int, unfit: int) -> None:
        """So many were done before: they tell nothing about how fast it goes."""
        self._before += runs
        self.count(runs, violated, unfit)

    def status(self) -> str:
        """How far it is, in words; a search may take more runs than it was expected to."""
        if self.done > self._total:
            return f"{self.done:,} runs done ({self._total:,} were expected), {self.counts}"
        return f"{self.done:,} of {self._total:,} runs done, {self.counts}"

    @property
    def counts(self) -> str:
        """Runs that violated, and how others ended that did not end well."""
        words = [outcome.word for outcome in Outcome]
        others = [(each, self._others[each]) for each in (*words, UNFIT)]
        told = [f"{number:,} {word}" for word, number in others if number]
        return ", ".join([f"{self.violated:,} violated", *told])


class SuiteProgress(Meter):
    """Counts trials and convicted mutants as they come in; by the clock where time is bounded."""

    def __init__(self, cases: Sequence[Case], seeds: Sequence[int], time_s: float | None) -> None:
        total = Schedule(cases, seeds).planned if time_s is None else time_s
        super().__init__(total, timed=time_s is not None)
        self._convicted: dict[str | None, None] = {}
        self.done = 0

    def watch(self, case: Case, trial: Trial) -> None:
        """Another trial is there."""
        self.done += 1
        if case.kind == "mutant" and convicts(case, trial):
            self._convicted[case.mutant] = None
        if self._timed:
            left_s = max(self._total - self.elapsed_s, 0)
            self.show(self.elapsed_s, f"at most {left_s:.0f} s left")
        else:
            left_s = self.elapsed_s * (self._total / self.done - 1)
            self.show(self.done, f"about {left_s:.0f} s left")

    def status(self) -> str:
        """What was done, in words."""
        return f"{self.counts}, in {self.elapsed_s:.1f} s"

    @property
    def counts(self) -> str:
        """Trials, and mutants that were convicted."""
        mutants = counted(len(self._convicted), "mutant")
        return f"{counted(self.done, 'trial')}, {mutants} convicted"
