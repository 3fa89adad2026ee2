"""The total of several runs of one scenario, compared with what the scenario expects."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from ddlsim.checkers.judge import FINDING, Violation
from ddlsim.checkers.outcome import STATUSES, Outcome, worst
from ddlsim.checkers.signature import signature_of
from ddlsim.model.records import Record
from ddlsim.verify.row import RunRow


class Sum(Record, frozen=True):
    """The outcome of several runs; `runs` are their rows, each vacuous only if all are.

    `reached` is, for each probe that the scenario asks for, the number of runs that reached it,
    crashed ones left out. `unexpected` is what is not as the scenario expects, in sentences;
    `missing` are those of its lines that more runs might still put right.
    """

    outcome: Outcome
    runs: tuple[RunRow, ...]
    reached: dict[str, int]
    unexpected: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @property
    def as_expected(self) -> bool:
        """Whether everything is as the scenario expects."""
        return not self.unexpected

    @property
    def never_reached(self) -> tuple[str, ...]:
        """The probes that no run reached."""
        return tuple(probe for probe, runs in self.reached.items() if not runs)

    @property
    def first_failed(self) -> RunRow | None:
        """The failed run with the smallest seed; None if none failed."""
        return next((row for row in self.runs if row.failed), None)


def sum_of(rows: Sequence[RunRow], *, reaches: Sequence[str], expect: Any) -> Sum:
    """The total of the runs; a probe counts as reached when any of them reached it."""
    finished = [row for row in rows if row.outcome is not Outcome.CRASHED]
    reached = {
        probe: sum(row.reached.get(probe, 0) > 0 for row in finished)
        for probe in (reaches if finished else ())
    }
    calm = Outcome.OK if all(reached.values()) else Outcome.VACUOUS
    runs = tuple(_with(row, calm) for row in rows)
    outcome = worst(row.outcome for row in runs)
    facts = tuple(_facts(outcome, runs, expect))
    missing = tuple(_missing(outcome, runs, expect))
    return Sum(outcome, runs, reached, (*facts, *missing), missing)


def _with(row: RunRow, calm: Outcome) -> RunRow:
    """A run without a breach, with the outcome that all such runs have together."""
    if row.outcome not in (Outcome.OK, Outcome.VACUOUS) or row.outcome is calm:
        return row
    return structs.replace(row, outcome=calm)


def _facts(outcome: Outcome, runs: Iterable[RunRow], expect: Any) -> Iterator[str]:
    """What differs however many runs follow: a missed step, an outcome worse than expected."""
    for row in runs:
        yield from (f"seed {row.seed}: {missed}" for missed in row.missed)
    wanted = _wanted(expect)
    said = outcome is Outcome.UNMET and wanted is Outcome.OK  # by the lines of missed steps
    if not said and outcome is not wanted and not _may_come(outcome, wanted):
        yield f"expected to be {wanted.word}, but it is {outcome.word}"


def _missing(outcome: Outcome, runs: Iterable[RunRow], expect: Any) -> Iterator[str]:
    """What more runs might still show: a worse outcome, a breach, a finding, a signature."""
    wanted = _wanted(expect)
    if outcome is not wanted and _may_come(outcome, wanted):
        yield f"expected to be {wanted.word}, but it is {outcome.word}"
    if isinstance(expect, str):
        return
    violations = [one for row in runs for one in row.violations]
    for broken, status in STATUSES.items():
        found = [one for one in violations if one.status == status]
        judges = {name for one in found for name in (one.invariant, one.checker)}
        for name in expect.get(broken, ()):
            if name not in judges:
                yield f"expected {name} to be {broken}, but it is not"
    if "finding" in expect and not any(_explained(one, expect) for one in violations):
        yield f"expected to show {expect['finding']}, but nothing is explained by it"
    if "signature" in expect and not any(_is_signed(one, expect) for one in violations):
        yield f"expected the signature {expect['signature']}, but nothing shows it"


def _explained(violation: Violation, expect: Mapping[str, Any]) -> bool:
    """Whether the expected finding explains a violation."""
    return violation.status == f"{FINDING}{expect['finding']}"


def _is_signed(violation: Violation, expect: Mapping[str, Any]) -> bool:
    """Whether a violation has the expected signature and the status that goes with it."""
    statuses = [status for broken, status in STATUSES.items() if broken in expect]
    fits = violation.status in statuses if statuses else _explained(violation, expect)
    return fits and signature_of(violation).text == expect["signature"]


def _wanted(expect: Any) -> Outcome:
    named = (broken for broken in STATUSES if broken in expect)
    word = expect if isinstance(expect, str) else next(named, "ok")
    return next(outcome for outcome in Outcome if outcome.word == word)


def _may_come(outcome: Outcome, wanted: Outcome) -> bool:
    """Whether more runs might turn one outcome into the other, by a breach or a probe."""
    if outcome is Outcome.VACUOUS:
        return True
    return outcome is Outcome.OK and wanted is not Outcome.VACUOUS
