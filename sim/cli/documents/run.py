"""What a `run` has to tell, and the same as JSON and as tests of JUnit."""

from collections.abc import Iterable, Mapping, Sequence
from math import expm1, log1p
from typing import Any, Final, NamedTuple

from ddlsim.analysis.sweep.totals import ViolationGroup
from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.documents import shapes
from ddlsim.cli.documents.documents import part
from ddlsim.cli.documents.junit import FAILURES, TestCase
from ddlsim.history.figures import Figures
from ddlsim.history.history import FORMAT
from ddlsim.model.probes import never_reached
from ddlsim.verify.expectation import Sum
from ddlsim.verify.row import RunRow

LEVEL: Final = 0.95
"""The confidence of bounds."""
CLEAN: Final = (Outcome.OK, Outcome.VACUOUS)
"""The outcomes of runs in which nothing claimed is broken."""


class Report(NamedTuple):
    """The result of a run: its sum, the figures of all seeds together, and what was found once.

    `command` repeats the first failed run, or the first one. `kept` are the files of `--out`.
    `drawn` tells what the knobs of a swarm came to in the run that `command` repeats.
    """

    scenario: str
    title: str
    strategy: str
    mutant: str | None
    settings: dict[str, dict[str, int]]
    expect: Any
    seeds: Sequence[int]
    sum: Sum
    figures: Figures | None
    found: list[ViolationGroup]
    command: str
    kept: tuple[str, ...] = ()
    drawn: Mapping[str, Any] = {}

    @property
    def never_reached(self) -> tuple[str, ...]:
        """Of several runs: the known probes that none of them has reached."""
        if len(self.sum.runs) < 2:
            return ()
        met = {probe for row in self.sum.runs for probe, times in row.reached.items() if times}
        return never_reached(met)

    @property
    def is_one_run(self) -> bool:
        """Whether several seeds have made the very same run: nothing in it is drawn."""
        prints = {row.fingerprint for row in self.sum.runs}
        return len(self.sum.runs) > 1 and len(prints) == 1 and None not in prints

    @property
    def violated_below(self) -> float | None:
        """With `LEVEL` confidence less than this share of the runs that seeds draw is violated,
        stuck or crashed, since none of these was: 1 - (1 - level)^(1/n) (Clopper-Pearson), close
        to 3/n. None where one was or is not judged, and where there are no several runs.
        """
        rows = self.sum.runs
        if len(rows) < 2 or self.is_one_run or any(row.outcome not in CLEAN for row in rows):
            return None
        return -expm1(log1p(-LEVEL) / len(rows))

    def document(self) -> shapes.Run:
        """The document of `--output json`."""
        several = {"never_reached": self.never_reached} if len(self.sum.runs) > 1 else {}
        below = {} if self.violated_below is None else {"violated_below": self.violated_below}
        drawn = {"swarm": dict(self.drawn)} if self.drawn else {}
        return part(
            self,
            shapes.Run,
            format=FORMAT,
            outcome=self.sum.outcome,
            expected=self.expect,
            as_expected=self.sum.as_expected,
            unexpected=self.sum.unexpected,
            runs=[part(row, shapes.RunOfSeed) for row in self.sum.runs],
            **drawn,
            **several,
            **below,
        )


def case_of(row: RunRow, name: str) -> TestCase:
    """A run as a test: failed where something claimed is broken, in error where it cannot tell."""
    if row.outcome is Outcome.OK and not row.missed:
        return TestCase(name)
    broken = [each for each in row.violations if each.status == "violation"]
    lines = [f"{each.invariant} {each.checker}: {each.summary}" for each in broken]
    lines += [*row.missed, *row.stuck, *([row.crash] if row.crash is not None else [])]
    wrong = "failure" if row.outcome in FAILURES or row.missed else "error"
    message = lines[0] if lines else row.outcome.word
    return TestCase(name, wrong, row.outcome.word, message, "\n".join(lines))


def case_of_expectation(unexpected: Iterable[str]) -> TestCase:
    """With `--expect`: the one test that counts, whether all ended as the scenario says."""
    found = list(unexpected)
    if not found:
        return TestCase("as expected")
    return TestCase("as expected", "failure", "unexpected", found[0], "\n".join(found))
