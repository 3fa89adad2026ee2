"""The figures of a history: each number against a history small enough to count by hand."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.history.events import (
    AnyEvent,
    DdlDecided,
    Failed,
    Invoked,
    Ok,
    SchemaResolved,
    TxAborted,
    Unknown,
)
from ddlsim.history.figures import (
    DATA,
    Durations,
    bucketed,
    durations,
    figures,
    pooled,
    samples,
    schema_abort_rate,
)
from ddlsim.history.history import HISTORY_FORMAT, Header, History
from ddlsim.model.design import DesignHeader
from ddlsim.model.ops import DataOperation

NOTHING = Durations(0, 0, None, None, None, None)


def history(*events: AnyEvent) -> History:
    """A history of these events, 12 ms long."""
    design = DesignHeader("d", "", "", "ignite", ())
    made = History(Header(HISTORY_FORMAT, "0", "s", "", {}, 0, design, None, "ok", (), {}))
    made.events = list(events)
    made.end_us, made.executed_events = 12_000, 7
    return made


def asked(at_us: int, op: str, tx: str | None, kind: str, client: str = "c") -> Invoked:
    return Invoked(at_us, client, op, tx, "n1", kind)


def done(at_us: int, op: str) -> Ok:
    return Ok(at_us, "c", op)


def failed(at_us: int, op: str, reason: str) -> Failed:
    return Failed(at_us, "c", op, reason)


def waited(waited_us: int) -> SchemaResolved:
    return SchemaResolved(0, "n1", "T", None, "enlist", "t", 1, 0, 1, waited_us)


# --- what became of transactions -----------------------------------------------------------


def test_a_commit_counts_once() -> None:
    taken = figures(
        history(
            asked(0, "a", "T", "begin"),
            done(0, "a"),
            asked(0, "b", "T", "put"),
            done(0, "b"),
            asked(0, "c", "T", "commit"),
            done(0, "c"),
        )
    )
    assert (taken.attempts, taken.committed, taken.aborted, taken.unknown) == (1, 1, {}, 0)


def test_an_implicit_operation_is_an_attempt_and_a_ddl_is_none() -> None:
    taken = figures(
        history(
            asked(0, "a", None, "get"),
            done(0, "a"),
            asked(0, "d", None, "ddl"),
            done(0, "d"),
        )
    )
    assert (taken.attempts, taken.committed) == (1, 1)


def test_an_abort_counts_under_its_first_reason() -> None:
    taken = figures(
        history(
            asked(0, "a", "T", "put"),
            failed(1, "a", "LOCK_CONFLICT"),
            asked(2, "b", "T", "commit"),
            failed(3, "b", "TX_FINISHED"),
        )
    )
    assert (taken.attempts, taken.aborted) == (1, {"LOCK_CONFLICT": 1})


@pytest.mark.parametrize(
    ("answer", "fate"),
    [
        (Ok(4, "c", "b"), (1, {}, 0)),
        (Unknown(4, "c", "b", "NODE_UNREACHABLE"), (0, {}, 1)),
        (failed(4, "b", "LOCK_CONFLICT"), (0, {"BAD_ROW": 1}, 0)),
    ],
)
def test_a_transaction_that_goes_on_behind_a_refusal_is_what_its_commit_says(
    answer: Ok | Unknown | Failed, fate: tuple[int, dict[str, int], int]
) -> None:
    refused = (asked(1, "a", "T", "insert"), failed(2, "a", "BAD_ROW"))
    taken = figures(history(*refused, asked(3, "b", "T", "commit"), answer))
    assert (taken.committed, taken.aborted, taken.unknown, taken.attempts) == (*fate, 1)


def test_a_refused_operation_and_an_abort_count_once() -> None:
    refused = (asked(1, "a", "T", "insert"), failed(2, "a", "BAD_ROW"))
    unsure = (asked(3, "b", "T", "commit"), Unknown(4, "c", "b", "NODE_UNREACHABLE"))
    taken = figures(history(*refused, *unsure, TxAborted(9, "n1", "T", "TX_RECOVERED")))
    assert (taken.aborted, taken.unknown) == ({"TX_RECOVERED": 1}, 0)


def test_figures_take_the_coordinators_abort_reason() -> None:
    taken = figures(
        history(
            asked(0, "a", "T", "put"),
            failed(1, "a", "TX_FINISHED"),
            TxAborted(2, "n1", "T", "ROLLBACK_ONLY"),
        )
    )
    assert taken.aborted == {"ROLLBACK_ONLY": 1}
    assert taken.schema_abort_rate == 1.0


def test_a_rollback_is_an_abort_by_the_client() -> None:
    taken = figures(history(asked(0, "a", "T", "rollback"), done(0, "a")))
    assert taken.aborted == {"ROLLED_BACK": 1}


def test_a_commit_without_a_certain_answer_is_unknown() -> None:
    taken = figures(history(asked(0, "a", "T", "commit"), Unknown(9, "c", "a", "NODE_UNREACHABLE")))
    assert (taken.unknown, taken.committed, taken.aborted) == (1, 0, {})


def test_an_open_transaction_counts_as_an_attempt_only() -> None:
    taken = figures(history(asked(0, "a", "T", "put"), done(0, "a"), asked(0, "b", None, "get")))
    assert (taken.attempts, taken.committed, taken.aborted, taken.unknown) == (2, 0, {}, 0)


def test_a_retry_is_an_attempt_of_its_own() -> None:
    taken = figures(
        history(
            asked(0, "a", "T.1", "put"),
            failed(0, "a", "SCHEMA_CHANGED"),
            asked(0, "b", "T.2", "commit"),
            done(0, "b"),
        )
    )
    assert (taken.attempts, taken.committed, taken.schema_abort_rate) == (2, 1, 0.5)


def test_two_clients_may_give_their_transactions_one_name() -> None:
    taken = figures(history(asked(0, "a", "T", "put"), asked(0, "b", "T", "put", client="other")))
    assert taken.attempts == 2


@pytest.mark.parametrize(
    ("aborted", "attempts", "rate"),
    [
        ({}, 0, 0.0),
        ({"LOCK_CONFLICT": 3}, 10, 0.0),
        ({"LOCK_CONFLICT": 3, "SCHEMA_CHANGED": 1, "ROLLBACK_ONLY": 2}, 10, 0.3),
        ({"SCHEMA_CHANGED": 1}, 3, 0.333333),
    ],
)
def test_the_schema_abort_rate(aborted: dict[str, int], attempts: int, rate: float) -> None:
    assert schema_abort_rate(aborted, attempts) == rate


def test_reasons_come_in_order() -> None:
    taken = figures(
        history(
            asked(0, "a", "T", "put"),
            failed(0, "a", "SCHEMA_CHANGED"),
            asked(0, "b", "U", "put"),
            failed(0, "b", "LOCK_CONFLICT"),
        )
    )
    assert list(taken.aborted) == ["LOCK_CONFLICT", "SCHEMA_CHANGED"]


# --- how long things took -----------------------------------------------------------


def test_samples_sorts_durations_by_kind() -> None:
    taken = samples(
        history(
            asked(100, "d", None, "ddl"),
            done(400, "d"),
            asked(0, "b", "T", "begin"),
            done(70, "b"),
            asked(100, "g", "T", "get"),
            done(110, "g"),
            asked(110, "c", "T", "commit"),
            done(140, "c"),
            asked(200, "f", None, "put"),
            failed(900, "f", "LOCK_CONFLICT"),
            asked(950, "e", None, "ddl"),
            failed(990, "e", "DDL_REFUSED"),
            waited(0),
            waited(2_500),
        )
    )
    assert taken.ddl_us == (300,)
    assert taken.dml_us == (10, 30)
    assert taken.wait_us == (0, 2_500)


def test_statements_that_changed_nothing_are_apart() -> None:
    events: list[AnyEvent] = []
    for op, at_us, outcome in (("a", 100, "installed"), ("b", 500, "noop"), ("c", 900, "refused")):
        events += [asked(at_us, op, None, "ddl"), DdlDecided(at_us + 5, "n1", op, outcome, 1, 0, 0)]
        events.append(
            failed(at_us + 7, op, "DDL_REFUSED") if outcome == "refused" else done(at_us + 40, op)
        )
    taken = samples(history(*events))
    assert (taken.ddl_us, taken.ddl_noop_us) == ((40,), (40,))
    assert figures(history(*events)).ddl_noop_latency_ms.count == 1


def test_every_kind_of_data_operation_has_a_latency() -> None:
    kinds = [kind.__struct_config__.tag for kind in get_args(DataOperation)]
    assert sorted(DATA) == sorted(kinds)
    for kind in kinds:
        events = (asked(100, "a", "T", kind), done(130, "a"))
        assert samples(history(*events)).dml_us == (30,), kind


def test_durations_count_those_above_zero() -> None:
    wait = figures(history(waited(0), waited(0), waited(3_000), waited(1_000))).schema_wait_ms
    assert wait == Durations(4, 2, 1.0, 0.0, 3.0, 3.0)


def test_figures_have_simulated_ms_and_events() -> None:
    taken = figures(history())
    assert (taken.simulated_ms, taken.events) == (12.0, 7)
    assert taken.ddl_latency_ms == taken.dml_latency_ms == taken.schema_wait_ms == NOTHING


@pytest.mark.parametrize(
    ("count", "p50", "p99"),
    [(1, 1, 1), (2, 1, 2), (3, 2, 3), (99, 50, 99), (100, 50, 99), (101, 51, 100), (200, 100, 198)],
)
def test_a_quantile_is_the_nearest_rank(count: int, p50: int, p99: int) -> None:
    taken = durations([1_000 * number for number in range(count, 0, -1)])
    assert (taken.p50, taken.p99, taken.max) == (p50, p99, count)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60), st.integers(1, 7))
def test_pooling_agrees_with_the_exact_figures(taken_us: list[int], parts: int) -> None:
    exact = durations(taken_us)
    pool = pooled(bucketed(taken_us[part::parts]) for part in range(parts))
    assert (pool.count, pool.waited, pool.max) == (exact.count, exact.waited, exact.max)
    assert pool.mean == pytest.approx(exact.mean, abs=0.001)
    for mine, theirs in ((pool.p50, exact.p50), (pool.p99, exact.p99)):
        assert mine is not None
        assert theirs is not None
        assert theirs * 0.992 - 0.001 <= mine <= theirs


def test_pooling_nothing_gives_nothing() -> None:
    assert pooled([]) == pooled([bucketed([])]) == NOTHING
