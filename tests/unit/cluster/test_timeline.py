"""Scripted steps: each when its moment has come, and what was expected of it."""

from typing import Any

import pytest

from ddlsim.cluster.timeline import operation_of, outcome_of
from ddlsim.history.events import Failed, Invoked, Ok, TxAborted, TxBegan, Unknown
from ddlsim.history.history import History
from ddlsim.history.world_events import NeverCompleted, NothingMatched, StepMissed
from ddlsim.model.ports import NO_REPLY
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import Answer, CatalogUpdate, ClientCommit, Refusal, Submit
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.scenario.tomltext import toml_text
from ddlsim.units import Timestamp
from tests.support.worlds import ran

SILENT = "operation_timeout_ms = 30\ncommit_wait_ms = 20\n"


def steps(*made: dict[str, Any], head: str = "", tail: str = "") -> History:
    """A run of steps of client c on n1, each given by what differs."""
    written = []
    for number, keys in enumerate(made, start=1):
        fields = {"id": f"s{number}", "client": "c", "node": "n1", "do": ["get", "t", 1]} | keys
        if "ddl" in fields:
            del fields["do"]
        written.append(fields)
    return ran("\n".join([head, toml_text({"step": written}), tail]))


def asked(history: History) -> list[tuple[str, float]]:
    """Which step was begun when, in ms."""
    return [(event.op, event.at_us / 1000) for event in history.of(Invoked)]


def ended(history: History) -> dict[str, tuple[float, str]]:
    """When each step ended, in ms, and how."""
    return {
        event.op: (event.at_us / 1000, getattr(event, "reason", "ok"))
        for event in history.of(Ok, Failed, Unknown)
    }


def hold(**keys: Any) -> str:
    return toml_text({"hold": [keys]})


def pause(**keys: Any) -> str:
    return toml_text({"pause": [keys]})


# --- when a step is due --------------------------------------------------------------------------


def test_a_step_is_due_at_its_instant_or_after_an_event() -> None:
    """Or when its client's step before has ended; always so much later as it says."""
    history = steps(
        {"at_ms": 30},
        {"client": "d", "after": "s1.ok", "plus_ms": 5},
        {"client": "d"},
        {"client": "d", "plus_ms": 4},
        {"client": "e", "after": "s5.invoked", "id": "s6"},
        {"client": "f", "plus_ms": 7, "id": "s5"},
    )
    assert asked(history) == [
        ("s5", 7), ("s6", 7), ("s1", 30), ("s2", 35), ("s3", 35), ("s4", 39),
    ]  # fmt: skip


def test_a_step_that_is_never_due_is_recorded_with_what_it_waits_for() -> None:
    """An instant behind the end of the run, or an event that does not come."""
    head = "[run]\nload_ms = 10\ndrain_ms = 20"
    history = steps({"at_ms": 9_000}, {}, {"client": "d", "after": "s1.ok"}, head=head)
    waits = ["its instant, 9000 ms", "its moment, s1.done", "its moment, s1.ok"]
    assert [one.waits_for for one in history.of(NeverCompleted)] == waits


def test_steps_of_one_instant_come_in_the_order_of_the_file() -> None:
    """Of every kind."""
    history = steps({"at_ms": 5}, {"at_ms": 5, "client": "a"}, {"at_ms": 5, "client": "b"})
    assert [op for op, _ in asked(history)] == ["s1", "s2", "s3"]


def test_a_step_can_wait_for_the_outcome_of_another() -> None:
    """That it succeeded, that it failed, or either."""
    history = steps(
        {"do": ["get", "t", 1]},
        {"client": "x", "ddl": "DROP TABLE nowhere", "misfit": True},
        *({"client": f"a{n}", "after": event} for n, event in enumerate(
            ("s1.ok", "s1.done", "s2.failed", "s2.done")
        )),
        {"client": "b", "after": "s1.failed"},
        {"client": "d", "after": "s2.ok"},
    )  # fmt: skip
    assert sorted(op for op, _ in asked(history)) == ["s1", "s2", "s3", "s4", "s5", "s6"]
    never = [(event.op, event.waits_for) for event in history.of(NeverCompleted)]
    assert never == [("s7", "its moment, s1.failed"), ("s8", "its moment, s2.ok")]


def test_an_unknown_outcome_counts_as_failed() -> None:
    """For steps that wait for it."""
    history = steps(
        {"at_ms": 5},
        {"client": "d", "after": "s1.failed"},
        head=SILENT,
        tail=hold(**{"from": "n1", "to": "c", "until_ms": 300}),
    )
    assert ended(history)["s1"] == (55, "NODE_UNREACHABLE")
    assert asked(history)[1] == ("s2", 55)
    assert [type(event) for event in history.of(Unknown)] == [Unknown]


def test_what_one_hold_lets_go_is_not_kept_back_by_the_next() -> None:
    """A message is one of the hold in whose time it is sent."""
    link = {"from": "c", "to": "n1"}
    history = steps(
        {},
        {"at_ms": 10},
        {"client": "d"},
        {"at_ms": 25, "client": "d"},
        tail=hold(**link, from_ms=5, until_ms=20) + hold(**link, from_ms=20, until_ms=40)
        + hold(to="n1", from_ms=15, until_ms=60, **{"from": "d"}),
    )  # fmt: skip
    assert {op: at_ms for op, (at_ms, _) in ended(history).items()} == {
        "s1": 0, "s2": 20, "s3": 0, "s4": 60,
    }  # fmt: skip
    assert [event.what for event in history.of(NothingMatched)] == [
        "hold[1] (c to n1, any kind) kept no message back"
    ]


def test_each_of_several_messages_of_an_instant_can_be_held() -> None:
    """The nth is that of the sending, whatever a hold does to those before it."""
    link = {"from": "c", "to": "n1", "messages": 1, "from_ms": 5}
    held = [hold(**link, nth=nth, until_ms=until) for nth, until in ((1, 30), (2, 40), (4, 20))]
    lost = hold(**link, nth=3, lost=True)
    sent = [{"at_ms": 5, "do": ["get", "t", key]} for key in range(5)]
    history = steps({}, *sent, head=SILENT, tail=lost + "".join(held))
    assert [at_ms for at_ms, _ in ended(history).values()] == [0, 5, 20, 30, 40, 55]
    assert not history.of(NothingMatched)


# --- transactions --------------------------------------------------------------------------------


def test_a_transaction_begins_with_its_first_step() -> None:
    """By `begin`, or by its first operation; without a name each operation is one by itself."""
    history = steps(
        {"tx": "T1", "do": "begin"},
        {"tx": "T1"},
        {"tx": "T1", "do": "commit"},
        {"tx": "T2"},
        {"tx": "T2", "do": ["put", "t", 1, {"v": 5}]},
        {"tx": "T2", "do": "rollback"},
        {},
    )
    assert [(event.tx, event.implicit) for event in history.of(TxBegan)] == [
        ("T1", False),
        ("T2", False),
        ("s7", True),
    ]
    assert {how for _, how in ended(history).values()} == {"ok"}


def test_two_transactions_of_one_client_can_be_interleaved() -> None:
    """Each step says which one it belongs to."""
    history = steps(
        {"tx": "T1", "do": ["put", "t", 1, {"v": 5}]},
        {"tx": "T2", "do": ["put", "t", 2, {"v": 5}]},
        {"tx": "T1", "do": "commit"},
        {"tx": "T2", "do": "commit"},
    )
    assert {how for _, how in ended(history).values()} == {"ok"}


def test_a_step_can_ask_for_a_session() -> None:
    """And written down with its invocation."""
    history = steps({"session": True}, {"client": "d"})
    assert [event.session for event in history.of(Invoked)] == [True, False]


# --- holds ---------------------------------------------------------------------------------------


def test_messages_are_held_until_an_instant() -> None:
    """Those of one kind on one link, from an instant on."""
    link = {"from": "n1", "to": "n2", "kind": "operate"}
    history = steps(
        {"do": ["put", "t", 1, {"v": 5}]},
        {"at_ms": 20, "client": "d"},
        {"at_ms": 20, "client": "e", "do": ["get", "t", 2], "node": "n2"},
        tail=hold(**link, from_ms=10, until_ms=80),
    )
    assert {op: at for op, (at, _) in ended(history).items()} == {"s1": 0, "s3": 20, "s2": 80}


def test_messages_are_held_until_an_event() -> None:
    """Of any step."""
    history = steps(
        {"at_ms": 10},
        {"at_ms": 30, "client": "d", "node": "n2"},
        tail=hold(kind="operate", to="n2", until="s2.invoked", **{"from": "n1"}),
    )
    assert ended(history)["s1"] == (30, "ok")


def test_the_messages_of_one_step_can_be_held() -> None:
    """Whatever they are: a statement's way to the log too."""
    history = steps(
        {"at_ms": 10, "ddl": "ALTER TABLE t ADD COLUMN a INT", "node": "n2"},
        {"at_ms": 10, "ddl": "ALTER TABLE t ADD COLUMN b INT", "node": "n3", "client": "d"},
        {"at_ms": 10, "client": "e"},
        tail=hold(label="s1", kind="submit", until_ms=60),
    )
    at = {op: at for op, (at, _) in ended(history).items()}
    assert at["s3"] == 10
    assert at["s2"] < 120
    assert at["s1"] > 165


def test_operation_of_gives_the_operation_of_a_message() -> None:
    """If it says so: operations by their name, submissions by their command's."""
    assert operation_of(ClientCommit("s1", "T1")) == "s1"
    assert operation_of(Submit(Timestamp(0), CatalogUpdate("s1.d/3", 1, 0, ()))) == "s1.d"
    assert operation_of(object()) is None


# --- pauses --------------------------------------------------------------------------------------


def test_a_task_is_paused_until_an_instant_or_an_event() -> None:
    """At a named point of the protocol on one node, for one transaction or for the first task."""
    for end in ({"until_ms": 70}, {"until": "s4.invoked"}):
        history = steps(
            {"tx": "T1", "at_ms": 10},
            {"tx": "T1", "do": "commit", "at_ms": 20},
            {"client": "d", "at_ms": 15},
            {"client": "e", "at_ms": 70},
            tail=pause(node="n1", point="before-commit-ts", tx="T1", **end),
        )
        assert {op: at for op, (at, _) in ended(history).items()} == {
            "s1": 10, "s2": 70, "s3": 15, "s4": 70,
        }  # fmt: skip
        assert history.probes["paused-before-commit-ts"] == 1


# --- what is expected ----------------------------------------------------------------------------

TAKEN = {"tx": "T1", "do": ["put", "t", 1, {"v": 5}]}
REFUSED = {"client": "d", "do": ["put", "t", 1, {"v": 6}], "after": "s1.ok"}


def missed(history: History) -> list[tuple[str, str, str]]:
    return [(event.step, event.expected, event.got) for event in history.of(StepMissed)]


@pytest.mark.parametrize(
    ("do", "expect", "got"),
    [
        (["get", "t", 1], "ok", None),
        (["get", "t", 1], "unknown", "ok"),
        (["get", "t", 1], {"fails": "LOCK_CONFLICT"}, "ok"),
        (["get", "t", 1], {"rows": []}, None),
        (["get", "t", 1], {"rows": [{"v": 5}]}, "rows []"),
        (["get", "t", 1], {"rows": [{}], "waits_until_ms": 90}, "rows [] and ended at 0 ms"),
        ("SELECT * FROM t", {"rows": []}, None),
    ],
)
def test_expect_is_compared_with_the_reply(do: Any, expect: Any, got: str | None) -> None:
    """A difference is an event of the history, with the step's place in the file."""
    history = steps({"do": do, "expect": expect})
    assert [event for *_, event in missed(history)] == ([] if got is None else [got])
    assert all(event.line > 1 for event in history.of(StepMissed))


@pytest.mark.parametrize(
    ("expect", "got"),
    [
        ({"fails": "LOCK_CONFLICT"}, None),
        ({"aborts": "LOCK_CONFLICT"}, None),
        ({"aborts": "SCHEMA_CHANGED"}, "LOCK_CONFLICT"),
        ("ok", "LOCK_CONFLICT"),
        ({"outcome": "ok"}, "LOCK_CONFLICT"),
        ({"fails": ["SCHEMA_CHANGED", "LOCK_CONFLICT"]}, None),
        ({"aborts": ["SCHEMA_CHANGED", "TX_FINISHED"]}, "LOCK_CONFLICT"),
        ({"waits_until_ms": 15}, "LOCK_CONFLICT"),
        ({"waits_until_ms": 90}, "LOCK_CONFLICT and ended at 15 ms"),
    ],
)
def test_a_failure_is_expected_by_its_reason(expect: Any, got: str | None) -> None:
    """Whether the operation fails or its transaction aborts is one thing."""
    history = steps(TAKEN, {**REFUSED, "tx": "T2", "expect": expect})
    assert [event for *_, event in missed(history)] == ([] if got is None else [got])


def test_expect_unknown_is_met_by_no_reply() -> None:
    """It is neither success nor failure."""
    tail = hold(**{"from": "n1", "to": "c", "until_ms": 300})
    assert missed(steps({"expect": "unknown"}, head=SILENT, tail=tail)) == []
    assert missed(steps({"expect": "ok"}, head=SILENT, tail=tail)) == [("s1", "ok", "unknown")]


@pytest.mark.parametrize(
    ("until_ms", "tolerance", "is_missed"),
    [
        (128, {}, False),
        (148, {}, False),
        (149, {}, True),
        (108, {}, False),
        (107, {}, True),
        (128, {"tolerance_ms": 0}, False),
        (129, {"tolerance_ms": 0.5}, True),
    ],
)
def test_an_end_can_be_expected_at_an_instant(
    until_ms: int, tolerance: dict[str, float], is_missed: bool
) -> None:
    """Within 20 ms if nothing is said; this statement ends at 128 ms, for DD + CSmax + rounding."""
    sql = "ALTER TABLE t ADD COLUMN w INT"
    history = steps({"at_ms": 20, "ddl": sql, "expect": {"waits_until_ms": until_ms, **tolerance}})
    assert ended(history)["s1"][0] == 128
    assert [got for *_, got in missed(history)] == (["ended at 128 ms"] if is_missed else [])


@pytest.mark.parametrize(
    ("rows", "exact", "fits"),
    [
        ([{"id": 2, "v": 6}, {"id": 1, "v": 5}], True, True),
        ([{"id": 2, "v": 6}, {"id": 1}], True, False),
        ([{"id": 2, "v": 6}, {"id": 1, "v": 5, "w": {"absent": True}}], True, True),
        ([{"id": 2, "v": 6}, {"id": 1, "v": {"absent": True}}], True, False),
        ([{"id": 2, "v": 6}, {"id": 1, "v": {"null": True}}], True, False),
        ([{"id": 2, "v": 6}, {"id": 1, "v": 5, "w": {"null": True}}], True, False),
        ([{"v": 5}, {"id": 2}], False, True),
        ([{}, {"v": 5}], False, True),  # whichever row the first one takes
        ([{"v": 5, "w": {"absent": True}}, {"id": 2}], False, True),
        ([{"v": 5}], False, False),
        ([{"v": 5}, {"v": 5}], False, False),
        ([{"v": 5}, {"v": 6}, {}], False, False),
        ([{"v": 5, "w": 1}, {"v": 6}], False, False),
    ],
)
def test_rows_are_expected_in_any_order_and_with_all_of_their_columns(
    rows: Any, exact: bool, fits: bool
) -> None:
    """Every row once, and no other; with `exact = false` by the columns that are named."""
    history = steps(
        {"do": ["put", "t", 1, {"v": 5}]},
        {"do": ["put", "t", 2, {"v": 6}]},
        {"do": ["scan", "t"], "expect": {"rows": rows} | ({} if exact else {"exact": False})},
    )
    got = "rows [{ id = 1, v = 5 }, { id = 2, v = 6 }]"
    assert [event for *_, event in missed(history)] == ([] if fits else [got])


ALTER = {"at_ms": 20, "ddl": "ALTER TABLE t ADD COLUMN w INT"}


def test_a_column_that_is_null_is_there_and_one_that_is_not_is_absent() -> None:
    put = {"do": ["put", "t", 1, {"v": 5}]}
    null = {"rows": [{"id": 1, "v": 5, "w": {"null": True}}]}
    gone = {"rows": [{"id": 1, "v": 5}]}
    for late, right, wrong in ((False, gone, null), (True, null, gone)):
        read = {"do": "SELECT * FROM t"} | ({"after": "s2.ok"} if late else {"at_ms": 10})
        assert missed(steps(put, {**ALTER, "client": "d"}, {**read, "expect": right})) == []
        assert missed(steps(put, {**ALTER, "client": "d"}, {**read, "expect": wrong}))


@pytest.mark.parametrize(
    ("step", "expect", "got"),
    [
        ("d", {"tu_ms": 120, "version": 2, "waits_until_ms": 128, "tolerance_ms": 0}, None),
        ("d", {"tu_ms": 121}, "tu_ms = 120"),
        ("d", {"tu_ms": 125, "tolerance_ms": 5}, None),
        ("d", {"version": 1}, "version 2"),
        ("noop", {"tu_ms": 120}, "no tu_ms"),
        ("old", {"version": 1, "commit_ts_ms": 10}, None),
        ("old", {"version": 2}, "version 1"),
        ("old", {"commit_ts_ms": 11}, "commit_ts_ms = 10"),
        ("new", {"version": 2, "rows": [{"id": 1, "v": 5, "w": {"null": True}}]}, None),
        ("new", {"version": 1}, "version 2"),
        ("old", {"version": 2, "commit_ts_ms": 11}, "version 1 and commit_ts_ms = 10"),
        ("new", {"version": 1, "waits_until_ms": 90}, "ended at 200 ms and version 2"),
        ("c", {"commit_ts_ms": 210}, None),
        ("c", {"commit_ts_ms": 190}, "commit_ts_ms = 210"),
    ],
)
def test_a_version_a_commit_and_tu_are_those_of_the_record(
    step: str, expect: dict[str, Any], got: str | None
) -> None:
    """DD is 100 ms: of a statement at 20 ms Tu is 120."""
    made: dict[str, dict[str, Any]] = {
        "old": {"client": "a", "at_ms": 10, "do": ["put", "t", 1, {"v": 5}]},
        "d": {**ALTER, "client": "b"},
        "noop": {"client": "b", "ddl": "DROP TABLE IF EXISTS nowhere"},
        "new": {"client": "a", "tx": "T", "at_ms": 200, "do": ["get", "t", 1]},
        "c": {"client": "a", "tx": "T", "at_ms": 210, "do": "commit"},
    }
    made[step]["expect"] = expect
    history = steps(*({"id": name, **keys} for name, keys in made.items()))
    assert " and ".join(event for *_, event in missed(history)) == (got or "")


def test_an_outcome_and_its_instant_can_be_expected_together() -> None:
    """LOCK_CONFLICT comes after three tries, 15 ms; silence when the client waits no more."""
    refused = {**REFUSED, "tx": "T2"}
    early = {"aborts": "LOCK_CONFLICT", "waits_until_ms": 15, "tolerance_ms": 0.5}
    assert missed(steps(TAKEN, {**refused, "expect": early})) == []
    [(_, _, got)] = missed(steps(TAKEN, {**refused, "expect": {**early, "waits_until_ms": 90}}))
    assert got == "LOCK_CONFLICT at 15 ms"
    tail = hold(**{"from": "n1", "to": "c", "until_ms": 300})
    silent = {"outcome": "unknown", "waits_until_ms": 50, "tolerance_ms": 0}
    assert missed(steps({"expect": silent}, head=SILENT, tail=tail)) == []


def test_expect_aborts_needs_an_ended_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal that leaves its transaction open is not an abort, whatever its reason."""
    expect = {**REFUSED, "tx": "T2", "expect": {"aborts": "LOCK_CONFLICT"}}
    assert missed(steps(TAKEN, expect)) == []
    monkeypatch.setattr(TransactionCompletion, "abort", lambda *_: None)
    assert [got for *_, got in missed(steps(TAKEN, expect))] == ["its transaction is not over"]
    fails = {**expect, "expect": {"fails": "LOCK_CONFLICT"}}
    assert missed(steps(TAKEN, fails)) == []


def test_a_single_operation_aborts_under_the_names_of_its_attempts() -> None:
    refused = {**REFUSED, "expect": {"aborts": "LOCK_CONFLICT"}}
    assert missed(steps(TAKEN, refused)) == []
    assert len(steps(TAKEN, refused).of(TxAborted)) > 1


def test_a_design_has_expectations_of_its_own() -> None:
    """By its name, with its mutant if it has one; all others keep `expect`."""
    under = {"a5_safetime": "ok", "iep + no_commit_check": {"rows": []}}
    one = {"expect": "unknown", "expect_under": under}
    for head, fits in (
        ("", False),
        ('[strategy]\nname = "a5_safetime"\n', True),
        ('[strategy]\nname = "iep"\nmutant = "no_commit_check"\n', True),
        ('[strategy]\nname = "iep"\nmutant = "no_operation_check"\n', False),
    ):
        assert (missed(steps(one, head=head)) == []) == fits


# --- what met nothing -----------------------------------------------------------------------------


def unmatched(history: History) -> list[str]:
    return [event.what for event in history.of(NothingMatched)]


def test_a_hold_or_a_pause_without_effect_is_reported() -> None:
    tail = hold(**{"from": "n3", "to": "n2", "kind": "finish", "until_ms": 300})
    tail += hold(**{"from": "c", "until_ms": 5}) + hold(
        **{"from": "c", "label": "s1", "from_ms": 50, "until_ms": 60}
    )
    tail += pause(node="n1", point="before-commit-ts", tx="T", until_ms=90)
    tail += pause(node="n2", point="before-commit-ts", until_ms=90)
    history = steps({"tx": "T"}, {"tx": "T", "do": "commit"}, tail=tail)
    assert unmatched(history) == [
        "hold[0] (n3 to n2, finish) kept no message back",
        "hold[2] (c to any, any kind, of s1) kept no message back",
        "pause[1] (n2, before-commit-ts) stopped no task",
    ]


def test_a_fault_without_effect_is_reported() -> None:
    lag = '[[faults]]\nname = "learner_lag"\nnode = "{}"\nfrom_ms = 5\nfor_ms = 30\n'
    late = "[run]\nload_ms = 100\n" + lag.format("primary of later") + lag.format("n2")
    late += '[[faults]]\nname = "clog"\nnode = "n2"\nto = "n3"\nkind = "finish"\ndelay_ms = 5\n'
    history = steps({"ddl": "CREATE TABLE later (id INT PRIMARY KEY)", "at_ms": 6}, tail=late)
    assert unmatched(history) == [
        "faults[0] (learner_lag on primary of later) struck nothing: no node had that part",
        "faults[2] (clog) met no message",
    ]


def test_a_link_fault_without_effect_is_reported() -> None:
    """Messages that it is not over, and those that its dice leave alone."""
    fault = '[[faults]]\nname = "message_{}"\n{} = {}\nkind = "{}"\nfrom_ms = {}\nfor_ms = 30\n'
    late = "[run]\nload_ms = 100\n"
    late += fault.format("loss", "probability", 1.0, "finish", 5)
    late += fault.format("duplication", "probability", 1.0, "operate", 5)
    late += fault.format("reordering", "probability", 0.000_001, "operate", 5)
    history = steps({"do": ["put", "t", 1], "at_ms": 6}, tail=late)
    assert unmatched(history) == [
        "faults[0] (message_loss) met no message",
        "faults[2] (message_reordering) left all of the 1 messages that it met as they were",
    ]


def test_outcome_of_names_every_reply() -> None:
    """In which it is compared and reported."""
    assert outcome_of(Answer(Timestamp(0))) == "ok"
    assert outcome_of(Refusal(Timestamp(0), Reason.BAD_ROW)) == "BAD_ROW"
    assert outcome_of(NO_REPLY) == "unknown"
