"""The schedule of a plan: which nodes are demoted when, and near which instants messages arrive."""

from unittest.mock import patch

import pytest

from ddlsim.cluster.run import run
from ddlsim.history.events import UpdateLogged
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageDelivered
from ddlsim.kernel import schedule as kernel_schedule
from ddlsim.plan.plan import plan
from ddlsim.plan.records import PctPlan
from ddlsim.scenario.problems import ScenarioError
from ddlsim.units import physical_ms
from tests.support.small_scenario import SCHEMA, scenario

WORK = """
[[workload]]
name = "mixed"
clients = 3
operations = 30
[[migration]]
at_ms = 300
every_ms = 60
sql = "ALTER TABLE t ADD COLUMN w INT; ALTER TABLE t DROP COLUMN w; ALTER TABLE t ADD COLUMN x INT"
"""
NETWORK = '[network]\nlatency_ms = { distribution = "uniform", low = 0, high = 30 }\n'


def text(schedule: str) -> str:
    return f"{NETWORK}{schedule}\n{SCHEMA}{WORK}[run]\nload_ms = 1000\n"


def ran(schedule: str, seed: int = 1) -> History:
    return run(plan(scenario(text(schedule)), seed, trace=True))


def test_pct_plans_one_demotion_less_than_its_depth_within_the_load() -> None:
    planned = plan(scenario(text('schedule = { name = "pct", depth = 5 }')), 2)
    assert isinstance(planned.schedule, PctPlan)
    demotions = planned.schedule.demotions
    assert len(demotions) == 4
    assert all(0 <= one.from_us < one.until_us <= 1_100_000 for one in demotions)
    assert {one.node for one in demotions} <= {"n1", "n2", "n3"}
    assert len({one.from_us for one in demotions}) == 4


def test_a_scenario_without_a_schedule_has_none() -> None:
    assert plan(scenario(text("")), 2).schedule is None


def delivered(history: History) -> list[MessageDelivered]:
    return [one for one in history.of(MessageDelivered) if one.sender != one.to]


def test_pct_gives_each_link_and_kind_one_delay_but_for_demotions() -> None:
    history = ran('schedule = { name = "pct", depth = 1 }')
    delays: dict[tuple[str, str, str], set[int]] = {}
    for one in delivered(history):
        delays.setdefault((one.sender, one.to, one.kind), set()).add(one.at_us - one.sent_us)
    assert {len(found) for found in delays.values()} == {1}
    demoted = ran('schedule = { name = "pct", depth = 40 }')
    largest = {one.sender for one in delivered(demoted) if one.at_us - one.sent_us > 29_990}
    assert largest == {"n1", "n2", "n3"}


def hits(history: History) -> int:
    """Messages to nodes that arrive within 2 us of an activation, as a clock without skew shows."""
    instants = {
        physical_ms(one.activation_ts) * 1_000 for one in history.of(UpdateLogged) if one.op
    }
    assert instants
    arrivals = [one.at_us for one in delivered(history) if one.to in ("n1", "n2", "n3")]
    return sum(any(abs(at - instant) <= 1 for instant in instants) for at in arrivals)


def test_boundary_lets_messages_arrive_at_activations() -> None:
    assert hits(ran('schedule = { name = "boundary", share = 0.8 }')) > 5 + hits(ran(""))


def test_boundary_without_its_instants_is_no_better_than_chance() -> None:
    """The planted fault: instants that are never announced."""
    with patch.object(kernel_schedule.NearInstants, "add", lambda self, clock_ms: None):
        assert hits(ran('schedule = { name = "boundary", share = 0.8 }')) <= hits(ran("")) + 2


@pytest.mark.parametrize("schedule", ['{ name = "pct", depth = 6 }', '{ name = "boundary" }'])
def test_a_scheduled_run_repeats_and_a_trace_does_not_change_it(schedule: str) -> None:
    def fingerprint(*, trace: bool) -> list[object]:
        history = run(plan(scenario(text(f"schedule = {schedule}")), 4, trace=trace))
        return [one for one in history.events if not type(one).__name__.startswith("Message")]

    assert fingerprint(trace=False) == fingerprint(trace=False) == fingerprint(trace=True)


@pytest.mark.parametrize(
    ("schedule", "what"),
    [
        ('{ name = "pc", depth = 6 }', "network.schedule"),
        ('{ name = "pct", depth = 0 }', "network.schedule"),
        ('{ name = "boundary", share = 2 }', "network.schedule"),
        ('{ name = "boundary", depth = 2 }', "depth"),
    ],
)
def test_a_wrong_schedule_is_refused_by_its_place(schedule: str, what: str) -> None:
    with pytest.raises(ScenarioError, match=what):
        scenario(text(f"schedule = {schedule}"))
