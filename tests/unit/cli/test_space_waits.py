"""The space-time picture: for how long a node's safe time is what a look-up waits for."""

from bisect import bisect_right

import pytest

from ddlsim.cli.picture import space as picture_space
from ddlsim.history.events import SafeTimeAdvanced, SchemaResolved
from ddlsim.units import Timestamp, physical_ms
from tests.support.drawn_pictures import SKEWED, drawn_of, nodes_of, pieces


def test_safe_time_is_complete_where_it_is_at_least_the_clock_less_dd() -> None:
    """Sampled between all instants at which anything can change."""
    case = drawn_of(SKEWED).case
    delay_ms = max(case.settings("delay_duration_ms"))
    for node in ("n1", "n2", "n3"):
        [piece] = pieces(case, node)
        spans = list(picture_space.complete_us(case, node, delay_ms))
        steps = [(e.at_us, e.safe_ts) for _, e in case.of(SafeTimeAdvanced) if e.node == node]
        instants = [at for at, _ in steps]
        seen = set()
        for at_us in range(1, case.history.end_us, 997):
            place = bisect_right(instants, at_us)
            if place == 0 or at_us in instants:
                continue
            clock_ms = piece.shows_us(at_us) // 1000
            safe_ms = physical_ms(Timestamp(steps[place - 1][1]))
            complete = safe_ms >= clock_ms - delay_ms
            drawn = any(since[0] <= at_us < until for since, until in spans)
            assert drawn == complete, (node, at_us)
            seen.add(complete)
        assert True in seen


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("strategies/A5-T1", "clock"),
        ("strategies/A6-T1", "clock plus CSmax"),
        ("strategies/B3-T1", "clock less DD"),
        ("strategies/A7-T5-csmax", "clock less DD plus CSmax"),
        ("strategies/A1-T1", None),
    ],
)
def test_nothing_waits_where_the_picture_says_so(name: str, words: str | None) -> None:
    """Look-ups that have their Top by the clock when they begin to wait, in the whole run."""
    drawn = drawn_of(name, {"network.latency_ms": 3})
    assert drawn.space.awaited == words
    tops = [one.x for one in nodes_of(drawn)]
    bands = [band for band in drawn.space.bands if band.look == "complete"]
    assert all(str(words) in band.text for band in bands)
    assert tops
    if words is None:
        assert not bands
        return
    case = drawn.case
    own = case.header.settings["n1"]
    delays, skews, _ = picture_space.AWAITED[case.header.design.rules["completeness_ts"]]
    less_ms = -delays * own["delay_duration_ms"] - skews * own["max_clock_skew_ms"]
    waited = 0
    for _, event in case.of(SchemaResolved):
        began_us = event.at_us - event.waited_us
        [piece] = pieces(case, event.node)
        if (
            not event.waited_us
            or physical_ms(Timestamp(event.ts)) < piece.shows_us(began_us) // 1000
        ):
            continue
        waited += 1
        spans = picture_space.complete_us(case, event.node, less_ms)
        assert not any(since[0] < began_us < until for since, until in spans), event
    assert waited or words != "clock"
