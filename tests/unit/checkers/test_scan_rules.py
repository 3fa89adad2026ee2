"""Scans: what they must have read, and once."""

from typing import Any

import pytest

from ddlsim.history.events import (
    Failed,
    Invoked,
    Ok,
    ReadExecuted,
    RowRead,
    TxAborted,
    TxCommitted,
    WriteExecuted,
)
from tests.support.history import Story, ts
from tests.support.judging import anomalies

Told = tuple[Any, ...]


def row(key: Any) -> RowRead:
    return RowRead(key, None, 0, 0, None)


def scanned(partition: int, *keys: Any) -> Told:
    rows = tuple(row(key) for key in keys)
    return (ReadExecuted, "n1", "T", "T.s", 1, partition, ts(10), 1, True, rows)


def kinds(*events: Told, ended: Told = (Ok, "c", "T.s")) -> list[str]:
    story = Story()
    story.table("t")
    written = [
        (WriteExecuted, "n1", "W", f"W.{number}", 1, number, number, ts(9), 1, None)
        for number in (0, 1)
    ]
    invoked = (Invoked, "c", "T.s", "T", "n1", "scan", "t")
    for at, (kind, *fields) in enumerate((*written, invoked, *events, ended)):
        story.add(at, kind, *fields)
    known = [one.kind for one in anomalies("machinery", story)]
    return [kind for kind in known if kind in ("row-shown-twice", "partition-not-scanned")]


@pytest.mark.parametrize("keys", [(1, 2, 1), ([1, "a"], [2, "a"], [1, "a"])])
def test_a_scan_shows_a_key_once(keys: tuple[Any, ...]) -> None:
    assert kinds(scanned(0, *keys), scanned(1)) == ["row-shown-twice"]
    assert kinds(scanned(0, *keys[:2]), scanned(1)) == []


def test_a_scan_reads_every_partition() -> None:
    assert kinds(scanned(0, 1)) == ["partition-not-scanned"]
    assert kinds(scanned(0, 1), ended=(Failed, "c", "T.s", "LOCK_CONFLICT")) == []


@pytest.mark.parametrize("complete", [True, False])
def test_a_scan_that_was_tried_again_counts_where_it_was_answered(complete: bool) -> None:
    """The table of its first try was replaced by another one under its name."""
    story = Story()
    story.table("t")
    for at, (table, number) in enumerate(((1, 0), (1, 1), (2, 0), (2, 1))):
        story.add(at, WriteExecuted, "n1", "W", f"W.{at}", table, number, number, ts(9), 1, None)
    story.add(10, Invoked, "c", "s", None, "n1", "scan", "t")
    story.add(11, ReadExecuted, "n1", "s", "s", 1, 0, ts(11), 1, True, (row(1),))
    story.add(12, TxAborted, "n1", "s", "NODE_UNREACHABLE")
    for number in (0, 1) if complete else (0,):
        rows = (row(number),)
        story.add(13, ReadExecuted, "n1", "sr1", "s", 2, number, ts(13), 1, True, rows)
    story.add(14, TxCommitted, "n1", "sr1", ts(14), ())
    story.add(15, Ok, "c", "s")
    found = [one.kind for one in anomalies("machinery", story)]
    assert ("partition-not-scanned" in found) is not complete
