"""Columns that make no history are refused, with the row; what is missing is filled in."""

from typing import Any

import numpy as np
import pytest

from ddlsim.graph.history import READ, WRITE, HistoryError, make
from ddlsim.graph.judge import judge
from ddlsim.graph.verdict import NOTHING
from ddlsim.graph.versions import versions_of

GOOD: dict[str, Any] = {"tx": [0, 1], "key": [0, 0], "kind": [WRITE, READ], "version": [1, 1]}


def made(n: int = 2, **changed: Any) -> Any:
    operations = {**GOOD, **{k: v for k, v in changed.items() if k in GOOD}}
    transactions = {"begin": np.arange(n) * 2, "end": np.arange(n) * 2 + 1}
    transactions |= {k: v for k, v in changed.items() if k not in GOOD}
    return make(transactions=transactions, operations=operations)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"tx": [0, 2]}, "operation 1: its transaction is not one of 0 to 1"),
        ({"tx": [1, 0]}, "operation 1: operations are not sorted by transaction"),
        ({"key": [0, -1]}, "operation 1: a key's number is negative"),
        ({"kind": [WRITE, 9]}, "operation 1: a kind is one of 0 to 6"),
        ({"version": [1, -2]}, r"operation 1: a version is -1 \(none\), 0 \(initial\) or higher"),
        ({"version": [0, 0]}, "operation 0: version 0 is not written"),
        ({"version": [1]}, "columns of different lengths: .*'version': 1"),
        ({"status": [0, 3]}, "transaction 1: a status is 0, 1 or 2, not 3"),
        ({"end": [1, 1]}, "transaction 1: it ended at 1, before it began at 2"),
        ({"begin": [-2, 2]}, r"transaction 0: begin is -2: -1 \(not known\) or higher"),
        ({"process": [0, -7]}, r"transaction 1: process is -7: -1 \(not known\) or higher"),
    ],
)
def test_a_fault_is_told_with_its_row(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(HistoryError, match=says):
        made(**changed)


def test_two_writers_of_one_version_are_refused() -> None:
    twice = made(kind=[WRITE, WRITE])
    with pytest.raises(HistoryError, match="version 1 of key 0 is also installed by operation 1"):
        judge(twice)


def test_versions_far_beyond_the_operations_are_refused() -> None:
    with pytest.raises(HistoryError, match="operation 1: versions are numbered without gaps"):
        made(version=[1, 2_000_000_000])
    with pytest.raises(HistoryError, match="operation 0: version 700000 of key 0, but versions"):
        judge(made(key=[0, 1], version=[700_000, 600_000]))


def test_what_is_not_given_is_unknown() -> None:
    bare = make(transactions={"begin": [0, 2]}, operations=GOOD)
    assert bare.end.tolist() == [-1, -1]
    assert bare.status.tolist() == [0, 0]
    assert judge(bare, "serializable").valid is True


@pytest.mark.parametrize(
    ("model", "missing"),
    [("strict-serializable", "begin"), ("strong-snapshot-isolation", "end"),
     ("strong-session-serializable", "process")],
)  # fmt: skip
def test_an_order_of_which_nothing_is_told_is_not_called_kept(model: str, missing: str) -> None:
    """A version is read after it was overwritten, in whatever order the lines stand."""
    operations = {"tx": [0, 1, 2], "key": [0] * 3, "kind": [WRITE, WRITE, READ]}
    operations |= {"version": [1, 2, 1]}
    process = [0] * 3 if missing == "process" else [0, 1, 2]
    told = {"process": process, "begin": [0, 2, 4], "end": [1, 3, 5]}
    assert judge(make(transactions=told, operations=operations), model).valid is False
    verdict = judge(make(transactions={**told, missing: [-1] * 3}, operations=operations), model)
    assert (verdict.valid, verdict.certificate) == ("unknown", "")
    assert missing in verdict.notes[0]
    assert judge(
        make(transactions={missing: [-1] * 3}, operations=operations), "serializable"
    ).valid


@pytest.mark.parametrize("model", ["strict-serializable", "snapshot-isolation"])
def test_a_history_in_which_nothing_committed_is_unknown(model: str) -> None:
    empty: dict[str, Any] = {name: [] for name in GOOD}
    failed = {"status": [1] * (1 + max(GOOD["tx"]))}
    for transactions, operations in (({}, empty), ({"begin": [0, 1]}, empty), (failed, GOOD)):
        verdict = judge(make(transactions=transactions, operations=operations), model)
        assert (verdict.valid, verdict.notes) == ("unknown", (NOTHING,))
        assert not verdict.certificate


def test_the_next_writer_skips_who_does_not_count() -> None:
    found = make(
        transactions={"status": [0, 1, 0]},
        operations={"tx": [0, 1, 2], "key": [0] * 3, "kind": [WRITE] * 3, "version": [1, 2, 3]},
    )
    versions = versions_of(found)
    assert versions.next_writer.tolist() == [0, 2, 2, 3]
    assert versions.node_writer.tolist() == [-1, 0, -1, 2]
