"""I6: operations that commit run under at most two adjacent versions of a table at a time.

(strategies.md, 0.3 and C5)
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from ddlsim.checkers.base import CHECKERS, WITNESS, Anomaly, Severity
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.history.events import ReadExecuted, WriteExecuted
from ddlsim.units import show


class TwoVersions:
    """Once a version is used, the one before the last may not be: of a table, by what commits.

    A transaction uses a version from its first operation under it up to its commit, in the order of
    timestamps; a read-only one at its read_ts alone. No use of version v may reach beyond the
    beginning of a use of version v + 2 or a later one, whether or not the two overlap: a version
    that is left behind by two is not used again. It is what an index that is built in states rests
    on: any two adjacent states go together. No other checker sees that a process has stayed behind
    further while no row and no entry has come to harm. No design of the Ignite plane claims it.
    """

    name = "two_versions"
    invariant = "I6"
    severity: Severity = "quality"
    summary = "what commits runs under at most two adjacent versions of a table at a time"
    voices = WITNESS

    def check(self, case: Case) -> Iterator[Anomaly]:
        """One anomaly for each transaction and table, with the newest version that was in use."""
        uses: dict[int, list[Span]] = {}
        for tx in case.committed:
            for span in _spans(tx):
                uses.setdefault(span.event.object_id, []).append(span)
        for object_id, spans in uses.items():
            yield from _of_table(case, object_id, spans)


class Span(NamedTuple):
    """A version of a table in use by a transaction: from `start` to `end`, timestamps."""

    start: int
    version: int
    end: int
    tx: Transaction
    event: ReadExecuted | WriteExecuted


def _spans(tx: Transaction) -> Iterator[Span]:
    """Each version that a transaction used, from its first operation under it."""
    first: dict[tuple[int, int], ReadExecuted | WriteExecuted] = {}
    for event in tx.accesses:
        key = (event.object_id, event.version)
        if key not in first or event.op_ts < first[key].op_ts:
            first[key] = event
    for (_, version), event in first.items():
        yield Span(event.op_ts, version, tx.stamp, tx, event)


def _of_table(case: Case, object_id: int, spans: list[Span]) -> Iterator[Anomaly]:
    begun = sorted(spans, key=lambda span: (span.start, span.version, span.tx.name))
    starts = [span.start for span in begun]
    newest = list(accumulate(begun, _newer))
    reported: dict[str, None] = {}
    for span in spans:
        place = bisect_left(starts, span.end)
        if not place or span.tx.name in reported:
            continue
        other = newest[place - 1]
        if other.version >= span.version + 2:
            reported[span.tx.name] = None
            yield _anomaly(case, object_id, span, other)


def _newer(one: Span, other: Span) -> Span:
    return other if other.version > one.version else one


def _anomaly(case: Case, object_id: int, span: Span, other: Span) -> Anomaly:
    logged = [
        update
        for step in case.schemas.steps(object_id, span.version, other.version)
        for update in case.schemas.logged(step)
    ]
    return Anomaly(
        "outside-window",
        f"{span.tx.name} ran under {case.schemas.describe(object_id, span.version)} on node "
        f"{span.event.node} up to {show(span.end)}, and from {show(other.start)} on "
        f"{other.tx.name} had run under version {other.version} on node {other.event.node}",
        (span.event, *logged, other.event),
    )


CHECKERS.add("two_versions", TwoVersions())
