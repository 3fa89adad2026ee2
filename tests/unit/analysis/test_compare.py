"""The table of designs: its numbers against other computations, its verdicts, its order."""

from collections.abc import Iterator
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from ddlsim.analysis.compare import compare as comparing
from ddlsim.analysis.compare.columns import COLUMNS, brief
from ddlsim.analysis.compare.compare import World, found, line_of, merged, worlds
from ddlsim.analysis.compare.lines import Runs, mean, quantile, rate, share_of, word_of
from ddlsim.analysis.compare.records import SAFETY, WORDS, Line, Value, ordered
from ddlsim.cluster.run import run
from ddlsim.history.events import Failed, Invoked, Ok, SchemaResolved, TxBegan
from ddlsim.history.figures import DATA, bucketed
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageDelivered, MessageSent
from ddlsim.plan.plan import plan
from ddlsim.registry import UnknownPluginError
from ddlsim.verify.campaign import Runner
from ddlsim.verify.prices import FROZEN_MS, Prices, covered_us, prices
from ddlsim.verify.rates import rates
from ddlsim.verify.row import RunRow
from tests.support.compared import a_breach, a_line
from tests.support.results import a_cycle, a_row, a_violation

SEEDS = range(2)
SCENARIO = "comparison/ignite"
DESIGN = "a5_safetime"
"""It waits at nearly every look-up."""


@cache
def histories() -> tuple[History, ...]:
    """Traced runs of a design."""
    return tuple(run(plan(world().scenario, seed, trace=True)) for seed in SEEDS)


@cache
def world(design: str = DESIGN) -> World:
    return worlds([design], SCENARIO, {})[0][0]


@cache
def rows() -> tuple[RunRow, ...]:
    runner = Runner(comparing.job_of(world(), ()))
    return tuple(runner.row(seed) for seed in SEEDS)


@cache
def line() -> Line:
    return line_of(world(), rows(), ())


# --- numbers against another computation ---------------------------------------------------------


def calls(history: History) -> list[tuple[Invoked, Ok | Failed]]:
    """Every data operation and commit that ended, event by event."""
    found = []
    for at, asked in enumerate(history.events):
        if type(asked) is Invoked and (asked.kind in DATA or asked.kind == "commit"):
            for event in history.events[at:]:
                if isinstance(event, Ok | Failed) and event.op == asked.op:
                    found.append((asked, event))
                    break
    return found


def looked_up_for(asked: Invoked, event: SchemaResolved) -> bool:
    """Whether a look-up was made for an operation, by the names of transactions."""
    if event.op is not None:
        return event.op == asked.op
    if asked.kind == "commit":
        return event.tx == asked.tx
    retries = (f"{asked.op}r{number}" for number in range(1, 100))
    return asked.tx is None and event.tx in (asked.op, *retries)


def sent_again(history: History, asked: Invoked) -> Iterator[tuple[int, int]]:
    """The ways of a request and of the answer to send it again, by the labels of messages.

    An operation's requests have labels in a row; the first is sent when it is invoked.
    """
    ways = history.of(MessageDelivered)
    sent = [one for one in history.of(MessageSent) if one.sender == asked.client]
    first = next((one.label for one in sent if one.at_us == asked.at_us), None)
    for told in ways:
        mismatch = told.kind == "mismatch" and told.to == asked.client
        if mismatch and first is not None and 0 <= told.label - first < 16:
            yield told.sent_us, told.at_us
            for ask in ways:
                if (ask.sender, ask.label) == (asked.client, told.label):
                    yield ask.sent_us, ask.at_us


def added_us(history: History) -> list[int]:
    """What the schema added to each operation that succeeded, microsecond by microsecond."""
    taken = []
    looked = [one for one in history.of(SchemaResolved) if one.waited_us]
    for asked, end in calls(history):
        if isinstance(end, Ok):
            spans = [
                (one.at_us - one.waited_us, one.at_us)
                for one in looked
                if looked_up_for(asked, one)
            ]
            busy = np.zeros(end.at_us - asked.at_us, dtype=bool)
            for since, until in [*spans, *sent_again(history, asked)]:
                busy[max(since - asked.at_us, 0) : max(until - asked.at_us, 0)] = True
            taken.append(int(busy.sum()))
    return taken


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_schema_adds_is_what_the_events_say(seed: int) -> None:
    measured = prices(histories()[seed]).added_us
    again = bucketed(added_us(histories()[seed]))
    assert measured == again
    assert sum(again.counts.values()) > 100
    assert sum(n for lower, n in again.counts.items() if lower) > 50


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_of_a_run_are_those_of_its_events(seed: int) -> None:
    history = histories()[seed]
    taken = prices(history)
    servers = [name for name in history.header.settings if name]
    until_us = 1_000 * history.header.settings[""]["load_ms"]
    got = dict.fromkeys(servers, 0)
    sent = told = 0
    for event in history.events:
        if type(event) is MessageDelivered and event.to in got and event.sender != event.to:
            got[event.to] += event.at_us < until_us
        if type(event) is MessageSent and event.sender != event.to:
            sent += 1
            told += event.kind == "mismatch"
    assert taken.received == got
    assert (taken.messages, taken.schema_reads) == (sent, told)
    assert taken.operations == len(calls(history))
    frozen = {
        asked.op
        for asked, _ in calls(history)
        for one in history.of(SchemaResolved)
        if one.waited_us >= 1_000 * FROZEN_MS and looked_up_for(asked, one)
    }
    assert taken.frozen == len(frozen) > 0


def test_a_wait_of_a_retried_implicit_operation_belongs_to_it() -> None:
    """Its second transaction has another name."""
    history = histories()[0]
    again = [
        one.tx for one in history.of(TxBegan) if one.implicit and "r" in one.tx.rpartition(".")[2]
    ]
    assert again
    wait = SchemaResolved(10_000_000, "n1", again[0], None, "commit", None, 1, 1, 1, 10_000_000)
    operation = next(
        one.op for one in history.of(SchemaResolved) if one.tx == again[0] and one.op is not None
    )
    before = prices(history)
    altered = History(history.header)
    altered.events = [*history.events, wait]
    assert operation in {asked.op for asked, end in calls(history) if isinstance(end, Ok)}
    assert prices(altered).added_us.total_us > before.added_us.total_us


def test_a_refused_operation_is_counted() -> None:
    history = History(histories()[0].header)
    history.events = [
        Invoked(1, "c", "c.1", None, "n1", "put", "a", 1),
        Failed(2, "c", "c.1", "METADATA_LATE"),
        Invoked(3, "c", "c.2", None, "n1", "put", "a", 1),
        Failed(4, "c", "c.2", "LOCK_CONFLICT"),
        Invoked(5, "c", "c.d", None, "n1", "ddl"),
        Failed(6, "c", "c.d", "METADATA_LATE"),
    ]
    taken = prices(history)
    assert (taken.operations, taken.refused, taken.added_us.counts) == (2, 1, {})


def test_spans_that_overlap_count_once() -> None:
    spans = [(0, 4), (2, 6), (3, 5), (8, 9), (9, 11)]
    for order in permutations(spans):
        assert covered_us(order, 1, 10) == 5 + 2
    assert covered_us([], 0, 9) == 0
    assert covered_us([(20, 30)], 0, 9) == 0


def percentile(values: list[float], percent: int) -> float:
    """The nearest rank."""
    values = sorted(values)
    return values[max(-(-percent * len(values) // 100), 1) - 1]


def ddl_ms() -> Iterator[float]:
    """The latency of each statement that was answered, of all runs."""
    for history in histories():
        begun = {one.op: one.at_us for one in history.of(Invoked) if one.kind == "ddl"}
        for event in history.of(Ok):
            if event.op in begun:
                yield (event.at_us - begun[event.op]) / 1_000


def test_quantiles_are_those_of_all_runs_together() -> None:
    added = [us / 1_000 for history in histories() for us in added_us(history)]
    for value, percent in ((line().dml_added_p50, 50), (line().dml_added_p99, 99)):
        assert value.value == pytest.approx(percentile(added, percent), rel=0.009)
    assert line().ddl_p50.value == pytest.approx(percentile(list(ddl_ms()), 50), rel=0.009)
    assert line().ddl_p99.value is None
    assert line().ddl_p99.why.startswith(f"only {len(list(ddl_ms()))} durations")


def test_what_the_schema_adds_on_average_is_of_all_operations() -> None:
    added = [us / 1_000 for history in histories() for us in added_us(history)]
    assert line().dml_added_mean.value == pytest.approx(sum(added) / len(added), rel=1e-5)


def test_ratios_are_of_sums() -> None:
    taken = [one.prices for one in rows()]
    figures = [one.figures for one in rows()]
    assert all(taken)
    assert all(figures)
    committed = sum(one.committed for one in figures if one)
    assert line().messages_per_transaction.value == pytest.approx(
        sum(one.messages for one in taken if one) / committed, abs=1e-6
    )
    assert line().reads_per_ddl.value == pytest.approx(
        sum(one.schema_reads or 0 for one in taken if one) / len(list(ddl_ms())), abs=1e-6
    )
    most = [max(one.received.values()) for one in taken if one]
    assert line().hottest_per_s.value == pytest.approx(sum(most) / (2.0 * len(SEEDS)), abs=1e-6)
    aborts = sum(one.schema_abort_rate * one.attempts for one in figures if one)
    attempts = sum(one.attempts for one in figures if one)
    assert line().schema_aborts.value == pytest.approx(aborts / attempts, abs=1e-5)


def test_pooling_is_no_mean_of_quantiles() -> None:
    quick, slow = bucketed([1_000] * 900), bucketed([200_000] * 100)
    assert quantile([quick, slow], 0.5).value == pytest.approx(1.0, rel=0.009)
    assert quantile([quick, slow], 0.95).value == pytest.approx(200.0, rel=0.009)
    few, many = np.array([1.0, 0.0]), np.array([1.0, 99.0])
    assert share_of(few, many, "attempts").value == rate(few, many, "attempts").value == 0.01


def test_an_empty_cell_has_its_reason() -> None:
    assert quantile([bucketed([])], 0.5).why.startswith("no durations")
    assert rate(np.zeros(2), np.zeros(2), "attempts") == Value(None, why="no attempts")


def test_zeros_bound_shares_and_rates_but_no_mean() -> None:
    none, each = np.zeros(4), np.full(4, 0.5)
    assert mean([bucketed([0] * 200)] * 4) == Value(0.0, 0.0, None)
    assert mean([bucketed([0] * 200), bucketed([0] * 199 + [9])]).high is not None
    assert share_of(none, 600 * each, "attempts").high == pytest.approx(0.0025, rel=0.01)
    assert rate(none, each, "seconds").high == pytest.approx(1.5, rel=0.01)


def test_an_open_interval_is_shown_as_such() -> None:
    (column,) = [one for one in COLUMNS if one.key == "dml_added_mean"]
    assert column.interval(structs.replace(line(), dml_added_mean=Value(0.0, 0.0))) == "0.00 to ∞"
    assert column.interval(structs.replace(line(), dml_added_mean=Value(None))) == ""


def test_a_tail_of_few_durations_has_no_upper_end() -> None:
    taken = [bucketed([9] * 100)] * 2
    assert quantile(taken, 0.99).high is None
    assert quantile(taken * 2, 0.99).high == pytest.approx(quantile(taken, 0.5).value)
    elsewhere = [
        structs.replace(row, prices=structs.replace(row.prices, schema_reads=None))
        for row in rows()
        if row.prices is not None
    ]
    value = line_of(world(), elsewhere, ()).reads_per_ddl
    assert value == Value(
        None, why="runs on plane ignite do not tell which requests are for the schema"
    )


def test_runs_that_did_not_finish_are_told() -> None:
    crash = structs.replace(rows()[0], figures=None, prices=None, crash="it fell")
    one = line_of(world(), [crash], ())
    assert (one.verdict, one.lost, one.runs, one.crash) == ("not judged", 1, 1, "it fell")
    assert one.strict_share.why == "no run finished"
    assert line_of(world(), [crash, rows()[1]], ()).lost == 1


# --- common random numbers -----------------------------------------------------------------------


@pytest.mark.parametrize("plane", ["ignite", "fdb"])
def test_all_designs_of_a_plane_meet_the_same_world(plane: str) -> None:
    """Arrivals, keys, kinds of operations, statements, faults, clocks and the seed of delays: all
    of a plan but its design is equal."""
    known = [one for one in worlds([], None, {})[0] if one.scenario.table.cluster.plane == plane]
    assert len(known) > 25
    plans = {one.design: structs.asdict(plan(one.scenario, 7)) for one in known}
    first = plans[known[0].design]
    assert first["programs"]
    assert first["faults"]
    assert len({node.clock_offset_us for node in first["nodes"]}) > 1
    for design, own in plans.items():
        differ = {part for part in own if own[part] != first[part]} - {"overrides", "strategy"}
        assert not differ, design


# --- verdicts ------------------------------------------------------------------------------------


def priced(*each: RunRow, met: int = 1) -> list[RunRow]:
    """Rows made by hand, with prices; each run met so many changes."""
    none = structs.replace(rates(History(histories()[0].header)), met=met)
    nothing = Prices(0, 0, 0, bucketed([]), 0, 0, 0, {"n1": 0}, 1_000, 0, None, none)
    return [structs.replace(row, prices=nothing) for row in each]


def verdict(*each: RunRow, design: str = "iep_closed", shown: Any = ()) -> Line:
    return line_of(world(design), priced(*each), shown)


def test_runs_that_meet_no_change_prove_no_safety_and_a_breach_of_it_counts_nevertheless() -> None:
    own_ddl = a_violation(invariant="I4", checker="own_ddl", severity="session")
    for design, row in (("iep_closed", a_row(0)), ("iep", a_row(0)), ("iep", a_row(0, own_ddl))):
        assert line_of(world(design), priced(row, met=0), ()).verdict == "untested"
    assert line_of(world("iep"), priced(a_row(0, a_cycle()), met=0), ()).verdict == "unsafe"
    some = [*priced(a_row(0), met=0), *priced(a_row(1), met=3)]
    assert line_of(world("iep_closed"), some, ()).verdict == "safe"
    assert line_of(world("iep_closed"), some, ()).changes_met.value == 1.5


UNCLAIMED = {"status": "accepted", "because": "not claimed"}


def test_the_verdict_is_that_of_the_worst_breach() -> None:
    own_ddl = a_violation(invariant="I4", checker="own_ddl", severity="session")
    beyond = a_violation(status="out_of_assumption")
    assert verdict(a_row(0), a_row(1)).verdict == "safe"
    assert verdict(a_row(0), design="iep").verdict == "holes"
    assert verdict(a_row(0), design="a3_barrier").known
    assert verdict(a_row(0, a_cycle("finding:F-2"))).verdict == "holes"
    assert verdict(a_row(0, own_ddl)).verdict == "weaker"
    assert verdict(a_row(0, own_ddl), a_row(1, beyond)).verdict == "conditional"
    assert verdict(a_row(0, beyond), a_row(1, a_violation(**UNCLAIMED))).verdict == "unclaimed"
    assert verdict(a_row(0, a_violation(**UNCLAIMED)), a_row(1, a_cycle())).verdict == "unsafe"
    assert verdict(a_row(0), shown=[a_breach()]).verdict == "unsafe"


@pytest.mark.parametrize("invariant", ["I4", "I6", "I12"])
def test_what_is_accepted_beside_safety_is_no_breach(invariant: str) -> None:
    beside = a_violation(invariant=invariant, **UNCLAIMED)
    assert verdict(a_row(0, beside)).breaches == ()


def test_what_only_the_strict_graph_shows_is_told_and_breaks_no_claim() -> None:
    strict = a_cycle(strict_only=True)
    one = verdict(a_row(0, strict), a_row(1))
    assert (one.verdict, one.breaches) == ("safe", ())
    assert "I3" in one.kept
    assert [(each.invariant, each.runs, each.strict_only) for each in one.strict] == [("I3", 1, 1)]
    assert one.strict_share.value == 0.5


def test_a_breach_tells_its_runs_and_the_command_of_the_first() -> None:
    runs = Runs(
        plan_header(), SCENARIO, priced(a_row(3), a_row(4, a_violation()), a_row(9, a_violation()))
    )
    (breach,) = found(world("iep_closed"), runs)
    assert (breach.runs, breach.of, breach.seed) == (2, 3, 4)
    assert breach.command == f"ddlsim run {SCENARIO} --strategy iep_closed --seed 4"


def plan_header() -> Any:
    return histories()[0].header.design


def test_shipped_scenarios_add_to_what_the_runs_show() -> None:
    shown = a_breach(source="shipped", shortest="ddlsim run x", steps=3)
    assert merged([], [shown]) == [shown]
    own = a_breach(runs=7)
    assert merged([own], [shown]) == [structs.replace(own, shortest="ddlsim run x", steps=3)]
    weaker = a_breach(status="accepted")
    assert merged([weaker], [shown]) == [shown]
    assert merged([own], [structs.replace(shown, status="accepted")]) == [own]
    assert [one.invariant for one in merged([a_breach(invariant="I12")], [shown])] == ["I1", "I12"]


@pytest.mark.parametrize(
    ("design", "broken"),
    [
        ("a7_unmerged", {"I1": "violation", "I12": "violation"}),
        ("b12_naive_check", {"I7": "violation"}),
        ("b7_off", {"I3": "violation"}),
        ("a7_dd", {}),
        ("iep", {}),
        ("b3_opt3", {}),
    ],
)
def test_what_shipped_scenarios_show_of_a_design(design: str, broken: dict[str, str]) -> None:
    shown = known().breaches(design)
    assert {one.invariant: one.status for one in shown} == broken
    assert all(one.steps and one.shortest.startswith("ddlsim run strategies/") for one in shown)


@cache
def known() -> Any:
    return comparing.Shipped()


def test_a_scenario_that_judges_all_claims_tells_of_unclaimed_safety_only() -> None:
    shown = known().breaches("a0_on_receipt")
    assert {one.status for one in shown} == {"accepted"}
    assert {one.invariant for one in shown} <= {*SAFETY}


# --- order ---------------------------------------------------------------------------------------


def test_safe_comes_first_then_dml_then_ddl_then_names() -> None:
    due = [
        a_line("z", dml_added_p99=Value(1.0), ddl_p99=Value(9.0)),
        a_line("y", dml_added_p99=Value(2.0), ddl_p99=Value(1.0)),
        a_line("a", dml_added_p99=Value(2.0), ddl_p99=Value(3.0)),
        a_line("b", dml_added_p99=Value(2.0), ddl_p99=Value(3.0)),
        a_line("c", dml_added_p99=Value(2.0), ddl_p99=Value(None, why="few")),
        *(
            a_line(f"0{place}", verdict=word, dml_added_p99=Value(0.0))
            for place, word in enumerate(WORDS)
            if word != "safe"
        ),
    ]
    for shift in range(len(due)):
        assert ordered([*due[shift:], *due[:shift]]) == due
    assert ordered(reversed(due)) == due


def test_where_some_do_not_tell_what_they_add_the_whole_latency_counts() -> None:
    untold = a_line("u", dml_added_p99=Value(None, why="untold"), dml_p99=Value(5.0))
    slow = a_line("s", dml_added_p99=Value(1.0), dml_p99=Value(9.0))
    quick = a_line("q", dml_added_p99=Value(2.0), dml_p99=Value(4.0))
    assert ordered([untold, slow, quick]) == [quick, untold, slow]
    assert ordered([quick, slow]) == [slow, quick]


def test_verdicts_are_ordered_from_best_to_worst() -> None:
    words = [
        word_of([a_breach(status=status, severity=severity)], holes=True, tested=True)
        for status, severity in (
            ("violation", "session"),
            ("out_of_assumption", "safety"),
            ("accepted", "safety"),
            ("violation", "safety"),
        )
    ]
    words.insert(1, word_of([], holes=True, tested=False))
    assert ["safe", "holes", *words, "not judged"] == list(WORDS)


# --- numbers as they are shown -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0.0, "0.00"), (0.123, "0.12"), (99.994, "99.99"), (151.42, "151.4"), (1234.5, "1,234")],
)
def test_a_number_has_the_digits_it_needs(number: float, shown: str) -> None:
    assert brief(number) == shown


# --- what cannot be compared ---------------------------------------------------------------------


def test_what_cannot_be_compared_is_refused_before_any_run() -> None:
    with pytest.raises(UnknownPluginError, match="did you mean iep"):
        worlds(["iepp"], None, {})
    with pytest.raises(comparing.CompareError, match="has a mutant"):
        worlds(["iep"], "negative/no_commit_check", {})
    with pytest.raises(comparing.CompareError, match="sets fields"):
        worlds(["iep"], "strategies/A7-T4", {})


def test_a_design_of_another_plane_is_left_out_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = structs.replace(comparing.DESIGNS.get("iep").header, name="elsewhere", plane="moon")
    designs = {"iep": comparing.DESIGNS.get("iep").header, "elsewhere": other}
    monkeypatch.setattr(comparing, "header_of", designs.__getitem__)
    monkeypatch.setattr(comparing, "DESIGNS", designs)
    chosen, left = worlds([], None, {})
    assert [one.design for one in chosen] == ["iep"]
    assert [(one.design, one.why) for one in left] == [
        ("elsewhere", "no scenario comparison/moon is shipped; name one with --scenario")
    ]
    chosen, left = worlds([], "smoke", {})
    assert [one.design for one in left] == ["elsewhere"]
    with pytest.raises(comparing.CompareError, match="runs on plane moon"):
        worlds(["elsewhere"], "smoke", {})
    with pytest.raises(comparing.CompareError, match="no design to run"):
        worlds(["elsewhere"], None, {})
