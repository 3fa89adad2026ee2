"""The shares and bounds of the mixed workload."""

from collections import Counter
from typing import Any

import pytest

from ddlsim.model.ops import Delete, Get, Put, Rollback, Scan
from ddlsim.model.programs import TransactionItem
from tests.support.workloads import NODES, programs, workload


def items(**fields: Any) -> list[TransactionItem]:
    made = programs("mixed", **fields)
    return [item for program in made for item in program.items if isinstance(item, TransactionItem)]


def test_each_client_runs_as_many_operations_as_asked() -> None:
    for program in programs("mixed", clients=3, operations=50, rollback=0.0):
        transactions = [item for item in program.items if isinstance(item, TransactionItem)]
        assert sum(len(item.operations) for item in transactions) == 50


def test_transactions_have_the_sizes_and_pauses_asked_for() -> None:
    made = items(
        operations=500, transaction_operations=(2, 3), implicit=0.0, rollback=0.0,
        pause_ms=(5, 6), gap_ms=1, retries=7,
    )  # fmt: skip
    assert {len(item.operations) for item in made[:-1]} == {2, 3}
    assert all(5_000 <= item.pause_us <= 6_000 for item in made)
    assert {item.gap_us for item in made} == {1_000}
    assert {item.retries for item in made} == {7}
    assert {item.node for item in made} == set(NODES)


def test_weights_decide_what_is_done() -> None:
    made = items(operations=2_000, get=0, put=3, delete=1, scan=0, select=0, rollback=0.0)
    kinds = Counter(type(operation) for item in made for operation in item.operations)
    assert set(kinds) == {Put, Delete}
    assert 2.5 < kinds[Put] / kinds[Delete] < 3.5


def test_a_select_shows_the_columns_and_a_scan_does_not() -> None:
    made = items(operations=200, get=0, put=0, delete=0, scan=1, select=1)
    scans = [each for item in made for each in item.operations if isinstance(each, Scan)]
    assert Counter(scan.metadata for scan in scans).keys() == {True, False}


def test_shares_of_transactions() -> None:
    made = items(operations=4_000, implicit=0.5, fresh=0.25, rollback=0.5)
    explicit = [item for item in made if not item.implicit]

    assert 0.4 < sum(item.implicit for item in made) / len(made) < 0.6
    assert 0.2 < sum(item.fresh for item in made) / len(made) < 0.3
    assert all(len(item.operations) == 1 for item in made if item.implicit)
    rolled_back = [item for item in explicit if isinstance(item.operations[-1], Rollback)]
    assert 0.4 < len(rolled_back) / len(explicit) < 0.6


def test_sessions_are_a_share_of_the_clients() -> None:
    made = programs("mixed", clients=200, operations=1, session=0.25)
    assert 30 < sum(program.session for program in made) < 70


def test_a_transaction_uses_as_many_tables_as_asked() -> None:
    one = items(operations=500, transaction_tables=1, transaction_operations=4, implicit=0.0)
    assert all(
        len({op.table for op in item.operations if isinstance(op, Get | Put)}) <= 1 for item in one
    )
    only_t = items(operations=50, tables=("t",))
    assert {op.table for item in only_t for op in item.operations if isinstance(op, Get)} == {"t"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"operations": 0}, "operations: must be at least 1"),
        ({"operations": 5, "keys": 0}, "keys: must be at least 1"),
        ({"operations": 5, "hot_keys": 21}, "hot_keys: must lie between 0 and 20"),
        ({"operations": 5, "zipf": -1.0}, "zipf: must lie between 0 and 5"),
        ({"operations": 5, "session": 1.5}, "session: must lie between 0 and 1"),
        ({"operations": 5, "gap_ms": (-1, 5)}, "gap_ms: must be a number"),
        ({"operations": 5, "transaction_operations": 0}, "from 1 up"),
        ({"operations": 5, "get": -1}, "get, put, delete, scan, select: must not be negative"),
        ({"operations": 5, "get": 0, "put": 0, "delete": 0, "scan": 0, "select": 0}, "all be 0"),
        ({"operations": 5, "retries": -1}, "retries: must not be negative"),
        ({"operations": 5, "clients": 0}, "clients: must be at least 1"),
    ],
)
def test_contradicting_fields_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        workload("mixed", **fields)


def test_a_longer_workload_begins_as_the_shorter_one() -> None:
    shorter = programs("mixed", clients=3, operations=400)
    longer = programs("mixed", clients=3, operations=900)
    for short, long in zip(shorter, longer, strict=True):
        whole = short.items[:-1]  # the last transaction may have been cut short
        assert long.items[: len(whole)] == whole


def test_a_share_of_transactions_only_reads() -> None:
    """What would write reads; nothing else of any transaction is another."""
    half, none = items(operations=400, read_only=0.5), items(operations=400)
    reading = [item for item in half if item.read_only]
    assert 0.4 < len(reading) / len(half) < 0.6
    for item in reading:
        assert all(isinstance(do, Get | Scan | Rollback) for do in item.operations)
    assert [i.pause_us for i in half] == [i.pause_us for i in none]
    written = [item for item in half if not item.read_only]
    assert all(item in none for item in written)
