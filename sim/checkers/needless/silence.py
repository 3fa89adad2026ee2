"""Requests that their clients gave up too early; part of I11.

A client waits for an answer as long as an operation may take, and for a commit longer. Sooner it
gives up only where the connection to the node breaks: the node is down at some instant between.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Operation
from ddlsim.history.events import Invoked, Unknown
from ddlsim.history.world_events import NodeCrashed, NodeRestarted
from ddlsim.units import US_PER_MS, as_ms


def given_up_early(case: Case) -> Iterator[Anomaly]:
    """Each request without an answer that was waited for less than an operation may take."""
    limit_us = min(case.settings("operation_timeout_ms"), default=0) * US_PER_MS
    early = [
        (asked, ended)
        for asked, ended in map(_unanswered, case.operations.values())
        if asked is not None and ended is not None and ended.at_us - asked.at_us < limit_us
    ]
    if not early:
        return
    changes = _changes(case)
    for asked, ended in early:
        if not _was_down(changes.get(asked.node, []), asked.at_us, ended.at_us):
            took_us = ended.at_us - asked.at_us
            yield Anomaly(
                "given-up-early",
                f"{asked.client} gave up {asked.op} ({asked.kind}) on {asked.node} after "
                f"{as_ms(took_us)} ms; the node was up, and an operation may take "
                f"{as_ms(limit_us)} ms",
                (asked, ended),
                clauses=("110.req.0",),
            )


def _unanswered(operation: Operation) -> tuple[Invoked | None, Unknown | None]:
    """A request and its end, where that is none by an answer."""
    ended = operation.ended
    return operation.invoked, ended if isinstance(ended, Unknown) else None


def _changes(case: Case) -> dict[str, list[tuple[int, bool]]]:
    """By node, when it went down (True) and when it came back."""
    found: dict[str, list[tuple[int, bool]]] = {}
    for _, crashed in case.of(NodeCrashed):
        found.setdefault(crashed.node, []).append((crashed.at_us, True))
    for _, restarted in case.of(NodeRestarted):
        found.setdefault(restarted.node, []).append((restarted.at_us, False))
    return {node: sorted(changes) for node, changes in found.items()}


def _was_down(changes: list[tuple[int, bool]], from_us: int, until_us: int) -> bool:
    """Whether a node was down at some instant of a span."""
    first = bisect_left(changes, (from_us, False))
    if first and changes[first - 1][1]:
        return True
    last = bisect_right(changes, (until_us, True))
    return first < last
