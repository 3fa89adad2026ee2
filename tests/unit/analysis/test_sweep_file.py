"""Sweep files: ranges, samples, conditions, and every slip told with its line."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.analysis.stats.axes import Interval, read_range
from ddlsim.analysis.sweep.sweep_file import read_sweep
from ddlsim.scenario.problems import ScenarioError

GOOD = """\
title = "DD against H"
scenarios = ["smoke"]
strategies = ["iep", "a5_safetime"]
seeds = "0..9"
where = ["dd >= h"]

[set]
"run.load_ms" = 2_000

[parameters]
dd = { path = "protocol.delay_duration_ms", values = "0..100 step 50" }
h = { path = "protocol.safe_time_interval_ms", values = [25, 50] }
"""


def changed(**changes: str) -> str:
    """The good file with some lines replaced, by how they begin; `more` stands before tables."""
    lines = GOOD.splitlines()
    for begin, line in changes.items():
        at = next((i for i, old in enumerate(lines) if old.startswith(f"{begin} =")), None)
        if at is None:
            lines.insert(5, line)
        else:
            lines[at] = line
    return "\n".join(lines) + "\n"


def test_read_sweep_reads_every_key() -> None:
    sweep = read_sweep(GOOD, "s.toml")
    assert [axis.name for axis in sweep.axes] == ["dd", "h"]
    assert sweep.axes[0].values == (0, 50, 100)
    assert sweep.seeds == range(10)
    assert sweep.scenarios[0].table.run.load_ms == 2_000
    assert read_sweep(changed(seeds="seeds = 7"), "s.toml").seeds == range(7)


SLIPS = {
    "no key": ({"more": "colour = 1"}, r"s\.toml:6: colour: unknown key"),
    "title": ({"title": "title = 3"}, r"s\.toml:1: title: expected a string, not 3"),
    "scenario": (
        {"scenarios": 'scenarios = ["smok"]'},
        r"s\.toml:2: scenarios\[0\]: smok: neither .*smoke",
    ),
    "strategy": (
        {"strategies": 'strategies = ["iep", "a5"]'},
        r"s\.toml:3: strategies\[1\]: no strategy is called 'a5'",
    ),
    "strategy of plane fdb": (
        {"strategies": 'strategies = ["iep", "c16_saef"]'},
        r"strategies\[1\]: no strategy is called 'c16_saef'; did you mean c16_safe",
    ),
    "mutant": (
        {"more": 'mutants = ["no_comit_check"]'},
        r"s\.toml:6: mutants\[0\]: no mutant .* did you mean no_commit_check",
    ),
    "seeds": ({"seeds": 'seeds = "9..0"'}, r"s\.toml:4: seeds: '9\.\.0' has 0 seeds"),
    "seeds text": ({"seeds": 'seeds = "all"'}, r'seeds: expected "A\.\.B"'),
    "condition": (
        {"where": 'where = ["dd >="]'},
        r"toml:5: where\[0\]: 'dd >=' is not a condition",
    ),
    "name": ({"where": 'where = ["ddd > 1"]'}, r"where\[0\]: no parameter is called 'ddd'; did"),
    "call": ({"where": 'where = ["exit() > 1"]'}, r"where\[0\]: (no parameter|'exit\(\)' cannot)"),
    "attribute": ({"where": 'where = ["dd.real > 1"]'}, r"'dd\.real' cannot be used"),
    "axis key": (
        {"h": 'h = { path = "a.b", value = [1] }'},
        r"s\.toml:12: parameters\.h\.value: unknown key; did you mean values",
    ),
    "axis path": ({"h": "h = { values = [1] }"}, r"s\.toml:12: parameters\.h: path is missing"),
    "range": ({"h": 'h = { path = "a", values = "1..2" }'}, r"'1\.\.2': how many values\?"),
    "empty range": ({"h": 'h = { path = "a", values = "9..2 step 1" }'}, r"say 2\.\.9"),
    "log": ({"h": 'h = { path = "a", values = "0..9 log 3" }'}, r"begins above 0"),
    "twice": (
        {"h": 'h = { path = "protocol.delay_duration_ms", values = [1] }'},
        r"protocol\.delay_duration_ms is swept by dd already",
    ),
    "taken": ({"h": 'strategy = { path = "a", values = [1] }'}, r"'strategy' is taken"),
    "histories": ({"more": 'histories = "all"'}, r'histories: expected "none", "failures" or'),
    "share": ({"more": "histories = 1.5"}, r"histories: must be at most 1, not 1\.5"),
    "pairwise sample": (
        {"h": 'h = { path = "a", values = [1] }\n[sample]\nkind = "sobol"\ncells = 6'},
        r"s\.toml:15: sample\.cells: sobol wants a power of two; take 4 or 8",
    ),
    "sample kind": (
        {"h": 'h = { path = "a", values = [1] }\n[sample]\nkind = "dice"\ncells = 4'},
        r"s\.toml:\d+: sample\.kind: unknown value 'dice'; known: latin_hypercube, sobol",
    ),
    "budget": (
        {"h": 'h = { path = "a", values = [1] }\n[budget]\ntime_s = 0'},
        r"budget\.time_s: must be more than 0",
    ),
    "no toml": ({"title": 'title = "'}, r"s\.toml:1: not TOML"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_read_sweep_names_the_line_of_an_error(slip: str) -> None:
    changes, told = SLIPS[slip]
    text = changed(**changes)
    if "[sample]" in text:
        text = text.replace('"0..100 step 50"', '"0..100"')
    with pytest.raises(ScenarioError, match=told):
        read_sweep(text, "s.toml")


def test_read_range_values() -> None:
    assert read_range("0..500 step 100") == (0, 100, 200, 300, 400, 500)
    assert read_range("0..1 step 0.25") == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert read_range("0..0.3 step 0.1") == (0.0, 0.1, 0.2, 0.3)
    assert read_range("1..1000 log 4") == (1, 10, 100, 1000)
    assert read_range("1..1e3 log 3") == (1.0, 31.6227766017, 1000.0)
    assert read_range("0..9", sampled=True) == Interval(0, 9, logarithmic=False, whole=True)


@pytest.mark.parametrize(("low", "high"), [(-9, -3), (-3, 3), (-6, 0), (0, 6), (2, 8)])
def test_even_shares_take_each_whole_value_as_often(low: int, high: int) -> None:
    interval = Interval(low, high, logarithmic=False, whole=True)
    found = Counter(interval.at((place + 0.5) / 7_000) for place in range(7_000))
    assert found == dict.fromkeys(range(low, high + 1), 1_000)


@given(st.integers(-50, 50), st.integers(0, 100), st.floats(0, 1), st.booleans())
def test_interval_at_stays_within_its_ends(
    low: int, width: int, share: float, logarithmic: bool
) -> None:
    low = abs(low) + 1 if logarithmic else low
    for whole in (True, False):
        interval = Interval(low, low + width, logarithmic, whole)
        assert low <= interval.at(share) <= low + width
        assert interval.at(0.0) == low
        assert not whole or interval.at(share) == int(interval.at(share))
