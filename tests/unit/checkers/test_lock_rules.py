"""Strict two-phase locking at a primary: which operations may meet under one lease."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.history.events import (
    Invoked,
    ReadExecuted,
    RowRead,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    WriteExecuted,
)
from ddlsim.history.world_events import LeaseBegan, NodeCrashed, TxRecovered
from tests.support.history import Story, ts
from tests.support.judging import anomalies

Told = tuple[Any, ...]
LEASE = (LeaseBegan, "n1", "1/0", "n1", ts(0), ts(1000))


def write(tx: str, at: int, key: int = 1, node: str = "n1", partition: int = 0) -> list[Told]:
    op = f"{tx}.{at}"
    invoked = (Invoked, tx, op, tx, node, "put", "t", key)
    return [invoked, (WriteExecuted, node, tx, op, 1, partition, key, ts(at), 1, None)]


def read(tx: str, at: int, kind: str, *keys: int) -> list[Told]:
    op = f"{tx}.{at}"
    rows = tuple(RowRead(key, None, 0, 0, None) for key in keys)
    invoked = (Invoked, tx, op, tx, "n1", kind, "t", keys[0] if keys else None)
    return [invoked, (ReadExecuted, "n1", tx, op, 1, 0, ts(at), 1, kind == "scan", rows)]


def kinds(*events: Told, lease: Told = LEASE, **rules: str) -> list[str]:
    story = Story()
    story.design = replace(story.design, rules=rules)
    story.table("t")
    for at, (kind, *fields) in enumerate((lease, *events)):
        story.add(at, kind, *fields)
    known = [one.kind for one in anomalies("machinery", story)]
    return [kind for kind in known if kind == "conflicting-operations"]


CONFLICT = ["conflicting-operations"]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (write("T1", 10), write("T2", 20), CONFLICT),
        (write("T1", 10), write("T1", 20), []),
        (write("T1", 10), write("T2", 20, key=2), []),
        (write("T1", 10), write("T2", 20, node="n2"), []),
        (write("T1", 10), write("T2", 20, partition=1), []),
        (write("T1", 10), read("T2", 20, "find"), CONFLICT),
        (read("T1", 10, "find", 2), write("T2", 20), CONFLICT),
        (read("T1", 10, "find", 2), read("T2", 20, "get", 2), []),
        (write("T1", 10), read("T2", 20, "get", 1), CONFLICT),
        (read("T1", 10, "get", 1), write("T2", 20), CONFLICT),
        (read("T1", 10, "get", 1), read("T2", 20, "get", 1), []),
        (read("T1", 10, "scan"), write("T2", 20), CONFLICT),
        (write("T1", 10), read("T2", 20, "scan"), CONFLICT),
        (read("T1", 10, "scan"), read("T2", 20, "get", 1), []),
        (read("T1", 10, "put", 1), write("T2", 20), []),  # of a value in a unique index
    ],
)
def test_operations_of_open_transactions_do_not_conflict(
    first: list[Told], second: list[Told], found: list[str]
) -> None:
    assert kinds(*first, *second) == found


@pytest.mark.parametrize(
    "end",
    [
        (TxCommitted, "n1", "T1", ts(15), ()),
        (TxAborted, "n1", "T1", "ROLLED_BACK"),
        (TxRecovered, "n1", "T1", "aborted"),
    ],
)
def test_the_end_of_a_transaction_releases_its_locks(end: Told) -> None:
    first, second = write("T1", 10), write("T2", 20)
    assert kinds(*first, end, *second) == []
    assert kinds(*first, *second, end) == CONFLICT


def test_a_commit_partition_that_judges_the_schema_may_have_aborted() -> None:
    first, second = write("T1", 10), write("T2", 20)
    judged = (SchemaResolved, "n1", "T1", None, "commit", None, 1, ts(15), 1, 0)
    assert kinds(*first, judged, *second) == CONFLICT
    assert kinds(*first, judged, *second, validate_at_finish="schema_at_finish") == []
    assert kinds(*first, *second, judged, validate_at_finish="schema_at_finish") == CONFLICT


def test_the_end_of_a_lease_and_a_crash_release_all_locks() -> None:
    first, second = write("T1", 10), write("T2", 20)
    later = (LeaseBegan, "n1", "1/0", "n1", ts(15), ts(2000))
    prolonged = (LeaseBegan, "n1", "1/0", "n1", ts(0), ts(2000))
    assert kinds(*first, later, *second) == []
    assert kinds(*first, prolonged, *second) == CONFLICT
    assert kinds(*first, (NodeCrashed, "n1"), *second) == []
    assert kinds(*first, *second, lease=(LeaseBegan, "n1", "1/0", "n2", ts(0), ts(1000))) == []


def test_a_read_only_transaction_has_no_locks() -> None:
    began = (TxBegan, "T2", "n1", ts(12), False, ts(12))
    assert kinds(*write("T1", 10), began, *read("T2", 20, "get", 1)) == []
