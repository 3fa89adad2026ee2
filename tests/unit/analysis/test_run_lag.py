"""The lag that `run_lag` draws, beside what the look-ups of the same run had to wait."""

import math
from bisect import bisect_right
from collections import Counter

import numpy as np

from ddlsim.analysis.figures import run_events
from ddlsim.analysis.figures.drawing import styled
from ddlsim.analysis.plot_run_lag import draw
from ddlsim.cluster.run import run
from ddlsim.history.events import SchemaResolved
from ddlsim.history.history import History
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read
from ddlsim.units import US_PER_MS

CLOCK_MS = 1
"""Timestamps show whole milliseconds."""
SKEWED = """
title = "Two clocks apart, one of which drifts, and a node that crashes"
[protocol]
preset = "ignite3_tests"
[cluster]
nodes = 3
voters = 1
[clocks.nodes.n2]
offset_ms = 40
[clocks.nodes.n3]
offset_ms = -40
drift_ppm = 200
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[run]
load_ms = 1_000
[[faults]]
name = "crash"
node = "n3"
from_ms = 300
for_ms = 200
"""


def made(name: str) -> History:
    return run(plan(load(name), 0))


def lag_at(curve: tuple[list[float], list[float]], at_ms: float) -> float:
    times, lag = curve
    place = bisect_right(times, at_ms)
    if place == len(times):
        return lag[-1]
    return float(np.interp(at_ms, times[place - 1 : place + 1], lag[place - 1 : place + 1]))


def test_lag_exceeds_dd_exactly_where_look_ups_wait() -> None:
    """98.past.3, from the events of look-ups alone."""
    for name in ("iep98/risk_cluster_lags", "realistic"):
        history = made(name)
        curves = run_events.lags(history)
        dd = run_events.setting(history, "delay_duration_ms")
        told: Counter[bool] = Counter()
        for event in history.of(SchemaResolved):
            asked_ms = (event.at_us - event.waited_us) / US_PER_MS
            lag = lag_at(curves[event.node], asked_ms)
            assert lag > dd - CLOCK_MS if event.waited_us else lag < dd + CLOCK_MS
            told[bool(event.waited_us)] += 1
        assert told[True] >= 3
        assert told[False] > 20


def test_lag_grows_with_the_clock_between_advances() -> None:
    curves = run_events.lags(run(plan(read(SKEWED, "skewed"), 0)))
    for node, (offset, rate) in {"n1": (0, 1), "n2": (40, 1), "n3": (-40, 1 + 200e-6)}.items():
        times, lag = map(np.asarray, curves[node])
        apart = np.diff(times)
        slopes = np.diff(lag)[apart > 0] / apart[apart > 0]
        slopes = slopes[np.isfinite(slopes)]
        assert np.allclose(slopes, rate, atol=1e-6)
        assert offset <= np.nanmin(lag) + 60 <= offset + 122


def test_nodes_are_in_the_order_of_their_numbers() -> None:
    text = SKEWED.replace("nodes = 3", "nodes = 11").replace("voters = 1", "voters = 3")
    history = run(plan(read(text, "eleven nodes"), 0))
    nodes = [f"n{number}" for number in range(1, 12)]
    assert list(run_events.lags(history)) == nodes
    assert list(run_events.clock_offsets(history)) == nodes
    assert list(run_events.setting_over_time(history, "delay_duration_ms")) == [("", *nodes)]


def test_lag_of_a_crashed_node_is_nan() -> None:
    times, lag = run_events.lags(run(plan(read(SKEWED, "skewed"), 0)))["n3"]
    gone = [at for at, value in zip(times, lag, strict=True) if math.isnan(value)]
    assert gone == [300.0]
    assert all(not 300 < at < 500 for at in times)


def test_shading_covers_only_lag_above_dd() -> None:
    history = made("iep98/risk_cluster_lags")
    with styled():
        [panel] = draw(history).axes
    dd = run_events.setting(history, "delay_duration_ms")
    shaded = np.vstack([path.vertices for one in panel.collections for path in one.get_paths()])
    assert shaded[:, 1].min() >= dd
    assert shaded[:, 1].max() > 500
