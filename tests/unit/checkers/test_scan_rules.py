"""Scans: what they must have read, and once."""

from typing import Any

import pytest

from ddlsim.history.events import Failed, Invoked, Ok, ReadExecuted, RowRead, WriteExecuted
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
