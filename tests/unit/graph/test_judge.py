"""Each type of anomaly is found, named and explained; nothing clean is accused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ddlsim.graph import fractured
from ddlsim.graph.certificate import Order, in_real_time, rank_of, spans_of
from ddlsim.graph.history import (
    APPEND,
    LIST_READ,
    PREDICATE,
    READ,
    SCHEMA,
    WRITE,
    Array,
    ColumnHistory,
    Names,
    make,
)
from ddlsim.graph.judge import judge
from ddlsim.graph.models import MODELS, ruled_out, split
from ddlsim.graph.reads import Finding, fractured_reads
from ddlsim.graph.verdict import Verdict
from tests.support.column_histories import PLANTS, Shape, history, plant

CLEAN = history(7, Shape(300, sessions=10, skew=300))
BESIDE = {
    "internal": {"missed-own-write"},
    "G1b": {"G-single"},
    "long-fork": {"G-nonadjacent"},
    "lost-update": {"G-single"},
    "fractured-read": {"G-single"},
}
"""What a planted history shows besides the anomaly that it was planted for."""


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_anomaly_is_found_and_named_and_no_other(name: str) -> None:
    for skew in (0, 300):
        found = plant(history(7, Shape(300, sessions=10, skew=skew)), name)
        verdict = judge(found)
        assert verdict.valid is False
        assert set(verdict.types) == {name} | BESIDE.get(name, set())
        members = {tx for one in verdict.anomalies for tx in one.txns}
        assert members <= set(range(300, found.transactions))


@pytest.mark.parametrize("name", ["internal", "G1b", "lost-update"])
def test_long_transactions_are_judged_alike(name: str) -> None:
    clean = history(7, Shape(60, longest=40, keys=16))
    assert judge(clean).valid is True
    assert set(judge(plant(clean, name)).types) == {name} | BESIDE.get(name, set())


@pytest.mark.parametrize("name", PLANTS)
def test_a_model_that_allows_an_anomaly_is_kept(name: str) -> None:
    found = plant(CLEAN, name)
    types = {name} | BESIDE.get(name, set())
    for model in MODELS.values():
        forbidden = any(model.forbids_type(one) for one in types)
        assert judge(found, model.name).valid is not forbidden, model.name


@pytest.mark.parametrize("model", MODELS)
def test_a_clean_history_is_valid_and_says_by_what(model: str) -> None:
    verdict = judge(CLEAN, model)
    assert (verdict.valid, verdict.anomalies, verdict.ruled_out) == (True, (), ())
    assert verdict.certificate


def test_without_skew_the_order_of_commits_is_the_certificate() -> None:
    assert judge(history(7, Shape(300))).certificate == "order"


def test_under_skew_an_order_is_found_all_the_same() -> None:
    found = history(7, Shape(3000, skew=2000))
    assert not in_real_time(Order(rank_of(found)), *spans_of(found, None))
    assert judge(found).certificate == "order"


@pytest.mark.parametrize(("length", "certificate"), [(4, "order"), (40, "components")])
def test_a_long_row_of_backward_timestamps_needs_the_components(
    length: int, certificate: str
) -> None:
    """Each reads what the one before wrote, at an earlier timestamp and all at once."""
    count = np.arange(length)
    row = make(
        transactions={
            "begin": np.zeros(length, np.int64),
            "end": np.full(length, 99),
            "read_ts": 2 * (length - count) - 1,
            "commit_ts": 2 * (length - count),
        },
        operations={
            "tx": np.repeat(count, 2)[1:],
            "key": np.repeat(count, 2)[:-1],
            "kind": np.where(np.arange(2 * length - 1) % 2, READ, WRITE),
            "version": np.ones(2 * length - 1, np.int64),
        },
    )
    verdict = judge(row)
    assert (verdict.valid, verdict.certificate) == (True, certificate)
    late = replace(row, begin=row.begin.copy())
    late.begin[0] = 100
    late.end[0] = 101
    assert judge(late).valid is False


def test_snapshots_are_a_certificate_of_snapshot_isolation() -> None:
    skewed = make(
        transactions={"read_ts": [1, 1], "commit_ts": [3, 4], "begin": [0, 0], "end": [9, 9]},
        operations={
            "tx": [0, 0, 1, 1],
            "key": [0, 1, 1, 0],
            "kind": [READ, WRITE, READ, WRITE],
            "version": [0, 1, 0, 1],
        },
    )
    verdict = judge(skewed, "snapshot-isolation")
    assert (verdict.valid, verdict.certificate) == (True, "snapshots")
    assert judge(skewed, "serializable").types == ("G2-item",)
    late = replace(skewed, read_ts=np.asarray([1, 3]))
    assert judge(late, "snapshot-isolation").certificate == "components"


@pytest.mark.parametrize(
    ("read", "commit"), [([20, 12], [10, 11]), ([10, 10], [10, 10]), ([10, 11], [10, 11])]
)
@pytest.mark.parametrize("model", ["read-committed", "snapshot-isolation", "serializable"])
def test_timestamps_excuse_no_two_that_read_from_each_other(
    read: list[int], commit: list[int], model: str
) -> None:
    circle = make(
        transactions={"read_ts": read, "commit_ts": commit, "begin": [0, 0], "end": [9, 9]},
        operations={
            "tx": [0, 0, 1, 1],
            "key": [0, 1, 1, 0],
            "kind": [WRITE, READ, WRITE, READ],
            "version": [1, 1, 1, 1],
        },
    )
    verdict = judge(circle, model)
    assert (verdict.valid, verdict.types) == (False, ("G1c",))


def test_the_explanation_names_each_step() -> None:
    found = replace(
        plant(history(1, Shape(1, keys=1, partitions=1)), "schema-G-single"),
        names=Names(["T0", "T1", "D2", "T3"], ["k0", "schema:A", "A[1]"]),
    )
    [anomaly] = judge(found).anomalies
    assert [step.edge for step in anomaly.steps] == ["rw-schema", "wr-schema", "wr"]
    assert anomaly.explanation == (
        "T1 < D2, because T1 ran under version 0 of schema:A, and D2 wrote the one after it; "
        "D2 < T3, because T3 ran under version 1 of schema:A, which D2 had written; "
        "however, T3 < T1, because T1 read version 1 of A[1], which T3 had written: "
        "a contradiction"
    )


@pytest.mark.parametrize("name", PLANTS)
def test_a_verdict_is_plain_data(name: str) -> None:
    data = json.loads(json.dumps(judge(plant(CLEAN, name)).as_data()))
    assert data["valid"] is False
    assert "strict-serializable" in data["not"]
    for one in data["anomalies"]:
        assert one["explanation"]
        for step, following in zip(one["steps"], one["steps"][1:] + one["steps"][:1], strict=True):
            assert step["to"] == following["from"]


def strict_only(marked: bool) -> ColumnHistory:
    """A transaction under version 0 of a schema, after one under version 1."""
    return make(
        transactions={"begin": [0, 2, 8], "end": [1, 3, 9], "ddl": [True, False, False]},
        operations={
            "tx": [0, 1, 2],
            "key": [0, 0, 0],
            "kind": [WRITE, SCHEMA, SCHEMA],
            "version": [1, 1, 0],
            "strict_only": [False, False, marked],
        },
    )


def test_what_only_the_strict_graph_has_counts_when_asked() -> None:
    assert judge(strict_only(marked=True)).valid is True
    assert judge(strict_only(marked=True), strict=True).types == ("schema-G-single-realtime",)
    assert judge(strict_only(marked=False)).types == ("schema-G-single-realtime",)


def test_at_its_activation_a_ddl_comes_first() -> None:
    tied = make(
        transactions={"commit_ts": [5, 5], "ddl": [False, True]},
        operations={"tx": [0, 1], "key": [0, 0], "kind": [SCHEMA, WRITE], "version": [1, 1]},
    )
    assert judge(tied).certificate == "order"


def unknown(*, seen: bool) -> Verdict:
    """A transaction of unknown end that was asked for late, and is read by nobody or early."""
    return judge(
        make(
            transactions={"begin": [5, 0], "end": [6, 1], "status": [2, 0]},
            operations={
                "tx": [0, 1],
                "key": [0, 0],
                "kind": [WRITE, READ],
                "version": [1, 1] if seen else [-1, 0],
            },
        )
    )


def test_an_unknown_transaction_counts_once_its_write_was_seen() -> None:
    assert unknown(seen=True).types == ("G1c-realtime",)
    assert unknown(seen=False).valid is True


@pytest.mark.parametrize(("kind", "what"), [(READ, "read"), (WRITE, "write"), (APPEND, "")])
def test_what_is_not_known_is_not_called_valid(kind: int, what: str) -> None:
    verdict = judge(
        make(
            transactions={"status": [0, 1]},
            operations={"tx": [0, 1], "key": [0, 0], "kind": [kind] * 2, "version": [-1, -1]},
        )
    )
    assert verdict.valid == ("unknown" if what else True)
    assert [note[:20] for note in verdict.notes] == ([f"of 1 committed {what}s"[:20]] * bool(what))


UNSEEN = {
    "G2-item": (
        (0, 0, LIST_READ, 0), (0, 1, APPEND, -1), (1, 1, LIST_READ, 0), (1, 0, APPEND, -1)),
    "lost-update": (
        (0, 0, LIST_READ, 0), (0, 0, APPEND, -1), (1, 0, LIST_READ, 0), (1, 0, APPEND, -1)),
    "G0": (
        (0, 0, APPEND, 1), (0, 1, APPEND, -1), (1, 0, APPEND, -1), (1, 1, APPEND, 1),
        (2, 0, LIST_READ, 1), (2, 1, LIST_READ, 1)),
}  # fmt: skip
"""Anomalies by appends that no list shows: each comes after all that was read of its key."""


@pytest.mark.parametrize("name", UNSEEN)
def test_appends_that_no_list_shows_are_not_called_valid(name: str) -> None:
    verdict = judge(of(*UNSEEN[name]))
    assert (verdict.valid, verdict.certificate) == ("unknown", "")
    assert verdict.notes[0].startswith("of 2 committed writes the version is not known")
    placed = [(*op[:3], 2 if name == "G0" else 1) if op[3] < 0 else op for op in UNSEEN[name]]
    if name != "lost-update":
        assert name in judge(of(*placed)).types
    assert judge(of((0, 0, APPEND, 1), (1, 1, APPEND, -1))).valid is True


def test_which_absence_a_scan_saw_contradicts_no_read() -> None:
    """A read found no row, a scan later neither: of which deletion is only taken to be so."""
    scanned = make(
        transactions={"begin": [0, 2], "end": [1, 3]},
        operations={
            "tx": [0, 1, 1],
            "key": [0, 0, 0],
            "kind": [WRITE, READ, PREDICATE],
            "version": [1, 1, 0],
        },
    )
    assert "internal" not in judge(scanned).types


def of(*operations: tuple[int, int, int, int]) -> ColumnHistory:
    """Transactions of one stretch of time; an operation: transaction, key, kind, version."""
    many = 1 + operations[-1][0]
    columns = dict(
        zip(("tx", "key", "kind", "version"), zip(*operations, strict=True), strict=True)
    )
    return make(transactions={"begin": [0] * many, "end": [5] * many}, operations=columns)


HIDDEN = of(
    (0, 5, READ, 0), (0, 5, WRITE, 2), (0, 9, READ, 1),
    (1, 5, WRITE, 1), (1, 8, WRITE, 1),
    (2, 0, WRITE, 1), (2, 1, WRITE, 1), (2, 8, READ, 1),
    (3, 0, READ, 1), (3, 1, READ, 0), (3, 9, WRITE, 1),
)  # fmt: skip
"""T3 saw a part of T2, on a cycle of two; another one of two comes before it in the component."""


GAP = of((0, 0, WRITE, 2), (1, 0, READ, 2))


@pytest.mark.parametrize("name", ["read-atomic", "snapshot-isolation", "strict-serializable"])
def test_a_fractured_read_beside_a_lighter_cycle_is_told(name: str) -> None:
    verdict = judge(HIDDEN, name)
    assert verdict.valid is False
    assert "fractured-read" in verdict.types
    assert verdict.ruled_out == tuple(MODELS)[2:]


def test_skewed_clocks_add_no_reads_to_those_that_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Edges between one client's transactions go back under skew, and tell of no fractured read."""
    found = history(3, Shape(3_000, skew=2_000))
    reads = np.flatnonzero((found.kind == READ) & (found.version > 5))[500:501]
    version = found.version.copy()
    version[reads] -= 3
    compared: list[int] = []

    def noted(history: ColumnHistory, node: Array | None, readers: Array) -> list[Finding]:
        compared.append(int(readers.sum()))
        return fractured_reads(history, node, readers) or []

    monkeypatch.setattr("ddlsim.graph.judge.fractured_reads", noted)
    assert judge(replace(found, version=version), "strict-serializable").valid is False
    assert compared == [2]


LATER = (0, 0, WRITE, 1), (0, 1, WRITE, 1), (1, 0, WRITE, 2)
"""T0 writes two rows, and T1 the first of them again."""


@pytest.mark.parametrize(
    ("kind", "more", "valid"),
    [
        (READ, (), True),
        (READ, ((3, 2, APPEND, 1), (4, 2, LIST_READ, 1)), True),
        (SCHEMA, ((3, 2, APPEND, 1), (4, 2, LIST_READ, 1)), True),
        (LIST_READ, (), False),
        (LIST_READ, ((3, 2, WRITE, 1), (4, 2, READ, 1)), False),
    ],
)
def test_only_a_list_shows_the_writers_before_the_last_one(
    kind: int, more: tuple[tuple[int, int, int, int], ...], valid: bool
) -> None:
    """T2 reads what T1 wrote, and not T0's second row; what others read makes no difference."""
    found = judge(of(*LATER, (2, 0, kind, 2), (2, 1, kind, 0), *more), "read-atomic")
    assert found.valid is valid
    assert found.types == (() if valid else ("fractured-read",))


def test_a_version_that_was_not_written_leaves_it_open() -> None:
    """T0 writes version 2 of a row, T1 reads it; whose version 1 was is not told."""
    assert judge(of((0, 0, WRITE, 1), (1, 0, READ, 1))).valid is True
    verdict = judge(GAP)
    assert (verdict.valid, verdict.certificate) == ("unknown", "")
    assert "1 versions that have later ones were not written" in verdict.notes[0]
    read = judge(of((0, 0, WRITE, 2), (1, 0, READ, 1)))
    assert (read.valid, read.types) == (False, ("garbage-read",))
    beyond = judge(of((0, 0, WRITE, 1), (1, 0, READ, 3)))
    assert (beyond.valid, beyond.notes) == (False, ())


@pytest.mark.parametrize("kind", [WRITE, APPEND])
@pytest.mark.parametrize(("status", "type_"), [(0, "G1b"), (1, "G1a"), (2, "G1b")])
def test_a_later_write_without_a_place_makes_the_earlier_one_intermediate(
    kind: int, status: int, type_: str
) -> None:
    made = of((0, 0, kind, 1), (0, 0, kind, -1), (1, 0, READ, 1))
    verdict = judge(replace(made, status=np.array([status, 0], np.uint8)), "read-committed")
    assert (verdict.valid, verdict.types) == (False, (type_,))


@pytest.mark.parametrize(("status", "valid"), [(0, "unknown"), (1, True), (2, "unknown")])
def test_a_write_without_a_place_of_one_that_counts_as_committed_is_open(
    status: int, *, valid: bool | str
) -> None:
    made = of((0, 0, WRITE, 1), (0, 1, WRITE, -1), (1, 1, READ, 0))
    verdict = judge(replace(made, status=np.array([status, 0], np.uint8)), "serializable")
    assert verdict.valid == valid
    unseen = replace(made, version=np.array([-1, -1, 0], np.int32))
    unknown = judge(replace(unseen, status=np.array([2, 0], np.uint8)), "serializable")
    assert unknown.valid is True


def scan(*more: tuple[int, int, int, int]) -> ColumnHistory:
    """T0 writes two rows; T1 sees the first, and its scan found no row where the second is."""
    return of((0, 0, WRITE, 1), (0, 1, WRITE, 1), (1, 0, READ, 1), *more, (1, 1, PREDICATE, 0))


@pytest.mark.parametrize("name", ["read-atomic", "snapshot-isolation", "serializable"])
def test_a_scan_that_missed_a_row_of_what_was_seen_is_a_fractured_read(name: str) -> None:
    verdict = judge(scan(), name)
    assert "fractured-read" in verdict.types
    assert verdict.ruled_out == tuple(MODELS)[2:]
    assert judge(scan(), "read-committed").valid is True


@pytest.mark.parametrize("name", ["read-committed", "serializable"])
def test_a_scan_that_missed_a_row_of_its_own_is_told_from_one_that_took_its_deletion(
    name: str,
) -> None:
    missed = of((0, 0, WRITE, 1), (0, 0, PREDICATE, 0))
    assert judge(missed, name).types == ("missed-own-write",)
    assert judge(missed, "read-uncommitted").valid is True
    assert judge(of((0, 0, WRITE, 1), (0, 0, PREDICATE, 1)), name).valid is True
    assert judge(of((0, 0, PREDICATE, 0), (0, 0, WRITE, 1)), name).valid is True


def test_scans_of_what_nobody_wrote_cost_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fractured, "MOST", 4)
    absent = [(1, key, PREDICATE, 0) for key in range(2, 30)]
    found = judge(of((0, 0, WRITE, 1), (0, 1, WRITE, 1), (1, 0, READ, 1), *absent), "read-atomic")
    assert (found.valid, found.notes) == (True, ())
    assert "fractured-read" in judge(scan(), "read-atomic").types


def test_models_are_ruled_out_from_the_weakest_on() -> None:
    assert ruled_out(["G2-item"]) == (
        "serializable",
        "strong-session-serializable",
        "strict-serializable",
    )
    assert ruled_out(["schema-G-single-realtime"]) == (
        "strong-snapshot-isolation",
        "strict-serializable",
    )
    assert split("schema-G2-item-process") == ("G2-item", 1)


def test_an_unknown_model_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no model 'snapshot'; there are read-uncommitted"):
        judge(CLEAN, "snapshot")


@pytest.mark.parametrize(
    ("kinds", "versions", "expected"),
    [
        ((APPEND, APPEND), (1, 2), True),
        ((APPEND, APPEND), (2, 1), False),
        ((WRITE, WRITE), (2, 1), False),
        ((WRITE, READ, WRITE), (2, 2, 1), False),
    ],
)
@pytest.mark.parametrize("model", ["read-uncommitted", "snapshot-isolation", "serializable"])
def test_writes_of_one_transaction_stand_in_its_order(
    kinds: tuple[int, ...], versions: tuple[int, ...], expected: bool, model: str
) -> None:
    count = len(kinds)
    one = make(
        transactions={"status": [0]},
        operations={
            "tx": [0] * count, "key": [0] * count, "kind": kinds, "version": versions,
        },
    )  # fmt: skip
    verdict = judge(one, model)
    assert verdict.valid is expected
    assert ("incompatible-order" in verdict.types) is not expected


@pytest.mark.parametrize(
    ("begin", "wrong"), [([0, 1], set()), ([0, 11], {"G1c-process", "G1c-realtime"})]
)
def test_a_process_may_do_several_things_at_once(begin: list[int], wrong: set[str]) -> None:
    """What the first one reads of the second one, which began before it ended."""
    both = make(
        transactions={"process": [0, 0], "begin": begin, "end": [10, 12]},
        operations={"tx": [0, 1], "key": [0, 0], "kind": [READ, WRITE], "version": [1, 1]},
    )
    assert set(judge(both).types) <= wrong
    assert judge(both).valid is not bool(wrong)
    assert judge(both, "strong-session-serializable").valid is not bool(wrong)


def test_of_a_process_that_does_several_things_at_once_what_ended_comes_before() -> None:
    """The third one began when both had ended, and missed the write of the first and longer one."""
    three = make(
        transactions={"process": [0, 0, 0], "begin": [0, 1, 20], "end": [10, 5, 21]},
        operations={
            "tx": [0, 1, 2], "key": [0, 1, 0], "kind": [WRITE, WRITE, READ], "version": [1, 1, 0],
        },
    )  # fmt: skip
    assert judge(three, "strong-session-serializable").types == ("G-single-process",)
