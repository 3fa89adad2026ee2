"""What several runs prove: a bound on the share of violated ones, or that seeds change nothing."""

import json
from pathlib import Path

import pytest

from ddlsim.analysis.stats.intervals import none_seen
from ddlsim.cli.views.run import percent_up
from tests.support.command import TINY, ddlsim

LATENCY = '\n[network]\nlatency_ms = { distribution = "uniform", low = 1, high = 3 }\n'
BROKEN = '\n[strategy]\nname = "iep"\nmutant = "acknowledges_at_once"\n'


def told(folder: Path, more: str, *words: str) -> tuple[dict[str, object], str]:
    """The document and the text of some runs of the tiny scenario with more in it."""
    file = folder / "tiny.toml"
    head, mark, rest = TINY.partition("[cluster]")
    file.write_text(head + more.lstrip() + mark + rest, "utf-8")
    document = json.loads(ddlsim("run", str(file), *words, "--output", "json").out)
    return document, ddlsim("run", str(file), *words, "--no-shrink").out


@pytest.mark.parametrize("seeds", [2, 7])
def test_clean_runs_bound_the_share_of_violated_ones(tmp_path: Path, seeds: int) -> None:
    document, text = told(tmp_path, LATENCY, "--seeds", f"0..{seeds - 1}")
    bound = document["violated_below"]
    assert isinstance(bound, float)
    assert (1 - bound) ** seeds == pytest.approx(0.05)  # as many clean runs are that improbable
    assert bound == pytest.approx(float(none_seen(seeds)))
    assert f"so at 95 % fewer than {percent_up(bound)} of such runs are violated" in text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.527129, "52.72 %"),
        (0.0295, "2.95 %"),
        (0.00123456, "0.124 %"),
        (2.9957e-5, "0.00300 %"),
        (2.9957e-7, "0.0000300 %"),
    ],
)
def test_a_bound_is_rounded_up_and_never_nothing(share: float, text: str) -> None:
    assert percent_up(share) == text


def test_what_is_printed_is_a_bound_as_well() -> None:
    for runs in (2, 3, 20, 1_000, 60_000, 10**6):
        bound = float(none_seen(runs))
        assert bound <= float(percent_up(bound).removesuffix(" %")) / 100 < 1.02 * bound


def test_one_run_bounds_nothing(tmp_path: Path) -> None:
    document, text = told(tmp_path, LATENCY)
    assert "violated_below" not in document
    assert "such runs" not in text


def test_runs_that_are_violated_bound_nothing(tmp_path: Path) -> None:
    document, text = told(tmp_path, LATENCY + BROKEN, "--seeds", "0..3")
    assert document["outcome"] == "violated"
    assert "violated_below" not in document
    assert "such runs" not in text


def test_seeds_that_all_make_the_same_run_are_told(tmp_path: Path) -> None:
    document, text = told(tmp_path, "", "--seeds", "0..3")
    assert "violated_below" not in document
    assert "all seeds make the same run: nothing in it is drawn" in text
