"""The likelihood of a violation along its run: continuations, and where it changes."""

from math import sqrt

import pytest
from msgspec import structs

from ddlsim.checkers.judge import judge
from ddlsim.cli.picture.rerun import with_messages
from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageDelivered, MessageSent
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan, Redraw
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read
from ddlsim.search import likelihood as module
from ddlsim.search.likelihood import Curve, Job, Sends, continued, likelihood, question
from ddlsim.units import Micros

LATE = """\
title = "A statement that may be late, and a commit that is not checked"

[strategy]
name = "iep"
mutant = "no_commit_check"

[protocol]
preset = "ignite3_tests"
delay_duration_ms = 50

[cluster]
nodes = 3
voters = 1

[network]
latency_ms = 1

[[network.links]]
from = "n2"
to = "n1"
latency_ms = { distribution = "uniform", low = 0, high = 200 }

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"

[[step]]
id = "w"
client = "c1"
tx = "T1"
node = "n1"
at_ms = 50
do = ["put", "t", 1, { v = 5 }]

[[step]]
id = "d"
client = "c2"
node = "n2"
at_ms = 100
ddl = "ALTER TABLE t DROP COLUMN v"

[[step]]
id = "c"
client = "c1"
tx = "T1"
at_ms = 250
do = "commit"
"""
"""The statement is sent at 100 ms and logged within 200; DD later it is active, before the commit
or behind it. Nothing else depends on a delay that is drawn."""
SENT_MS, DD_MS, COMMIT_MS = 100, 50, 250
SEED = 9


def planned(seed: int = SEED) -> Plan:
    return plan(read(LATE, "late"), seed, trace=True)


def submit_took_ms(history: History) -> float:
    """How long the statement was on its way to the leader of the meta storage."""
    [took_us] = [
        event.at_us - event.sent_us
        for event in history.events
        if isinstance(event, MessageDelivered) and event.kind == "submit"
    ]
    return took_us / 1000


def is_in_time(took_ms: float) -> bool:
    """Whether the statement is active when the transaction commits: by hand, not by a judge."""
    return SENT_MS + took_ms + DD_MS <= COMMIT_MS


# --- continuations --------------------------------------------------------------------------------

WORLDS: dict[str, tuple[str, dict[str, object]]] = {
    "each delay by itself": ("smoke", {}),
    "PCT": ("smoke", {"network.schedule": {"name": "pct", "depth": 3}}),
    "near instants": ("smoke", {"network.schedule": {"name": "boundary", "share": 0.3}}),
    "a store": ("comparison/fdb", {}),
}


def world(name: str) -> Plan:
    scenario, settings = WORLDS[name]
    return plan(load(scenario, settings), 1, trace=True)


@pytest.mark.parametrize("after_us", [0, 101_000, 333_333])
@pytest.mark.parametrize("name", WORLDS)
def test_a_run_that_draws_by_its_own_seed_again_is_the_same(name: str, after_us: int) -> None:
    own = world(name)
    again = structs.replace(own, redraw=Redraw(Micros(after_us), own.network_seed))
    assert run(again).fingerprint() == run(own).fingerprint()


@pytest.mark.parametrize("name", WORLDS)
def test_a_continuation_repeats_the_run_up_to_its_instant_and_not_beyond(name: str) -> None:
    own, after_us = world(name), 301_000
    first, second = run(own).events, run(continued(own, Job(after_us, 0))).events
    past = [event for event in first if event.at_us <= after_us]
    assert past == [event for event in second if event.at_us <= after_us]
    sent = [event for event in past if isinstance(event, MessageSent)]
    assert len(sent) > 100

    def took_us(events: list[object]) -> list[int]:
        return [
            event.at_us - event.sent_us
            for event in events
            if isinstance(event, MessageDelivered) and event.sent_us > after_us
        ][:100]

    assert took_us(list(first)) != took_us(list(second))


def test_under_pct_every_link_draws_its_quantile_anew() -> None:
    own, after_us = world("PCT"), 301_000

    def took_us(history: History) -> dict[tuple[str, str, str], int]:
        """Of the first message of each kind that n2 and n3, which are not demoted then, send."""
        found: dict[tuple[str, str, str], int] = {}
        for one in history.events:
            if not isinstance(one, MessageDelivered) or one.sender not in {"n2", "n3"}:
                continue
            if one.to.startswith("n") and after_us < one.sent_us < after_us + 60_000:
                found.setdefault((one.sender, one.to, one.kind), one.at_us - one.sent_us)
        return found

    first, second = took_us(run(own)), took_us(run(continued(own, Job(after_us, 0))))
    both = first.keys() & second.keys()
    assert len(both) > 5
    assert all(first[link] != second[link] for link in both)


def test_a_message_that_is_under_way_arrives_when_it_would_have() -> None:
    own, after_us = world("each delay by itself"), 301_000

    def arrivals(history: History) -> set[tuple[object, ...]]:
        return {
            (one.sender, one.to, one.kind, one.label, one.at_us)
            for one in history.events
            if isinstance(one, MessageDelivered) and one.sent_us <= after_us < one.at_us
        }

    first = arrivals(run(own))
    assert first
    assert first == arrivals(run(continued(own, Job(after_us, 3))))


def test_a_continuation_from_the_beginning_draws_everything_anew() -> None:
    took = {submit_took_ms(run(continued(planned(), Job(None, number)))) for number in range(5)}
    assert len(took) == 5


# --- the likelihood, by hand ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def late() -> History:
    return run(planned())


def test_each_continuation_shows_what_its_own_delay_makes_of_it(late: History) -> None:
    [violation] = [one for one in judge(late).violations if one.invariant == "I8"]
    continuer = module.Continuer(question(late, violation, strict=False, all_claims=False))
    expected = [
        is_in_time(submit_took_ms(run(continued(planned(), Job(None, number)))))
        for number in range(40)
    ]
    assert {True, False} == set(expected)
    assert [continuer.shows(Job(None, number)) for number in range(40)] == expected


def test_the_curve_rises_at_the_message_that_decides(late: History) -> None:
    assert is_in_time(submit_took_ms(late))
    [violation] = [one for one in judge(late).violations if one.invariant == "I8"]
    asked = question(late, violation, strict=False, all_claims=False)
    traced = with_messages(late)
    assert traced is not None
    many = 60
    found = likelihood(traced, violation, asked, continuations=many, jobs=1)
    first, last = found.points[0], found.points[-1]
    assert first.sent_us is None
    share = (COMMIT_MS - DD_MS - SENT_MS) / 200
    assert abs(first.shows / many - share) < 4 * sqrt(share * (1 - share) / many)
    assert last.shows == many
    [rise] = found.rises
    assert (rise.from_us, rise.before, rise.after) == (SENT_MS * 1000, first.shows, many)
    assert rise.messages[0].kind == "submit"
    assert rise.messages[0].took_us == submit_took_ms(late) * 1000
    for point in found.points:
        sent_ms = 0 if point.sent_us is None else point.sent_us / 1000
        assert point.shows == (many if sent_ms > SENT_MS else first.shows)


def test_a_violation_of_another_status_is_another_one(late: History) -> None:
    violation = judge(late).violations[0]
    asked = question(late, violation, strict=False, all_claims=False)
    job = Job(late.end_us, 0)
    assert module.Continuer(asked).shows(job)
    assert not module.Continuer(structs.replace(asked, status="accepted")).shows(job)


def test_what_never_ends_is_complete_at_the_end_of_the_run_alone(late: History) -> None:
    """What decides whether it ends may be sent long after the last event that is shown."""
    traced = with_messages(late)
    assert traced is not None
    violation = judge(late).violations[0]
    asked = question(late, violation, strict=False, all_claims=False)
    other = structs.replace(violation, severity="liveness")
    ends = [
        likelihood(traced, one, asked, continuations=1, jobs=1).ends_us
        for one in (violation, other)
    ]
    assert ends == [max(event.at_us for event in violation.witness), late.end_us]
    assert ends[0] < ends[1]


def test_processes_find_the_same(late: History) -> None:
    violation = judge(late).violations[0]
    asked = question(late, violation, strict=False, all_claims=False)
    both = [likelihood(late, violation, asked, continuations=6, jobs=jobs) for jobs in (1, 2)]
    assert both[0] == both[1]


# --- where it looks -------------------------------------------------------------------------------


def sends(instants: int, until_us: int = 10**9) -> Sends:
    """A message at each of so many milliseconds."""
    events = [
        MessageSent(at_us=1000 * number, sender="n1", to="n2", kind="k", label=number)
        for number in range(instants)
    ]
    history = History(run(planned()).header)
    history.events = list(events)
    return Sends(history, until_us, ())


def looked_at(instants: int, thresholds: list[int]) -> Curve:
    """Continuation k shows the violation from the place `thresholds[k]` on."""
    curve = Curve(sends(instants), len(thresholds))

    def shows(jobs: list[Job]) -> list[bool]:
        return [
            (0 if job.after_us is None else job.after_us // 1000 + 1) >= thresholds[job.number]
            for job in jobs
        ]

    curve.carry_out(shows)
    return curve


@pytest.mark.parametrize("place", [1, 2, 499, 500, 777, 1000])
def test_a_single_step_is_found_wherever_it_is(place: int) -> None:
    curve = looked_at(1000, [place] * 7 + [0] * 3)
    [rise] = curve.rises()
    assert (rise.before, rise.after, rise.sent) == (3, 10, 1)
    assert rise.from_us == (place - 1) * 1000
    assert len(rise.messages) == 1


def test_what_is_sent_behind_the_violation_is_no_place() -> None:
    assert sends(10, 7_000).instants == [1000 * number for number in range(8)]


def test_of_two_steps_the_larger_comes_first() -> None:
    curve = looked_at(300, [70] * 3 + [200] * 6 + [0])
    assert [(one.from_us, one.before, one.after) for one in curve.rises()] == [
        (199_000, 4, 10),
        (69_000, 1, 4),
    ]


def test_where_nothing_changes_two_points_are_enough() -> None:
    asked: list[int] = []
    curve = Curve(sends(50), 4)

    def all_show(jobs: list[Job]) -> list[bool]:
        asked.append(len(jobs))
        return [True] * len(jobs)

    curve.carry_out(all_show)
    assert asked == [8]
    assert [point.shows for point in curve.points()] == [4, 4]
    assert not list(curve.rises())


def test_a_fall_is_told_as_well() -> None:
    curve = Curve(sends(100), 10)
    curve.carry_out(lambda jobs: [(job.after_us or 0) < 30_000 for job in jobs])
    [rise] = curve.rises()
    assert (rise.from_us, rise.before, rise.after) == (30_000, 10, 0)


def test_a_run_without_messages_has_one_point() -> None:
    curve = Curve(sends(0), 2)
    curve.carry_out(lambda jobs: [False] * len(jobs))
    assert [tuple(point) for point in curve.points()] == [(None, 0)]
