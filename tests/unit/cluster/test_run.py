"""The four acts of a run: set up, load under faults, heal, drain and read back."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.case.case import Case
from ddlsim.cluster.designs import BadDesignError, declared, design, rules_of, with_fields
from ddlsim.cluster.run import run
from ddlsim.history.events import Ok, RowFinal, SafeTimeAdvanced, TxCommitted
from ddlsim.history.history import History
from ddlsim.history.world_events import (
    ClockSet,
    FaultBegan,
    FaultHealed,
    LeaderSteppedDown,
    MessageDelivered,
    MessageSent,
    NeverCompleted,
)
from ddlsim.kernel.engine import SimulationCrashed
from ddlsim.model.ops import Delete, Get, Put
from ddlsim.mutants.base import MUTANTS
from ddlsim.plan.records import ClockStep, FaultPlan, HoldPlan, LeaderPlan, TickPlan
from ddlsim.protocol.design.time_rules import at_message, never_waits
from ddlsim.strategies.base import STRATEGIES
from ddlsim.strategies.iep import IEP
from ddlsim.units import Micros, ms
from tests.support.worlds import planned, program, ran, transaction

PUT = Put("t", 1, {"v": 5})
LATE = transaction(Get("t", 1), pause_us=ms(100))


def faulty(*faults: FaultPlan, **changes: Any) -> History:
    """A run of one client for a second, under faults."""
    fields = {"programs": (program(LATE),), "load_until_us": ms(1_000)}
    return ran(faults=faults, **(fields | changes))


def pause(from_ms: int, until_ms: int | None, node: str = "n2") -> FaultPlan:
    until_us = None if until_ms is None else ms(until_ms)
    return FaultPlan("pause", {"node": node}, ms(from_ms), until_us)


# --- the design ----------------------------------------------------------------------------------


def test_a_design_is_a_strategy_with_fields_and_a_mutant() -> None:
    """Each by its name; without any it is the strategy itself."""
    assert design(planned()) == (IEP, design(planned())[1], None)
    chosen, _, mutant = design(
        planned(strategy_fields={"activation_ts": "at_message"}, mutant="no_completeness_wait")
    )
    assert (chosen.activation_ts, chosen.completeness_ts) == (at_message, never_waits)
    assert mutant is MUTANTS.get("no_completeness_wait")
    assert design(planned(strategy="a5_safetime"))[0] is STRATEGIES.get("a5_safetime")


def test_a_mutant_may_replace_a_part() -> None:
    """And then leaves the strategy alone."""
    chosen, parts, mutant = design(planned(mutant="open_boundary"))
    assert mutant is not None
    assert chosen is IEP or chosen == IEP
    assert (mutant.replaced, mutant.rule) == ("catalog", parts.catalog)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (
            {"activation": "at_message"},
            "strategy.activation: no such field; did you mean activation_ts",
        ),
        ({"header": "IEP"}, "strategy.header: no such field"),
        (
            {"activation_ts": "soon"},
            "no rule of it is called 'soon'; rules: at_message_plus_delay, at_message",
        ),
        ({"activation_ts": "__name__"}, "no rule of it is called '__name__'"),
        ({"install": 7}, "no rule of it is called 7"),
        ({"completeness_ts": "up_to_ten_times"}, "no rule of it is called 'up_to_ten_times'"),
        ({"completeness_ts": "Strategy"}, "no rule of it is called 'Strategy'"),
        ({"install": "logged"}, "no rule of it is called 'logged'; rules: replicate_wait"),
        ({"alias_ms": -1}, "strategy.alias_ms: expected a whole number, 0 or more, not -1"),
        ({"alias_ms": "alias"}, "strategy.alias_ms: expected a whole number"),
        ({"alias_ms": True}, "strategy.alias_ms: expected a whole number"),
    ],
)
def test_with_fields_refuses_unknown_fields_and_rules(
    fields: dict[str, Any], complaint: str
) -> None:
    """What is not is bad input, not a crash."""
    with pytest.raises(BadDesignError, match=complaint):
        with_fields(IEP, fields)


def test_a_field_that_is_a_number_takes_a_number() -> None:
    assert with_fields(IEP, {"rename": "alias", "alias_ms": 50}).alias_ms == 50


def test_header_has_all_that_repeats_the_run() -> None:
    """And what a judge has to know."""
    plan = planned("[protocol.nodes.n2]\ndelay_duration_ms = 30", seed=7, reaches=("x",))
    header = ran("[protocol.nodes.n2]\ndelay_duration_ms = 30", seed=7, reaches=("x",)).header
    assert (header.scenario, header.seed, header.scenario_text) == (
        "small.toml",
        7,
        plan.scenario_text,
    )
    assert (header.design, header.mutant, header.reaches) == (declared(plan), None, ("x",))
    assert header.design == structs.replace(IEP.header, rules=rules_of(IEP))
    assert header.settings["n2"]["delay_duration_ms"] == 30
    assert header.settings[""]["delay_duration_ms"] == 100
    assert (header.strict, header.expect) == (False, "ok")


# --- the load ------------------------------------------------------------------------------------


def test_all_clients_work_at_the_same_time() -> None:
    """Each by its own program."""
    programs = [program(transaction(PUT, pause_us=ms(at)), client=f"c{at}") for at in (30, 10, 20)]
    history = ran(programs=tuple(programs), load_until_us=ms(100))
    assert [event.tx for event in history.of(TxCommitted)] == ["c10.1", "c20.1", "c30.1"]


def test_a_run_ends_when_all_is_at_rest() -> None:
    """Not before the end of the load, and soon after it."""
    history = ran(programs=(program(LATE),), load_until_us=ms(300))
    assert history.end_us == ms(300)
    slow = program(transaction(Get("t", 1), Get("t", 1), gap_us=ms(420)))
    history = ran(programs=(slow,), load_until_us=ms(300))
    assert ms(420) <= history.end_us <= ms(480)
    assert len(history.of(Ok)) == 3


def test_ticks_can_be_planned() -> None:
    """Where the idle ones are switched off there are no others."""
    ticks = tuple(TickPlan(ms(at)) for at in (20, 70))
    history = ran(ticks=ticks, idle_ticks=False, load_until_us=ms(300))
    moved = [event.at_us for event in history.of(SafeTimeAdvanced) if event.node == "n3"]
    assert moved == [0, ms(20), ms(70)]
    assert history.probes["idle-tick"] == 2


def test_clocks_can_be_set_during_the_run() -> None:
    """To an offset from true time, to a rate, or both."""
    changes = (
        ClockStep("n2", ms(100), 9_000, None),
        ClockStep("n2", ms(200), None, 1_000),
        ClockStep("n2", ms(300), -5_000, 0),
    )
    history = ran(clock_steps=changes, load_until_us=ms(400))
    told = [
        (event.at_us, event.offset_us, event.drift_ppm)
        for event in history.of(ClockSet)
        if event.node == "n2"
    ]
    assert told[1:3] == [(ms(100), 9_000, 0), (ms(200), 9_000, 1_000)]
    assert told[-1] == (ms(300), -5_000, 0)


# --- faults --------------------------------------------------------------------------------------


def spans(history: History) -> list[tuple[str, int]]:
    """What began or was healed when, in ms."""
    return [
        (type(event).__name__, event.at_us // 1000) for event in history.of(FaultBegan, FaultHealed)
    ]


def test_a_fault_begins_and_heals_when_it_is_planned() -> None:
    """Here it stands still while a client waits for it."""
    history = faulty(pause(50, 400))
    assert spans(history) == [("FaultBegan", 50), ("FaultHealed", 400)]
    assert {event.node for event in history.of(FaultBegan, FaultHealed)} == {"n2"}
    assert [event.at_us for event in history.of(Ok)] == [ms(400), ms(400)]


@pytest.mark.parametrize("until_ms", [None, 5_000])
def test_the_end_of_the_load_heals_every_fault(until_ms: int | None) -> None:
    """Also one that was to go on; it is healed once."""
    history = faulty(pause(50, until_ms))
    assert spans(history) == [("FaultBegan", 50), ("FaultHealed", 1_000)]
    assert [event.at_us for event in history.of(Ok)] == [ms(1_000)] * 2


def test_a_fault_that_would_begin_after_the_load_does_not_begin() -> None:
    """Nothing would heal it any more."""
    slow = program(transaction(Get("t", 1), Get("t", 1), gap_us=ms(1_400)))
    history = faulty(pause(1_200, None), pause(1_300, 1_350), programs=(slow,))
    assert spans(history) == []
    assert history.of(NeverCompleted) == []
    assert len(history.of(Ok)) == 3


def test_a_fault_at_the_very_end_of_the_load_is_healed_at_once() -> None:
    """It has begun, after all."""
    assert spans(faulty(pause(1_000, None))) == [("FaultBegan", 1_000), ("FaultHealed", 1_000)]


def test_the_header_says_by_how_much_faults_slow_what_is_applied() -> None:
    """All of them together; their delays are in milliseconds."""
    slow = FaultPlan("slow_listener", {"node": "n2", "delay_ms": 2.5, "stage": "log"}, ms(1), ms(9))
    assert faulty(slow, slow, pause(2, 3)).header.settings[""]["slow_apply_us"] == 5_000
    assert faulty(pause(2, 3)).header.settings[""]["slow_apply_us"] == 0


def test_a_hand_over_by_a_script_is_in_the_header_and_no_leader_is_lost_by_it() -> None:
    handed = ran(leaders=(LeaderPlan("meta", "n2", 0), LeaderPlan("meta", "n2", ms(40))))
    assert handed.header.settings[""]["handed_over_us"] == 40_000
    assert [event.node for event in handed.events if type(event) is LeaderSteppedDown] == ["n1"]
    assert list(CHECKERS.get("liveness").check(Case(handed))) == []
    assert "handed_over_us" not in ran().header.settings[""]


def test_faults_that_overlap_end_each_at_its_own_time() -> None:
    """The node goes on when the last one is over."""
    history = faulty(pause(50, 300), pause(60, 200), pause(70, 400))
    assert [event.at_us for event in history.of(Ok)] == [ms(400)] * 2


# --- the drain -----------------------------------------------------------------------------------


def test_drain_records_what_never_completed() -> None:
    """The history has the operation and what it waits for."""
    hold = HoldPlan("n1", "n2", "operate", Micros(0), None, None, None)
    history = ran(programs=(program(LATE),), holds=(hold,), load_until_us=ms(300), drain_us=ms(500))
    [never] = history.of(NeverCompleted)
    assert (never.client, never.op, never.waits_for) == ("c", "c.1.0", "an answer to get from n1")
    assert (never.at_us, history.end_us) == (ms(800), ms(800))


def test_drain_waits_for_intents_and_locks() -> None:
    """A cleanup that is late belongs to the run."""
    hold = HoldPlan(None, "n3", "cleanup", Micros(0), ms(700), None, None)
    put = transaction(PUT, Put("u", 1, {"v": 5}))
    tables = '[schema]\nsql = "CREATE TABLE t (id INT PRIMARY KEY, v INT);'
    tables += 'CREATE TABLE u (id INT PRIMARY KEY, v INT)"\n'
    history = ran(tables, programs=(program(put),), holds=(hold,), load_until_us=ms(300))
    assert ms(700) <= history.end_us <= ms(760)
    assert [(event.node, event.object_id) for event in history.of(RowFinal)] == [
        ("n2", 1),
        ("n3", 2),
    ]


def test_drain_ends_though_idle_commands_come_with_each_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: compared by their indexes alone, some replica has always to apply the last one."""
    text = "[cluster]\nreplicas = 3\n[network]\nlatency_ms = 0.2\n"
    made = planned(
        text, programs=(program(LATE),), load_until_us=Micros(301_050), drain_us=ms(4_000)
    )
    for node in made.nodes:
        node.settings["partition_idle_ms"] = 5
    assert run(made).end_us < ms(500)
    monkeypatch.setattr("ddlsim.cluster.final_state._hold_the_same", lambda _one, _other: False)
    assert run(made).end_us == Micros(4_301_050)


def test_drain_waits_for_a_follower_that_lacks_a_row() -> None:
    """The write is committed and its locks are free; the third replica is sent nothing for 1 s."""
    hold = HoldPlan(None, "n3", "partition-raft", ms(50), ms(1_300), None, None)
    text = "[cluster]\nreplicas = 3\n[network]\nlatency_ms = 0.2\n"
    puts = [transaction(PUT, implicit=True, pause_us=ms(at)) for at in (0, 100)]
    history = ran(text, programs=(program(*puts),), holds=(hold,), load_until_us=ms(301))
    assert history.end_us >= ms(1_300)
    rows = [(event.node, event.writer) for event in history.of(RowFinal)]
    assert rows == [("n1", "c.2"), ("n2", "c.2"), ("n3", "c.2")]


# --- reading back --------------------------------------------------------------------------------


def test_storage_is_read_back_at_the_end() -> None:
    """The newest version of every key, deletions included."""
    items = [transaction(do, implicit=True) for do in (PUT, Put("t", 1, {"v": 6}), Put("t", 2))]
    items.append(transaction(Delete("t", 2), implicit=True))
    history = ran(programs=(program(*items),), load_until_us=ms(100))
    commits = {event.tx: event.commit_ts for event in history.of(TxCommitted)}
    rows = history.of(RowFinal)
    assert [
        (e.node, e.object_id, e.partition, e.key, e.writer, e.version, e.row) for e in rows
    ] == [
        ("n2", 1, 0, 1, "c.2", 1, ((1, 1), (2, 6))),
        ("n2", 1, 0, 2, "c.4", 1, None),
    ]
    assert [event.commit_ts for event in rows] == [commits["c.2"], commits["c.4"]]


# --- the trace, and recording off ----------------------------------------------------------------


def test_with_a_trace_every_message_is_in_the_history() -> None:
    """Those that arrive twice; without it there are none, and all else is the same."""
    fields: dict[str, Any] = {"programs": (program(LATE),), "load_until_us": ms(200)}
    latency = "[network]\nlatency_ms = 2\n"
    traced, plain = ran(latency, trace=True, **fields), ran(latency, **fields)
    sent = [e for e in traced.of(MessageSent) if e.kind == "operate"]
    arrived = [e for e in traced.of(MessageDelivered) if e.kind == "operate"]
    assert [(e.sender, e.to) for e in sent] == [("n1", "n2")]
    assert [(e.at_us - e.sent_us, e.label) for e in arrived] == [(2_000, sent[0].label)]
    kept = [e for e in traced.events if not isinstance(e, MessageSent | MessageDelivered)]
    assert kept == plain.events
    assert traced.executed_events == plain.executed_events


@pytest.mark.parametrize("differing", [lambda h: h.end_us, lambda h: h.executed_events])
def test_events_grow_with_the_load(differing: Callable[[History], int]) -> None:
    """What a run tells of its length is true."""
    short, long = (ran(load_until_us=ms(at)) for at in (100, 400))
    assert differing(short) < differing(long)


def test_the_header_names_the_rules_of_the_design_as_declared() -> None:
    """A field that the scenario sets is one of the design; what a mutant breaks is not."""
    fields = '[strategy]\nlookup_ts = "looked_up_at_operation"\ncompleteness_ts = "at_operation"\n'
    rules = declared(planned(f'{fields}mutant = "no_commit_check"')).rules
    assert rules["completeness_ts"] == "at_operation"
    assert rules["check_commit"] == "each_step_forward_compatible"
    assert rules["check_operation_when"] == "ARRIVAL_AND_AFTER_LOCKS"
    assert rules["validate_at_finish"] == "none"


def test_a_rule_from_outside_of_the_protocol_has_a_dotted_name() -> None:
    """Even where it is called like one of the protocol's: findings excuse by names."""

    def schema_at_commit_ts() -> None:
        """Nothing."""

    fields: dict[str, Any] = {"commit_schema": schema_at_commit_ts}
    found = rules_of(dataclasses.replace(IEP, **fields))
    assert found["commit_schema"] == f"{__name__}.schema_at_commit_ts"


def test_every_rule_of_every_design_has_a_name_of_the_protocol() -> None:
    """One that a scenario can give: set by it, the field is the same."""
    for name, chosen in STRATEGIES.items():
        for field, rule in rules_of(chosen).items():
            if not rule.isdigit():
                named = with_fields(IEP, {field: rule})
                assert getattr(named, field) is getattr(chosen, field), (name, field)


def test_a_run_of_too_many_events_ends() -> None:
    plan = planned(programs=(program(LATE),), load_until_us=ms(1_000))
    events = run(plan).executed_events
    assert run(plan, events_max=events).executed_events == events
    with pytest.raises(SimulationCrashed, match=f"more than {events // 2} events"):
        run(plan, events_max=events // 2)
