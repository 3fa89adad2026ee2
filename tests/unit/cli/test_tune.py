"""`ddlsim tune` from the shell: the answer, its document, and what is refused before any run."""

import html
import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, exp
from pathlib import Path
from typing import Any

import pytest

from ddlsim.analysis.tune import cells
from ddlsim.analysis.tune.runs import Runs
from ddlsim.cli import arguments, main
from ddlsim.cli.options import Options
from ddlsim.cli.verbs.tune import command_of, request_of
from tests.support.advice import ADVICE
from tests.support.command import ROOT, variables_of
from tests.support.json_schemas import wrong

DELAYS = "scenarios/measurements/delays_ms.csv"
OFFSETS = "scenarios/measurements/offsets_ms.csv"
SMALL = ["--seeds", "2", "--jobs", "1", "--step", "40"]


def small_delays(folder: Path) -> str:
    """Two nodes a few milliseconds apart: cells of no cost."""
    file = folder / "d.csv"
    lines = [f"{a},{b},{2 + n % 7}" for n in range(60) for a, b in (("x", "y"), ("y", "x"))]
    file.write_text("from,to,delay_ms\n" + "\n".join(lines) + "\n", "utf-8")
    return str(file)


def small_offsets(folder: Path) -> str:
    file = folder / "o.csv"
    lines = [f"{node},{(-1) ** n}" for n in range(40) for node in "xy"]
    file.write_text("node,offset_ms\n" + "\n".join(lines) + "\n", "utf-8")
    return str(file)


@pytest.fixture(scope="module")
def small_cells() -> Iterator[None]:
    """Cells have half as many writers, and half as many look-ups."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "WRITERS", cells.WRITERS // 2)
        patch.setattr(cells, "LOOKS_EACH", cells.LOOKS_EACH // 2)
        yield


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory, small_cells: None) -> dict[str, Any]:
    del small_cells
    folder = tmp_path_factory.mktemp("tune")
    out = folder / "out"
    files = ["--delays", small_delays(folder), "--offsets", small_offsets(folder)]
    words = ["tune", *files, *SMALL, "--current-h", "50", "--current-dd", "200",
             "--slo", "dml_wait_p99<=2ms", "--slo", "schema_abort_rate<=10%",
             "--slo", "ddl_latency_p99<=3s", "--try", "dd=100,csmax=30",
             "--out", str(out)]  # fmt: skip
    assert main(words) == 0
    found: dict[str, Any] = json.loads((out / "tune.json").read_text("utf-8"))
    return {**found, "out": out, "words": words}


def test_the_answer_fits_its_schema(answered: dict[str, Any]) -> None:
    found = json.loads((answered["out"] / "tune.json").read_text("utf-8"))
    assert wrong("tune", found) == []
    assert wrong("tune", {**found, "goals": [{**found["goals"][0], "met": "yes"}]})


def test_the_answer_meets_the_goals_and_says_how_surely(answered: dict[str, Any]) -> None:
    best = answered["recommended"]
    assert all(goal["met"] for goal in answered["goals"])
    assert [goal["goal"] for goal in answered["goals"]] == [
        "dml_wait_p99<=2ms",
        "ddl_latency_p99<=3000ms",
        "schema_abort_rate<=0.1",
    ]
    low, high = best["dd_interval_ms"]
    assert low <= best["dd_least_ms"] <= high == best["dd_ms"]
    # H 50, and delays up to 8 ms three times on the way: entry, answer, notice
    assert 40 <= best["dd_ms"] <= 100
    assert best["h_ms"] == 50


def test_cs_max_is_above_the_largest_skew_with_its_risk(answered: dict[str, Any]) -> None:
    bound = answered["cs_max"]
    assert bound["largest_ms"] == 2
    assert bound["cs_max_ms"] == answered["recommended"]["cs_max_ms"] == 3
    assert bound["next_larger"] == pytest.approx(4 / 41, abs=1e-6), "two clocks, two ends each"


def test_the_present_setting_is_judged(answered: dict[str, Any]) -> None:
    present = answered["present"]
    assert present["meets"]
    assert present["dd_can_be_lowered"]
    expected = 200 + 500 - answered["recommended"]["dd_ms"] - 3
    assert present["ddl_latency_saved_ms"] == pytest.approx(expected, abs=30)


def test_skew_beyond_cs_max_costs_own_ddl_and_never_atomicity(answered: dict[str, Any]) -> None:
    assert [each["factor"] for each in answered["skew"]] == [1, 1.5, 2]
    assert answered["skew"][0]["own_ddl_missed_runs"] == 0
    assert all(each["atomicity_broken_runs"] == 0 for each in answered["skew"])


def test_front_curve_and_agreement_are_there_for_figures(answered: dict[str, Any]) -> None:
    front = answered["front"]
    best = [each for each in front if each["dd_ms"] == answered["recommended"]["dd_ms"]]
    assert best
    assert any(each["on_front"] for each in front)
    curve = answered["curve"]
    assert len(curve["dd_ms"]) == len(curve["waiting"]["ordered"])
    assert curve["waiting"]["ordered"] == sorted(curve["waiting"]["ordered"], reverse=True)
    figures = {each["figure"] for each in answered["agreement"]}
    waits = {"first look-up: mean wait, ms", "first look-up: p99 wait, ms"}
    assert figures == {"share that waits", "schema_abort_rate", *waits}


def row_of(answered: dict[str, Any], **setting: int) -> dict[str, Any]:
    (found,) = [
        each
        for each in answered["front"]
        if all(each[name] == value for name, value in setting.items())
    ]
    return dict(found)


def test_aborts_are_measured_at_each_row(answered: dict[str, Any]) -> None:
    """Waits make transactions longer: where most look-ups wait more of them meet a statement."""
    best = answered["recommended"]
    alike = {"h_ms": best["h_ms"], "cs_max_ms": best["cs_max_ms"]}
    short = row_of(answered, dd_ms=40, **alike)
    enough = row_of(answered, dd_ms=best["dd_ms"], **alike)
    assert short["waiting"] > 0.4
    assert short["schema_abort_rate"] > 1.5 * enough["schema_abort_rate"]
    ends = [short[f"schema_abort_rate{end}"] for end in ("_low", "", "_high")]
    assert ends[0] < ends[1] < ends[2], "two seeds alike would be no reason to be sure"
    assert short["dml_latency_p99"] > 1.5 * enough["dml_latency_p99"]
    grown = enough["ddl_latency_p99"] - short["ddl_latency_p99"]
    # hardly more than the DDs are apart; less where a statement waits for what it rests on
    assert 20 < grown < best["dd_ms"] - 40 + 5
    for each in answered["front"]:
        metrics = [goal["metric"] for goal in each["goals"]]
        assert metrics == ["dml_wait_p99", "ddl_latency_p99", "schema_abort_rate"]
        for goal in each["goals"]:
            name = {"dml_wait_p99": "wait_p99"}.get(goal["metric"], goal["metric"])
            assert goal["simulated"] == each[name]


def test_a_row_is_what_run_says_of_its_scenario(
    answered: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cell of a row as a scenario for `ddlsim run`: its aborts, its DDL, its waits."""
    folder = answered["out"].parent
    request = request_of(options_of(answered["words"]))
    request = replace(request, world=replace(request.world, leader=answered["asked"]["leader"]))
    for dd in (40, answered["recommended"]["dd_ms"]):
        setting = cells.Setting(dd, 50, 3)
        row = row_of(answered, dd_ms=dd, h_ms=50, cs_max_ms=3)
        made = cells.Cells(request.world, request.texts, "iep", request.load, ())
        cell = made.statements(setting)
        for ours, file in (("delays.csv", "d.csv"), ("offsets.csv", "o.csv")):
            (tmp_path / ours).write_text((folder / file).read_text("utf-8"), "utf-8")
        scenario = tmp_path / f"row-{dd}.toml"
        scenario.write_text(cell.text, "utf-8")
        assert main(["run", str(scenario), "--seeds", "0..1", "--output", "json"]) == 0
        runs = json.loads(capsys.readouterr().out)["runs"]
        aborted = attempts = 0
        latencies = []
        for figures in (each["figures"] for each in runs):
            attempts += figures["attempts"]
            aborted += figures["schema_abort_rate"] * figures["attempts"]
            latencies.append(figures["ddl_latency_ms"]["max"])
        # 15 statements in 600 ms, their own second each, and DD; one a minute in life
        doomed_ms = aborted / attempts * (600 + 15 * 1_000 + dd) / 15
        assert row["schema_abort_rate"] == pytest.approx(1 - exp(-doomed_ms / 60_000), rel=1e-4)
        assert row["ddl_latency_p99"] <= max(latencies) * 1.01


def test_a_setting_of_the_users_is_priced(answered: dict[str, Any]) -> None:
    (tried,) = answered["tried"]
    assert (tried["dd_ms"], tried["h_ms"], tried["cs_max_ms"]) == (100, 50, 30)
    row = row_of(answered, dd_ms=100, cs_max_ms=30)
    assert row["goals"] == tried["goals"]
    assert 130 <= row["ddl_latency_p99"] <= 170, "DD + CSmax, and the ways"


def test_what_can_be_lowered_is_told_for_dd_and_for_cs_max(answered: dict[str, Any]) -> None:
    present, best = answered["present"], answered["recommended"]
    by_dd = present["dd_ms"] - best["dd_ms"]
    assert present["ddl_latency_saved_by_dd_ms"] == pytest.approx(by_dd, abs=20)
    assert present["ddl_latency_saved_by_cs_max_ms"] == pytest.approx(500 - 3, abs=20)
    assert answered["cs_max"]["basis"] == "range over the sample"
    assert answered["cs_max"]["broken_by"][0] == "a step of more than 1 ms (y forward, x back)"


def test_everything_that_breaks_beyond_cs_max_is_told(answered: dict[str, Any]) -> None:
    by_factor = {each["factor"]: each["broken"] for each in answered["skew"]}
    assert by_factor[1.0] == []
    assert {"invariant": "I4", "status": "out_of_assumption", "runs": 2} in by_factor[2.0]


def test_recommended_meets_the_goals_surely_and_nothing_that_misses_is_in_the_interval(
    answered: dict[str, Any],
) -> None:
    best = answered["recommended"]
    low, high = best["dd_interval_ms"]
    row = row_of(answered, dd_ms=best["dd_ms"], cs_max_ms=3)
    assert row["goals"][0]["sure"]
    assert best["dd_excluded_ms"] < low <= best["dd_surely_ms"] <= high
    for each in answered["front"]:
        if each["cs_max_ms"] == 3 and each["goals"][0]["low"] > 2:
            assert each["dd_ms"] < low, "its whole interval is above the limit"


def test_rows_and_cells_are_written(answered: dict[str, Any]) -> None:
    import pyarrow.parquet as pq

    rows = pq.read_table(answered["out"] / "rows.parquet", partitioning=None)
    cells = pq.read_table(answered["out"] / "cells.parquet", partitioning=None)
    assert rows.num_rows == answered["runs"]["all"] == 2 * cells.num_rows
    assert set(cells["kind"].to_pylist()) == {"looks", "statements", "calm", "skewed"}
    assert b"ddlsim" in rows.schema.metadata


def test_the_answer_holds_its_own_command_and_the_page_shows_it(
    answered: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(answered["command"])
    assert words[0] == "ddlsim"
    assert not {"--out", "--jobs", "--master"}.intersection(words), "who runs it, and where to"
    first, again = options_of(answered["words"]), options_of(words[1:])
    assert request_of(again) == request_of(first)
    assert command_of(again) == answered["command"]
    assert main(["report", str(answered["out"])]) == 0
    capsys.readouterr()
    page = html.unescape((answered["out"] / "report.html").read_text("utf-8"))
    assert f"<pre>{answered['command']}</pre>" in page
    assert f"ddlsim {answered['provenance']['version']}" in page


def options_of(words: list[str]) -> Options:
    with variables_of({}):
        return arguments.parse(words)[1]


def test_the_same_command_gives_the_same_answer_as_text(
    answered: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    from ddlsim.cli.views.tune import show
    from ddlsim.cli.views.words import console

    show(answered, console(), "out")
    text = capsys.readouterr().out
    best = answered["recommended"]
    first = f"DD {best['dd_ms']} ms   H {best['h_ms']} ms   CSmax {best['cs_max_ms']} ms"
    assert text.startswith("cluster       2 nodes; x, y vote (the first 2 by name); ")
    assert first in text.splitlines()[:6]
    assert "(0 to 0)" not in text
    for word in ("DD because", "H because", "CSmax because", "real skew", "recommended", "formula"):
        assert word in text
    assert len(text.splitlines()) <= 50, "one screen"
    assert "repeat: ddlsim tune --delays" in text


def test_equal_clocks_are_said_to_be_equal(capsys: pytest.CaptureFixture[str]) -> None:
    from ddlsim.cli.views.tune import _skewed_clocks
    from ddlsim.cli.views.words import console

    equal = {**ADVICE["cs_max"], "largest_ms": 0.0, "between": None}
    _skewed_clocks({**ADVICE, "cs_max": equal}, console())
    said = " ".join(capsys.readouterr().out.split())
    assert "is 0 ms (all clocks show the same: no skew was measured)" in said


def test_assumed_delays_are_in_the_first_line(
    answered: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    from ddlsim.cli.views.tune import show
    from ddlsim.cli.views.words import console

    found = {**answered, "asked": {**answered["asked"], "delays": None}}
    show(found, console(), None)
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "assumed       no --delays: lognormal delays, median 5 ms, p99 50 ms"
    show(answered, console(), None)
    assert "assumed" not in capsys.readouterr().out


# --- what is refused -----------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["tune", *words]) == 2
    told = capsys.readouterr()
    assert not told.out
    notes = ("no --delays", " runs done, ")
    (line,) = [one for one in told.err.splitlines() if not any(word in one for word in notes)]
    return line.removeprefix("ddlsim: ")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", ":1: there is no header"),
        ("delay_ms\n", ": no measurements in it"),
        ("delay\n1\n", ":1: delay has no unit"),
        ("delay_ms\n1\n-2\n", ":3: delay_ms: a negative delay, -2"),
        ("delay_ms\n1\nabc\n", ":3: delay_ms: expected a number, not 'abc'"),
        ("time_s,delay_ms\n2,1\n1,1\n", ":3: time_s goes back from 2 to 1; sort the file"),
    ],
)
def test_a_bad_file_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, told: str
) -> None:
    file = tmp_path / "d.csv"
    file.write_text(content, "utf-8")
    out = tmp_path / "out"
    line = refused(capsys, "--delays", str(file), "--out", str(out))
    assert line.startswith(f"{file}{told}")
    assert not out.exists()


def test_a_cluster_that_does_not_work_is_no_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Delays of seconds: no leader is elected, no look-up ends, and no wait is seen."""
    file = tmp_path / "d.csv"
    lines = [f"{a},{b},{3 + n % 4}" for n in range(40) for a, b in ("xy", "yx")]
    file.write_text("from,to,delay_s\n" + "\n".join(lines) + "\n", "utf-8")
    out = tmp_path / "out"
    line = refused(capsys, "--delays", str(file), *SMALL, "--out", str(out))
    assert line.startswith("tune: in 2 of 2 runs with DD ")
    assert line.endswith("the cluster does not work; is their unit right?")


def test_files_that_are_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = refused(capsys, "--offsets", str(tmp_path / "none.csv"))
    assert line.endswith("No such file or directory; name a CSV or Parquet file")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--slo", "dml_wait<=1ms"], "tune: --slo 'dml_wait<=1ms': unknown metric 'dml_wait'"),
        (["--strategy", "nonesuch"], "no strategy"),
        (["--strategy", "a1_naive_future"], "tune: --strategy a1_naive_future never waits, so no"),
        (["--strategy", "a0_on_receipt"], "tune: --strategy a0_on_receipt never waits and uses"),
        (["--strategy", "a4_on_receipt"], "tune: --strategy a4_on_receipt never waits and uses"),
        (["--strategy", "a3_barrier"], "tune: --strategy a3_barrier waits for something else"),
        (["--leader", "n9"], "tune: --leader n9: no node is called so; nodes: n1, n2, n3"),
        (["--voters", "9"], "tune: --voters 9: the cluster has 5 nodes"),
        (["--voters", "n1,n7"], "tune: --voters n7: no node is called so; nodes: n1, n2, n3"),
        (["--voters", "n1,n1"], "tune: --voters: expected a number, or names as in a,b,c"),
        (
            ["--voters", "n1,n2", "--leader", "n3"],
            "tune: --leader n3: only a voter can lead; --voters are n1, n2",
        ),
        (["--try", "dd=3,x=1"], "tune: --try: expected dd=MS, h=MS and csmax=MS with commas"),
        (["--try", "h=0"], "tune: --try: expected a number from 1 up"),
        (["--incompatible", "2"], "tune: --incompatible: expected a share from 0 to 1, not '2'"),
        (["--master", "local[1]", "--jobs", "2"], "tune: --jobs is for processes, --master for"),
    ],
)
def test_bad_arguments(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, *words).startswith(told)


def test_numbers_that_make_no_run_are_told_by_the_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first run."""
    monkeypatch.setattr(Runs, "run", lambda *_: pytest.fail("something was run"))
    words = ["--delays", small_delays(tmp_path), *SMALL, "--tx-length", "1e300"]
    told = "tune: these numbers make no run: run.load_ms: must be at most"
    assert refused(capsys, *words).startswith(told)


def test_an_impossible_goal_names_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    goals = ["--slo", "dml_wait_p99<=1ms", "--slo", "ddl_latency_p99<=20ms"]
    line = refused(capsys, "--delays", small_delays(tmp_path), *SMALL, *goals)
    assert line.startswith(
        "tune: no DD satisfies dml_wait_p99<=1ms and ddl_latency_p99<=20ms with CSmax 500 ms; "
        "the nearest is DD "
    )


def test_a_rate_of_aborts_that_no_dd_changes_names_what_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    goals = ["--slo", "schema_abort_rate<=1e-6", "--current-h", "50"]
    files = ["--delays", small_delays(tmp_path), "--offsets", small_offsets(tmp_path)]
    line = refused(capsys, *files, *SMALL, *goals)
    assert "ms does not lower it, hardly a look-up waits there" in line
    assert "the nearest is at most" in line


def test_a_design_without_dd_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--delays", small_delays(tmp_path)]
    line = refused(capsys, *files, *SMALL, "--strategy", "a5_safetime")
    assert "a5_safetime does not use DD, its dml_wait_p99 is" in line


def test_a_directory_of_something_else_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sweep.json").write_text("{}", "utf-8")
    line = refused(capsys, "--out", str(tmp_path))
    assert line.endswith(
        "holds sweep.json, which `tune` did not write; nothing was overwritten, name another one"
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["sweep.json"]
    (tmp_path / "sweep.json").rename(tmp_path / "tune.json")
    assert "which `tune` did not write" in refused(capsys, "--out", str(tmp_path))
    assert "it is a file" in refused(capsys, "--out", str(tmp_path / "tune.json"))


def test_the_shipped_sample_is_read_and_has_a_leader() -> None:
    words = ["tune", "--delays", str(ROOT / DELAYS), "--offsets", str(ROOT / OFFSETS)]
    request = request_of(options_of(words))
    assert request.world.nodes == ("n1", "n2", "n3", "n4", "n5")
    assert request.world.leader in ("n1", "n2", "n3")
    # 7.29 ms at one instant, and half of it; the range over the sample is 8.78 ms
    rows = [line.split(",") for line in (ROOT / OFFSETS).read_text("utf-8").splitlines()[1:]]
    instants: dict[str, list[float]] = {}
    for _, at, own in rows:
        instants.setdefault(at, []).append(float(own))
    largest = max(max(own) - min(own) for own in instants.values())
    assert request.clocks is not None
    assert request.clocks.largest_ms == pytest.approx(largest, abs=0.001)
    assert request.cs_max == ceil(1.5 * largest)
