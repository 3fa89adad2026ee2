"""Runs of a sweep in processes of their own: one that dies, hangs or eats all memory is a row."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from ddlsim.analysis.sweep.rows import (
    TIMEOUT,
    Job,
    Row,
    failed_row,
    prepare,
    run_job,
)
from ddlsim.verify.isolation import (
    CAN_FORK,
    Acts,
    Limits,
    Loss,
    isolated,
)

__all__ = ["Limits", "rows_of"]

WORTH_PREPARING: Final = 4
"""Runs of a cell in one chunk from which it pays to prepare them together."""

Run = Callable[[Job], Row]


def rows_of(jobs: Sequence[Job], limits: Limits, run: Run = run_job) -> list[Row]:
    """A row for every job, in order, whatever the runs do to their process."""
    if CAN_FORK:
        _prepare(jobs)
    return isolated(jobs, limits, Acts(run, _lost, lambda row: row["error"] or ""))


def _lost(job: Job, loss: Loss, why: str) -> Row:
    return failed_row(job, TIMEOUT if loss == "late" else "crashed", why)


_prepared: set[tuple[str, int]] = set()


def _prepare(jobs: Sequence[Job]) -> None:
    """What children would each do again is done once here, for cells with some runs in a chunk."""
    for number, count in Counter(job.cell.number for job in jobs).items():
        first = next(job for job in jobs if job.cell.number == number)
        known = (first.cell.text, number)
        if known not in _prepared and (count >= WORTH_PREPARING or not _prepared):
            _prepared.add(known)
            prepare(first)
