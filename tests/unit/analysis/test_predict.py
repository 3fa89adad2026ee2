"""`tune --from`: closed forms of a lock with a queue, beside one that is played event by event."""

import dataclasses
import io
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ddlsim.analysis import plot_prediction
from ddlsim.analysis.predict import lock_queue, measured
from ddlsim.analysis.predict.calibrated import Calibrated, calibrate, free_since
from ddlsim.analysis.predict.lock_queue import Forecast, Load, forecast
from ddlsim.analysis.predict.predict import _quantity, predict
from ddlsim.analysis.predict.recorded import Recorded, read
from ddlsim.analysis.tune.goals import TuneError
from ddlsim.cli.verbs import predict as verb_predict
from ddlsim.history.recording import STATEMENTS
from tests.support.command import ROOT, ddlsim
from tests.support.json_schemas import wrong
from tests.support.lock_queue import EXECUTES, LOCK_MS, play

SHIPPED = ROOT / "reports/databases/prediction"
TRIED = ("ddl_wait_mean", "ddl_latency_p50", "ddl_latency_p95", "stalled_per_ddl", "stall_mean")


pytestmark = pytest.mark.usefixtures("few_resamples")


@pytest.fixture
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "RESAMPLES", 100)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calm") / "calm"
    return play(folder, clients=3, statements=20, every_ms=1_500, seed=1)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loaded") / "loaded"
    return play(folder, clients=8, statements=200, every_ms=300, seed=2)


def forecast_of(known: Calibrated, recorded: Recorded) -> Forecast:
    load = Load(recorded.head.clients, len(recorded.head.tables), recorded.lock_ms, 0.0)
    return forecast(known, load)


def far_off(calm: Path, loaded: Path) -> list[str]:
    """The quantities of which the forecast is more than an interval's width outside of it."""
    known, recorded = calibrate(read(str(calm))).whole, read(str(loaded))
    said, was = forecast_of(known, recorded), measured.measure(recorded, known)
    found = []
    for name in TRIED:
        _, low, high = was[name]
        if not low - (high - low) <= getattr(said, name) <= high + (high - low):
            found.append(name)
    return found


def test_closed_forms_agree_with_a_queue_that_is_played(calm: Path, loaded: Path) -> None:
    assert far_off(calm, loaded) == []


def test_they_agree_for_other_distributions(tmp_path: Path) -> None:
    assert far_off(*uneven(tmp_path)) == []


def uneven(folder: Path) -> tuple[Path, Path]:
    """Recordings of holds that are short or long."""

    def hold(dice: Random) -> float:
        return dice.choice([2.0, 40.0])

    one = play(folder / "a", clients=3, statements=20, every_ms=2_017, seed=3, hold=hold)
    return one, play(folder / "b", clients=6, statements=200, every_ms=409, seed=4, hold=hold)


def test_they_agree_where_tables_are_used_less_often(calm: Path, tmp_path: Path) -> None:
    more = play(tmp_path / "b", clients=8, statements=300, every_ms=300, seed=5, tables=3)
    assert far_off(calm, more) == []


def plain_hold(grid: lock_queue._Grid, values: Any) -> Any:
    """A hold from its beginning, in place of what is left of one: a wrong formula."""
    return np.cumsum(grid.sample(values))


def test_a_wrong_formula_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_queue._Grid, "residual", plain_hold)
    assert "ddl_wait_mean" in far_off(*uneven(tmp_path))


def test_a_wait_for_half_of_the_clients_is_seen(
    calm: Path, loaded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = lock_queue._waits
    monkeypatch.setattr(
        lock_queue, "_waits", lambda grid, known, clients, lock: right(grid, known, 4, lock)
    )
    assert "ddl_latency_p50" in far_off(calm, loaded)


# --- by hand --------------------------------------------------------------------------------------


def known_by_hand() -> Calibrated:
    """A table that one of two clients always holds for 10 ms, half of the time."""
    one = np.array([1.0])
    hold = np.array([10.0])
    return Calibrated(2, 1, hold, hold, one * 2, one * 0, one * 0.1, one, one, one, 0.0)


def test_the_wait_of_constant_holds_is_that_of_the_longest_residual() -> None:
    said = forecast(known_by_hand(), Load(2, 1, 100.0, 0.0))
    # P(W > x) = 1 - (1 - (1 - x / 10) / 2)^2 up to 10: its integral is 10 (1 - 7 / 12)
    assert said.ddl_wait_mean == pytest.approx(10 * 5 / 12, rel=0.01)
    assert said.ddl_latency_mean == pytest.approx(2 + 10 * 5 / 12, rel=0.01)


def test_what_was_never_seen_bounds_a_share_but_no_time() -> None:
    none, each = [0.0] * 500, np.zeros(15)
    assert measured._ends(none, None, each) == (0.0, math.inf)
    assert measured._ends(none, 15, each) == (0.0, pytest.approx(0.181, abs=0.001))
    was = (0.0, 0.0, math.inf)
    made = _quantity("stall_mean", (5.0, 4.0, 6.0), {}, was)
    assert made["measured"] == {"value": 0.0, "low": 0.0, "high": None}
    assert made["agrees"] is None
    assert _quantity("stall_mean", (5.0, 0.0, 6.0), {}, was)["agrees"] is True
    assert verb_predict._shown(made["measured"], share=False) == "0 [0, ∞]"
    shown = Console(file=io.StringIO(), width=120)
    verb_predict._table({"quantities": [made], "loaded": True}, shown)
    assert shown.file.getvalue().split()[-2:] == ["[0,", "∞]"], "it is not said to be wrong"


@pytest.mark.parametrize(("count", "known"), [(58, False), (59, True)])
def test_the_tail_of_few_statements_has_no_upper_end(
    monkeypatch: pytest.MonkeyPatch, count: int, known: bool
) -> None:
    found = [measured.Window("t", 0.0, 5.0 + at, 9.0, False, (), 1.0) for at in range(count)]
    monkeypatch.setattr(measured, "windows", lambda _recorded, _usual: found)
    recorded: Any = SimpleNamespace(clients=[], changes=[], span=(0.0, 9.0), folder="")
    calibrated: Any = SimpleNamespace(takes=[1.0], executes=np.ones(1))
    made = measured.measure(recorded, calibrated)
    assert math.isfinite(made["ddl_latency_p95"][2]) is known
    assert math.isfinite(made["ddl_latency_p50"][2])
    assert made["stall_p95"][2] == made["stall_mean"][2] == made["stalled_per_ddl"][2] == math.inf
    assert made["ddl_timeout_share"][2] == pytest.approx(3 / count, rel=0.03)


def test_intervals_of_few_statements_cover_nevertheless() -> None:
    """Latencies of three statements: no resample of them is outside of the three."""
    dice = np.random.default_rng(5)
    weights = measured.seed_weights(3, 200)
    covered = 0
    for each in dice.normal(100, 10, size=(300, 3)):
        low, high = measured._ends((weights @ each / 3).tolist(), None, each)
        covered += low <= 100 <= high
    assert covered >= 270


def test_a_recording_that_lacks_a_sample_is_refused(calm: Path) -> None:
    recorded = read(str(calm))
    failed = [dataclasses.replace(tx, outcome="fail") for tx in recorded.changes]
    with pytest.raises(TuneError, match="0 statements of DDL are too few"):
        calibrate(dataclasses.replace(recorded, changes=failed))
    once = list({tx.client: tx for tx in recorded.clients}.values())
    with pytest.raises(TuneError, match="no client came to a table twice"):
        calibrate(dataclasses.replace(recorded, clients=once))


def test_statements_of_one_moment_are_in_some_resamples_alone(calm: Path) -> None:
    recorded = read(str(calm))
    early = [dataclasses.replace(tx, began=0.0) for tx in recorded.changes]
    many = calibrate(dataclasses.replace(recorded, changes=early)).resampled(60)
    assert 30 < len(many) < 60
    assert all(len(one.executes) for one in many)


def test_the_time_limit_is_that_of_the_recording_under_load(
    calm: Path, loaded: Path, tmp_path: Path
) -> None:
    text = (loaded / STATEMENTS).read_text("utf-8")
    other = tmp_path / "other"
    other.mkdir()
    (other / STATEMENTS).write_text(text.replace(f"{LOCK_MS:g}ms", "77ms", 1), "utf-8")
    assert predict(str(calm), str(other), range(0))["lock_ms"] == 77


def test_a_wait_ends_at_the_time_limit() -> None:
    said = forecast(known_by_hand(), Load(2, 1, 5.0, 0.0))
    # P(W > 5) = 1 - (1 - 1 / 4)^2
    assert said.ddl_timeout_share == pytest.approx(7 / 16, abs=0.01)
    assert said.ddl_latency_mean <= 5 + 2


def test_conflicts_grow_with_the_number_of_other_clients() -> None:
    known = dataclasses.replace(known_by_hand(), conflicts=0.1)
    assert forecast(known, Load(3, 1, 100.0, 0.0)).abort_share == pytest.approx(1 - 0.9**2)


@pytest.mark.parametrize(
    ("holders", "free"),
    [([], 5.0), ([(1, 7), (2, 9)], 9.0), ([(6, 9)], 5.0), ([(1, 4)], 5.0), ([(1, 20)], 12.0)],
)
def test_ddl_executes_once_those_before_it_have_ended(
    holders: list[tuple[float, float]], free: float
) -> None:
    assert free_since(holders, 5.0, 12.0) == free


# --- calibration and measurement ------------------------------------------------------------------


def test_parameters_are_those_that_were_played(calm: Path) -> None:
    known = calibrate(read(str(calm))).whole
    assert known.holds.mean() == pytest.approx(10, rel=0.1)
    assert known.gaps.mean() == pytest.approx(15, rel=0.1)
    assert np.allclose(known.executes, EXECUTES, atol=0.01)
    assert np.median(known.takes) == pytest.approx(0.1, abs=0.01)
    assert read(str(calm)).lock_ms == LOCK_MS


def covering(shift: float, runs: Path) -> int:
    """In how many of 10 recordings the interval, shifted, covers the mean of all of them."""
    found = []
    for seed in range(10):
        folder = runs / str(seed)
        if not folder.exists():
            play(folder, clients=6, statements=60, every_ms=250, seed=100 + seed)
        recorded = read(str(folder))
        known = calibrate(recorded).whole
        found.append(measured.measure(recorded, known)["ddl_latency_mean"])
    truth = float(np.mean([value for value, _, _ in found]))
    return sum(low + shift <= truth <= high + shift for _, low, high in found)


def test_intervals_cover_the_truth_and_shifted_ones_do_not(tmp_path: Path) -> None:
    assert covering(0.0, tmp_path) >= 8
    assert covering(6.0, tmp_path) < 5


def test_what_was_never_seen_has_an_upper_end(calm: Path, loaded: Path) -> None:
    recorded = read(str(loaded))
    was = measured.measure(recorded, calibrate(read(str(calm))).whole)["lock_abort_share"]
    assert was[:2] == (0.0, 0.0)
    assert 0 < was[2] < 0.01


# --- the command ----------------------------------------------------------------------------------


def test_the_command_shows_and_writes_a_prediction(
    calm: Path, loaded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    done = ddlsim("tune", "--from", str(calm), "--against", str(loaded), "--seeds", "1",
                  "--out", str(out), "--output", "json")  # fmt: skip
    assert done.code == 0, done
    made = json.loads(done.out)
    assert wrong("predict", made) == []
    assert made == json.loads((out / "prediction.json").read_text("utf-8"))
    mean = made["quantities"][0]
    assert mean["agrees"], mean
    stalled = {
        run["strategy"]: run["value"]
        for one in made["quantities"]
        if one["name"] == "stalled_per_ddl"
        for run in one["simulated"]
    }
    assert stalled["b16_mdl"] < 0.5 < stalled["postgresql"], "only one of them has a queue"
    drawn = ddlsim("plot", "prediction", str(out))
    assert drawn.code == 0, drawn
    assert "measured" in (out / "prediction.svg").read_text("utf-8")
    verb_predict.show(made, None)
    shown = capsys.readouterr().out
    assert "ddl_latency_p95" in shown
    assert "DDL executes for 2" in shown


def test_on_a_narrow_terminal_neither_figures_nor_marks_are_cut(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = json.loads(min(SHIPPED.glob("*.json")).read_text("utf-8"))
    for one in made["quantities"]:
        one["agrees"] = one["name"] != "abort_share"
    verb_predict.show(made, None)
    shown = capsys.readouterr().out.splitlines()
    assert not any("…" in line for line in shown)
    assert max(map(len, shown[3:-3])) <= 80
    for one in made["quantities"]:
        rows = [line for line in shown if line.startswith(one["name"])]
        cells = [cell.strip() for row in rows for cell in re.split("  +", row)[1:]]
        assert len(cells) == 4, rows
        assert cells[1].endswith(" *") is (one["name"] == "abort_share")


@pytest.mark.parametrize("file", sorted(SHIPPED.glob("*.json")), ids=lambda file: file.stem)
def test_a_shipped_prediction_fits_its_schema_and_its_figure(file: Path, tmp_path: Path) -> None:
    assert wrong("predict", json.loads(file.read_text("utf-8"))) == []
    assert ddlsim("plot", "prediction", str(file), "--out", f"{tmp_path}/a.svg").code == 0
    assert (tmp_path / "a.svg").read_bytes() == file.with_suffix(".svg").read_bytes()


def test_a_quantity_that_nothing_bounds_has_an_arrow() -> None:
    found = json.loads(min(SHIPPED.glob("*.json")).read_text("utf-8"))

    def arrows() -> int:
        panels = plot_prediction.draw(found).axes
        return sum(text.arrow_patch is not None for panel in panels for text in panel.texts)

    assert arrows() == 0
    found["quantities"][-1]["measured"]["high"] = found["quantities"][3]["predicted"]["high"] = None
    assert arrows() == 2


def test_without_another_recording_its_own_load_is_predicted(calm: Path) -> None:
    made = predict(str(calm), None, range(0))
    assert (made["loaded"], made["explained"], made["wrong"]) == (None, None, [])
    assert made["quantities"][0]["agrees"] is None
    known = calibrate(read(str(calm))).whole
    said = forecast_of(known, read(str(calm))).ddl_wait_mean
    assert made["quantities"][0]["predicted"]["value"] == pytest.approx(said, abs=1e-6)


def without_ddl(text: bytes) -> bytes:
    return b"".join(line for line in text.splitlines(keepends=True) if b"ALTER" not in line)


def of_sqlite(text: bytes) -> bytes:
    return text.replace(b'"database":"postgresql"', b'"database":"sqlite"')


def without_a_limit(text: bytes) -> bytes:
    return text.replace(b'"1000ms"', b'"0"')


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_ddl, "0 statements of DDL are too few"),
        (of_sqlite, "sqlite has no lock on tables that DDL waits for"),
        (without_a_limit, "it does not tell lock_timeout"),
        (lambda text: text[:40], "is no recording"),
        (lambda text: text[: text.index(b"\n") + 1], "no transaction of a client has ended"),
    ],
)
def test_a_recording_that_cannot_be_used_is_refused(
    change: Callable[[bytes], bytes], said: str, calm: Path, tmp_path: Path
) -> None:
    (tmp_path / STATEMENTS).write_bytes(change((calm / STATEMENTS).read_bytes()))
    done = ddlsim("tune", "--from", str(tmp_path))
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_a_cut_line_is_left_out(calm: Path, tmp_path: Path) -> None:
    whole = (calm / STATEMENTS).read_bytes()
    (tmp_path / STATEMENTS).write_bytes(whole[:-30])
    assert len(read(str(tmp_path)).clients) == len(read(str(calm)).clients) - 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--against", "x"), "add --from DIR"),
        (("--from", "x", "--slo", "dml_wait_p99<=1ms"), "not both"),
        (("--from", "nowhere"), "cannot be read (No such file or directory); name what `record`"),
    ],
)
def test_bad_words_are_refused(words: tuple[str, ...], said: str) -> None:
    done = ddlsim("tune", *words)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_recordings_of_two_databases_do_not_go_together(calm: Path, tmp_path: Path) -> None:
    text = (calm / STATEMENTS).read_bytes()
    (tmp_path / STATEMENTS).write_bytes(text.replace(b"PostgreSQL 0", b"PostgreSQL 1"))
    with pytest.raises(TuneError, match="record both alike"):
        predict(str(calm), str(tmp_path), range(0))


def test_a_window_has_what_came_within_it_and_the_last_end_of_what_came_before() -> None:
    """Beside one pass over all statements; times are drawn from few, so that many are equal."""
    dice = Random(5)
    uses = []
    for _ in range(60):
        at = float(dice.randrange(20))
        took, ended = dice.random(), at + dice.randrange(1, 6)
        uses.append((SimpleNamespace(at=at, took=took), SimpleNamespace(ended=ended)))
    sorted_uses = measured._Uses(uses)  # type: ignore[arg-type]  # all that is asked of them
    for since in range(-1, 22):
        for until in range(since, 23):
            within = [one.took for one, _ in uses if since <= one.at < until]
            assert sorted_uses.took(since, until) == within
        ends = [tx.ended for one, tx in uses if one.at < since < tx.ended]
        assert sorted_uses.ended(since) == max(ends, default=since)
    assert (measured._Uses([]).took(0, 9), measured._Uses([]).ended(7)) == ([], 7)
