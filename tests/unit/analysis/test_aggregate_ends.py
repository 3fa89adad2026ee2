"""The ends of intervals per cell where nothing was seen: shares, rates, means and quantiles."""

from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pytest

from ddlsim.analysis.stats import histogram
from ddlsim.analysis.sweep import aggregates, until
from ddlsim.analysis.sweep.rows import HISTOGRAMS, SCHEMA

RUNS, LOOKS = 10, 100


def ends(waits_us: list[int] | None = None, **more: Any) -> dict[str, Any]:
    """The figures of a cell of ten runs of 2 s in which nothing waited; one run may have waits."""
    none = histogram.cell(histogram.of([0] * LOOKS))
    row: dict[str, Any] = dict.fromkeys(aggregates.TOTALS, 0)
    row |= {"cell": 0, "outcome": "ok", "attempts": LOOKS, "simulated_us": 2_000_000}
    row |= dict.fromkeys(HISTOGRAMS, none) | more
    rows = [{**row, "seed": seed} for seed in range(RUNS)]
    if waits_us is not None:
        rows[3]["schema_wait_us"] = histogram.cell(histogram.of(waits_us))
    schema = pa.schema([SCHEMA.field(name) for name in row | {"seed": 0}])
    found: dict[str, Any] = aggregates._of_cell(
        pa.Table.from_pylist(rows, schema), 0.95
    ).to_pylist()[0]
    return found


def test_shares_have_the_rule_of_three() -> None:
    found = ends()
    assert found["schema_wait_waited_high"] == pytest.approx(3 / 1_000, rel=0.01)
    assert found["schema_abort_rate_high"] == pytest.approx(3 / 1_000, rel=0.01)


def test_rates_have_it_in_their_unit() -> None:
    found = ends()
    assert (found["meta_writes_per_s"], found["meta_writes_per_s_low"]) == (0, 0)
    assert found["meta_writes_per_s_high"] == pytest.approx(3 / 20, rel=0.01)
    some = ends(meta_writes=4)
    assert some["meta_writes_per_s_high"] == pytest.approx(2.0)


def test_a_mean_of_zeros_has_no_upper_end() -> None:
    found = ends()
    assert (found["schema_wait_mean_us"], found["schema_wait_mean_us_low"]) == (0, 0)
    assert found["schema_wait_mean_us_high"] is None
    assert ends([0] * 99 + [25_000])["schema_wait_mean_us_high"] == pytest.approx(100, abs=30)


def test_a_quantile_has_an_upper_end_where_enough_was_seen() -> None:
    found = ends()
    assert found["schema_wait_p99_us_high"] == 0
    assert found["schema_wait_p999_us_high"] is None


@pytest.mark.parametrize(
    ("target", "still"),
    [
        ("schema_wait_mean_us ci=100", [0]),
        ("schema_wait_p999_us ci=1%", [0]),
        ("schema_wait_p99_us ci=1%", []),
        ("meta_writes_per_s ci=0.1", []),
        ("meta_writes_per_s ci=0.05", [0]),
    ],
)
def test_until_goes_on_where_the_upper_end_is_not_known(
    monkeypatch: pytest.MonkeyPatch, target: str, still: list[int]
) -> None:
    made = MagicMock()
    made.toArrow.return_value = pa.Table.from_pylist([ends()])
    monkeypatch.setattr(aggregates, "rows", MagicMock())
    monkeypatch.setattr(aggregates, "per_cell", lambda _frame, _level: made)
    assert until.open_cells(MagicMock(), "", [until.read_target(target)], 1, [0]) == still
