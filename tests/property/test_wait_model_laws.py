"""The wait by formula against messages played one by one, and against the one-number formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.wait_model import (
    Commands,
    Commit,
    Ends,
    Grid,
    Link,
    commit_of,
    earlier,
    earlier_commands,
    heartbeats,
    majority,
    ordered,
    wait,
)
from tests.agreement import catalogue

GRID = Grid(step=0.5, longest=2_048)
DELAYS = np.exp(np.random.default_rng(1).normal(3.0, 0.9, 4_000))  # median 20 ms, p99 160 ms
COUNT = 40_000


def at_once() -> Commit:
    return Commit(np.ones_like(GRID.times), np.ones_like(GRID.times))


def played(
    *, h: float, mu: float, voters: int, fifo: bool, dd: float, skew: float, beat: float | None
) -> np.ndarray:
    """The waits of random look-ups at a learner; every message has a delay of its own."""
    dice = np.random.default_rng(2)

    def drawn(shape: tuple[int, ...]) -> np.ndarray:
        return dice.choice(DELAYS, shape)

    gaps = np.full(COUNT, h)
    if mu:
        gaps = np.minimum(gaps, dice.exponential(1 / mu, COUNT))
    stamped = np.cumsum(gaps)
    commit = np.zeros(COUNT)
    if voters > 1:
        trips = drawn((COUNT, voters - 1)) + drawn((COUNT, voters - 1))
        commit = np.sort(trips, axis=1)[:, voters // 2 - 1]
    notice = stamped + commit
    if fifo:
        notice = np.maximum.accumulate(notice)  # a leader commits in the order of its log
        beats = np.arange(0, stamped[-1], beat) if beat else np.empty(0)
        sent = np.concatenate([stamped, notice, beats])
        due = sent + drawn(sent.shape)
        order = np.argsort(sent, kind="stable")
        arrived = np.empty_like(due)
        arrived[order] = np.maximum.accumulate(due[order])
        known = arrived[COUNT : 2 * COUNT]
        known = np.maximum(known, arrived[:COUNT])
    else:
        known = np.minimum.accumulate((notice + drawn((COUNT,)))[::-1])[::-1]
    looks = dice.uniform(stamped[50], stamped[-50], 200_000)
    first = np.searchsorted(stamped, looks + skew - dd)
    return np.maximum(0, known[first] - looks)


CASES = [
    {"h": 250, "mu": 0.0, "voters": 1, "dd": 280, "skew": 0, "beat": 120},
    {"h": 250, "mu": 0.004, "voters": 3, "dd": 330, "skew": 15, "beat": 120},
    {"h": 60, "mu": 0.001, "voters": 5, "dd": 150, "skew": -10, "beat": None},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['voters']} voters")
@pytest.mark.parametrize("fifo", [False, True], ids=["unordered", "ordered"])
def test_both_ends_are_what_is_played(case: dict, fifo: bool) -> None:
    waits = played(fifo=fifo, **case)
    delay = GRID.cdf(DELAYS)
    commit = majority(GRID, [GRID.plus(delay, delay)] * (case["voters"] - 1))
    link = Link(delay, Commit(commit, commit), (case["skew"],))
    found = wait(GRID, [link], Commands(case["h"], case["mu"], case["beat"]))
    name = "ordered" if fifo else "unordered"
    dd = case["dd"]
    # with delays above H what is in the way is one and the same for many: the upper end is higher
    dense = fifo and case["voters"] == 5
    close, above = (0.01, 0.10) if dense else (0.06, 0.06)
    share, mean = getattr(found.probability(dd), name), getattr(found.mean(dd), name)
    true = (waits > 0).mean()
    assert true * (1 - close) - 0.004 <= share <= true * (1 + above) + 0.004
    true = waits.mean()
    assert true * (1 - 2 * close) - 0.3 <= mean <= true * (1 + 2 * above) + 0.3
    for p in (0.9, 0.99):
        quantile, true = getattr(found.quantile(p, dd), name), np.quantile(waits, p)
        assert true * (1 - close) - 3 <= quantile <= true * (1 + above) + 3


@settings(max_examples=30)
@given(
    st.floats(0, 300), st.floats(-40, 40), st.floats(30, 400), st.sampled_from((0.0, 0.003)),
    st.floats(-200, 700),
)  # fmt: skip
def test_a_constant_delay_is_the_formula_of_one_number(
    pd: float, skew: float, h: float, mu: float, dd: float
) -> None:
    link = Link(GRID.cdf([pd]), at_once(), (skew,))
    found = wait(GRID, [link], Commands(h, mu))
    a = forms.late(pd, skew, dd)
    for name in ("unordered", "ordered"):
        mean = getattr(found.mean(dd), name)
        assert mean == pytest.approx(float(forms.mean_wait(a, h, mu)), abs=1.5)
        need = getattr(found.quantile(0.9, dd), name)
        assert need == pytest.approx(float(catalogue.wait_quantile(0.9, a, h, mu)), abs=2)


@settings(max_examples=15)
@given(st.integers(1, 4), st.floats(0, 800), st.floats(50, 300))
def test_the_laws_of_the_bracket(nodes: int, dd: float, h: float) -> None:
    delay = GRID.cdf(DELAYS)
    links = [Link(delay, at_once(), (5.0 * node,)) for node in range(nodes)]
    found = wait(GRID, links, Commands(h, 0.0, 120.0))
    for figure in (found.probability(dd), found.mean(dd), found.quantile(0.99, dd)):
        assert figure.unordered <= figure.ordered + 1e-6, "order can only delay"
        assert figure.holds(figure.unordered - 1, figure.unordered)
        assert not figure.holds(figure.ordered + 0.1, figure.ordered + 1)
    for name in ("unordered", "ordered"):
        needed = getattr(found.dd_for(0.99, 2.0), name)
        assert getattr(found.quantile(0.99, needed), name) <= 2.0 + GRID.step
        assert getattr(found.mean(dd + 10), name) <= getattr(found.mean(dd), name) + 1e-9
        if needed > 2 * GRID.step:
            assert getattr(found.quantile(0.99, needed - 2 * GRID.step), name) > 2.0


def test_a_bracket_of_two_holds_both() -> None:
    delay = GRID.cdf(DELAYS)
    slow, quick = (wait(GRID, [Link(delay, at_once())], Commands(h)) for h in (200.0, 50.0))
    for dd in (20.0, 150.0):
        both = slow.or_later(quick).mean(dd)
        assert both.unordered == pytest.approx(quick.mean(dd).unordered, abs=0.3)
        assert both.ordered == pytest.approx(slow.mean(dd).ordered, abs=0.3)


def test_a_majority_is_counted_over_unlike_links() -> None:
    dice = np.random.default_rng(5)
    samples = [dice.exponential(mean, 20_000) for mean in (10.0, 40.0, 5.0, 100.0)]
    found = majority(GRID, [GRID.cdf(sample) for sample in samples])
    second = np.sort(np.stack(samples), axis=0)[1]  # five voters: the leader and two others
    assert np.abs(found - GRID.cdf(second)).max() < 0.02
    alone = majority(GRID, [GRID.cdf(samples[0])])  # of two voters both
    assert np.abs(alone - GRID.cdf(samples[0])).max() < 1e-12


def test_the_leader_itself_waits_for_the_majority_alone() -> None:
    delay = GRID.cdf(DELAYS)
    commands = Commands(250.0, 0.0, 120.0)
    commit = commit_of(GRID, [(delay, delay)] * 2, commands)
    assert ordered(GRID, Link(delay, commit, leader=True), commands) is commit.ordered
    assert np.all(commit.ordered <= commit.unordered + 1e-9), "order can only delay"
    assert majority(GRID, [])[0] == 1, "who votes alone commits at once"
    alone = wait(GRID, [Link(delay, at_once(), leader=True)], Commands(250.0, 0.0, 120.0))
    assert alone.probability(250.5) == Ends(0, 0)


def test_nodes_are_mixed_evenly() -> None:
    near, far = Link(GRID.cdf([1.0]), at_once()), Link(GRID.cdf([200.0]), at_once())
    both = wait(GRID, [near, far], Commands(100.0))
    alone = [wait(GRID, [link], Commands(100.0)).probability(150).ordered for link in (near, far)]
    assert both.probability(150).ordered == pytest.approx(np.mean(alone))


@pytest.mark.parametrize(("h", "messages", "beat"), [(100.0, 1, None), (60.0, 2, 41.3)])
def test_a_message_behind_others_is_late_by_the_latest(
    h: float, messages: int, beat: float | None
) -> None:
    dice = np.random.default_rng(3)
    stamps = np.repeat(np.arange(1, COUNT + 1) * h, messages)
    beats = np.arange(0, stamps[-1], beat) + 0.01 if beat else np.empty(0)
    sent = np.concatenate([stamps, beats])
    order = np.argsort(sent, kind="stable")
    arrived = np.empty_like(sent)
    arrived[order] = np.maximum.accumulate((sent + dice.choice(DELAYS, len(sent)))[order])
    first = arrived[: len(stamps) : messages] - stamps[::messages]
    delay, commands = GRID.cdf(DELAYS), Commands(h, 0.0, beat)
    found = heartbeats(GRID, delay, commands)
    if messages == 1:
        found = found * delay * earlier(GRID, delay, commands)
    else:
        at_its_stamp = np.ones_like(delay)
        found = found * delay * earlier_commands(GRID, delay, at_its_stamp, commands)
    assert np.abs(found - GRID.cdf(first)).max() < 0.012


@pytest.mark.parametrize(("pd", "skew", "dd"), [(5, 0, 0), (12, 6, 0), (12, 6, 10), (12, -6, 10)])
def test_a_look_up_behind_another_ones_wait_waits_for_the_next_command(
    pd: float, skew: float, dd: float
) -> None:
    """The last case: DD covers the delay, and what ended the first wait will do for the next."""
    h = 50.0
    found = wait(GRID, [Link(GRID.cdf([pd]), at_once(), (skew,))], Commands(h))
    top, waits = 20.0 + skew, []
    for _ in range(20):  # of the node's clock, which is ahead by the skew; stamps are 0, h, 2h ...
        until = h * np.ceil((top - dd) / h) + pd + skew
        waits.append(max(until - top, 0.0))
        top = max(until, top) + 0.001
    most = found.mean_again(dd, h)
    assert np.mean(waits[1:]) <= most + 0.5
    assert most <= max(waits[1:]) + max(pd + skew - dd, 0.0) + 1.5
    assert (most > found.mean(dd).ordered) is (pd + skew > dd)
