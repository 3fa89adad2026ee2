"""The shares and bounds of the mixed workload."""

import math
from collections import Counter
from typing import Any

import pytest
from msgspec import structs

from ddlsim.model.ops import Delete, Get, Insert, Operation, Put, Replace, Rollback, Scan, Update
from ddlsim.model.programs import TransactionItem
from ddlsim.units import Micros
from ddlsim.workload.assumed import NEW_COLUMNS
from tests.support.workloads import NODES, TABLES, programs, workload, world


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


@pytest.mark.slow
def test_sessions_are_a_share_of_the_clients() -> None:
    made = programs("mixed", clients=200, operations=1, session=0.25)
    assert 30 < sum(program.session for program in made) < 70


def test_partition_aware_clients_are_a_share_and_draw_the_same_work() -> None:
    plain = programs("mixed", clients=200, operations=1)
    made = programs("mixed", clients=200, operations=1, partition_aware=0.25)
    assert 30 < sum(program.partition_aware for program in made) < 70
    assert [program.items for program in made] == [program.items for program in plain]


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
        ({"operations": 5, "pause_ms": (0, math.inf)}, "pause_ms: .* to 10000000000"),
        ({"operations": 5, "gap_ms": 1e300}, "gap_ms: .* to 10000000000"),
        ({"operations": 5, "transaction_operations": 0}, "from 1 to"),
        ({"operations": 5, "transaction_operations": math.inf}, "from 1 to"),
        ({"operations": 5, "get": -1}, "replace, update, find: must not be negative"),
        ({"operations": 5, "long": 2.0}, "long: must lie between 0 and 1"),
        ({"operations": 5, "as_of_ms": (5, -5)}, "as_of_ms: must be a number"),
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


ONLY = dict.fromkeys(("get", "put", "delete", "scan", "select"), 0)


def operations(**fields: Any) -> list[Operation]:
    return [do for item in items(operations=400, rollback=0.0, **fields) for do in item.operations]


def test_conditional_writes_have_weights() -> None:
    kinds = {"insert": 1, "strict": 1, "replace": 1, "update": 1}
    found = operations(**ONLY | kinds)
    assert {type(do) for do in found} == {Insert, Replace, Update}
    assert {do.strict for do in found if isinstance(do, Insert)} == {True, False}


def test_a_share_of_writes_names_columns_of_the_start_and_new_ones() -> None:
    named = [do.values for do in operations(**ONLY | {"put": 1}, by_name=0.5)]
    given = [values for values in named if values is not None]
    assert 0.4 < len(given) / len(named) < 0.6
    assert {name for values in given for name in values} == {"v", "w", *NEW_COLUMNS}
    assert any(value is None for values in given for value in values.values())


def test_a_share_of_the_gets_names_columns() -> None:
    gets = [do for do in operations(**ONLY | {"get": 1}, named=0.5) if isinstance(do, Get)]
    assert 0.4 < sum(bool(do.columns) for do in gets) / len(gets) < 0.6


def test_misses_use_keys_that_no_other_operation_uses() -> None:
    keys = [do.key for do in operations(**ONLY | {"get": 1}, tables=("t",), misses=0.25, keys=7)]
    missed = [key for key in keys if key not in range(7)]
    assert 0.2 < len(missed) / len(keys) < 0.3


def test_a_share_of_operations_goes_through_a_view_of_its_table() -> None:
    """Not through one that reads another table, or several."""
    views = "CREATE VIEW tv AS SELECT * FROM t; CREATE VIEW uv AS SELECT * FROM u;"
    both = "CREATE VIEW both AS SELECT * FROM t JOIN u ON t.id = u.b"
    there = world(f"{TABLES}{views}{both}")
    names = Counter(
        do.table
        for program in programs("mixed", there=there, operations=400, views=0.5, tables=("t",))
        for item in program.items
        if isinstance(item, TransactionItem)
        for do in item.operations
        if not isinstance(do, Rollback)
    )
    assert names.keys() == {"t", "tv"}
    assert 0.4 < names["tv"] / 400 < 0.6


def test_a_bad_operation_of_a_read_only_transaction_writes() -> None:
    made = items(operations=400, read_only=1.0, bad=0.5, rollback=0.0)
    kinds = Counter(isinstance(do, Get | Scan) for item in made for do in item.operations)
    assert 0.1 < kinds[False] / 400 < 0.4


def test_bad_rows_fit_no_column() -> None:
    found = operations(**ONLY | {"put": 1}, bad=1.0)
    assert {type(do) for do in found} == {Put, Insert, Update}
    values = [pair for do in found for pair in (getattr(do, "values", None) or {}).items()]
    assert {"never", "v", "w", "id", "a"} <= {name for name, _ in values}
    assert {type(value) for _, value in values} >= {str, type(None)}


def test_long_transactions_have_all_tables_and_their_own_gap() -> None:
    made = items(operations=2_000, implicit=0.0, rollback=0.0, long=0.2, long_operations=6)
    long = [item for item in made if len(item.operations) == 6]
    assert 0.1 < len(long) / len(made) < 0.3
    assert all(50_000 <= item.gap_us <= 200_000 for item in long)
    tables = {do.table for do in long[0].operations if isinstance(do, Get | Put | Delete | Scan)}
    assert tables == {"t", "u"}


def test_shares_of_explicit_transactions_are_pipelined_or_abandoned() -> None:
    made = items(operations=2_000, pipelined=0.5, abandoned=0.25, begun=0.3)
    explicit = [item for item in made if not item.implicit]
    assert 0.4 < sum(item.pipelined for item in explicit) / len(explicit) < 0.6
    assert 0.2 < sum(item.abandoned for item in explicit) / len(explicit) < 0.3
    assert 0.2 < sum(item.begun for item in explicit) / len(explicit) < 0.4
    special = [item.pipelined or item.abandoned or item.begun for item in made if item.implicit]
    assert not any(special)


def test_a_share_of_read_only_transactions_chooses_its_time() -> None:
    made = items(operations=2_000, read_only=0.5, as_of=0.5, as_of_ms=(-30, 5))
    reading = [item.as_of_ms for item in made if item.read_only]
    chosen = [at_ms for at_ms in reading if at_ms is not None]
    assert 0.4 < len(chosen) / len(reading) < 0.6
    assert (min(chosen), max(chosen)) == (-30, 5)
    assert all(item.as_of_ms is None for item in made if not item.read_only)


def test_shares_of_transactions_leave_kinds_and_keys_as_they_were() -> None:
    plain, varied = items(operations=400), items(operations=400, pipelined=0.5, abandoned=0.5)
    assert [item.operations for item in plain] == [item.operations for item in varied]


def test_rested_transactions_wait_before_their_commit_and_others_do_not() -> None:
    made = items(operations=2_000, rested=0.5, rest_ms=(5, 9), implicit=0.2)
    rests = [item.rest_us for item in made]
    assert all(not item.rest_us for item in made if item.implicit)
    assert all(5_000 <= rest <= 9_000 for rest in rests if rest)
    assert 0.25 < sum(map(bool, rests)) / len(made) < 0.6


def test_rests_leave_the_rest_of_a_program_as_it_was() -> None:
    rested = [structs.replace(one, rest_us=Micros(0)) for one in items(operations=200, rested=0.5)]
    assert rested == items(operations=200)
