"""The page about a sweep: all in one file, with the command for everything that it says."""

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from ddlsim.analysis.figures.catalog import PLOTS
from ddlsim.analysis.figures.report import _verdict, _wait
from ddlsim.analysis.stats import histogram
from ddlsim.analysis.sweep.cells import Cell
from ddlsim.analysis.tune import tuned
from tests.support.advice import ADVICE
from tests.support.command import ddlsim
from tests.support.drawn import SCENARIO
from tests.support.forked import forked
from tests.unit.analysis.test_cells import a_finding, a_row


@pytest.fixture(scope="module")
def page(two: Path) -> str:
    done = ddlsim("report", str(two))
    assert (done.code, done.out.strip()) == (0, str(two / "report.html")), done.err
    return (two / "report.html").read_text("utf-8")


def test_the_page_loads_nothing(page: str) -> None:
    names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    addresses = set(re.findall(r"https?://[^\"'\s<>)]+", page))
    assert addresses <= names
    assert not re.search(r"<(script|link|img|image|iframe|object)\b", page)
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page


def test_the_page_has_every_possible_figure_with_its_command(page: str, two: Path) -> None:
    drawn = set(re.findall(r"ddlsim plot (\w+) ", page))
    assert drawn == {"atomicity", "designs", "pareto", "own_ddl", "freeze"}
    assert page.count("<svg") == len(drawn)
    for name in drawn:
        assert PLOTS[name].summary[1:] in page
    assert page.count(f'id="{min(drawn)}-') > 5
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_page_has_the_configuration_and_a_row_for_each_cell(page: str) -> None:
    assert "16 runs in 8 cells" in page
    (command,) = re.findall(r"<pre>(ddlsim sweep .*?)</pre>", page)
    assert shlex.split(command)[3:] == ["--out", "DIR"]
    assert "skew_ms = { path" in page  # the sweep's own text
    assert "<th>outage (ms)</th>" in page
    assert "<th>dml_wait_p99 (ms)</th>" in page  # of whole operations, not of look-ups
    table = page[page.index("<h2>Results by cell") : page.index("<h2>Violations</h2>")]
    assert table.count("<td>a0_on_receipt</td>") == table.count("<td>iep</td>") == 4
    assert "rate below" in table


@pytest.mark.parametrize(
    ("waits_us", "told"),
    [
        ([0] * 500, "0 (none in 2 runs)"),
        ([0] * 120, "0 (none in 2 runs)"),
        ([0] * 119 + [9_000], "0 (< 0.83 % wait)"),
        ([0] * 80 + [9_000] * 40, "8.96 (8.96 to ∞)"),
    ],
)
def test_a_wait_of_0_is_told_by_the_share_that_waits(waits_us: list[int], told: str) -> None:
    taken = histogram.cell(histogram.of(waits_us))
    assert _wait(Cell([a_row(seed, operation_wait_us=taken) for seed in range(2)])) == told


@pytest.mark.parametrize(
    ("outcomes", "told", "bad"),
    [
        (["ok"] * 10, "none; rate below 26 %", False),
        (["ok"] * 9 + ["vacuous"], "none; rate below 26 %, vacuous: 1", False),
        (["stuck"] * 10, "none; rate below 26 %, stuck: 10", True),
        (["ok"] * 10 + ["unknown"] * 5, "none; rate below 26 %, not judged in full: 5", True),
        (["unknown"] * 3, "not judged in full: 3", True),
        (["timeout", "ok"], "none; rate below 95 %, not finished: 1", True),
        (["unmet", "violated"], "violated in 1, not as expected: 1", True),
    ],
)
def test_the_verdict_of_a_cell_leaves_no_end_of_its_runs_out(
    outcomes: list[str], told: str, bad: bool
) -> None:
    found = [a_finding("violation", "I3", strict_only=True)]  # of a sweep that is judged strictly
    rows = [
        a_row(seed, outcome=end, violations=found if end == "violated" else [])
        for seed, end in enumerate(outcomes)
    ]
    assert _verdict(Cell(rows)) == (told, bad)


def test_violations_on_the_page_have_a_command_that_repeats_them(
    page: str, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(two.parent)  # where the sweep was run
    found = page[page.index("<h2>Violations</h2>") :]
    assert re.search(r'<td class="t">I\d+</td>', found)
    command = re.search(r"<code>ddlsim (run .*? --seed \d+)</code>", found)
    assert command is not None
    words = shlex.split(html.unescape(command[1]))
    assert "strategy.name=" in " ".join(words)
    done = ddlsim(*words, "--output", "json")
    assert done.code != 2, done.err
    assert "atomicity" in done.out


def test_the_page_is_deterministic(page: str, two: Path, tmp_path: Path) -> None:
    assert ddlsim("report", str(two), "--out", str(tmp_path / "again.html")).code == 0
    assert (tmp_path / "again.html").read_text("utf-8") == page


def test_report_without_a_sweep_writes_nothing(tmp_path: Path) -> None:
    done = ddlsim("report", str(tmp_path))
    assert done.code == 2
    assert "no rows.parquet there" in done.err
    assert done.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_report_names_a_target_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "tune.json").write_text(json.dumps(tuned.sealed(ADVICE)), "utf-8")
    done = ddlsim("report", str(tmp_path), "--out", str(tmp_path / "no" / "page.html"))
    assert done.code == 2
    assert "name a file that can be written" in done.err


def test_the_page_of_an_advice_shows_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "tune.json").write_text(json.dumps(tuned.sealed(ADVICE)), "utf-8")
    assert ddlsim("report", str(tmp_path)).code == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    plain = re.sub(r"\s+", " ", re.sub(r"<svg.*?</svg>|<[^>]+>", " ", page, flags=re.DOTALL))
    for words in (
        "384 runs; ddlsim 9.9.9, commit abc123, Python 3.99. ddlsim tune --delays d.csv --slo",
        "Assumed cluster: 3 nodes; n1, n2, n3 vote (as told); n1 leads (as told).",
        "DD 60 500 the least that meets the goals in the runs is 55; with the whole 95 % interval",
        "Together 50 to 60, of which the upper end is recommended",
        "CSmax 7 500 the largest skew at one of 40 instants was 4.50 ms, n1 ahead of n2, plus",
        "0.5 (0.25 to 0.75) surely",
        "DD can be lowered from 500 to 60 ms, on all nodes at once",
        "falls by 440 ms",
        "CSmax could go down from 500 to 7 ms, for 480 ms more; that is as safe as the clocks.",
        "It would be exceeded by a step of more than 2.5 ms",
        "1.5 10.5 24 9 may be missed 0 (rate below 11.7 %) I4 out of assumption 9",
        "3 to 6 disagrees",
        "384 runs, 120 of them to search; a fine grid would take 2,424",
    ):
        assert words in plain
    assert page.count("<svg") == 1
    assert "{" not in plain.replace(plain[: plain.index("Recommendation")], "")
    assert ddlsim("plot", "tune", str(tmp_path)).code == 0
    assert "recommended: 60 ms" in (tmp_path / "tune.svg").read_text("utf-8")


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"writer": "ddlsim tune", "format": 1}', '{"writer": "another", "format": 1}'],
)
def test_report_refuses_a_tune_json_of_another_program(text: str, tmp_path: Path) -> None:
    (tmp_path / "tune.json").write_text(text, "utf-8")
    for words in (("report", str(tmp_path)), ("plot", "tune", str(tmp_path))):
        done = ddlsim(*words)
        assert done.code == 2
        assert "no advice that this program wrote" in done.err
    assert [file.name for file in tmp_path.iterdir()] == ["tune.json"]


@pytest.mark.parametrize("key", ["provenance", "command", "recommended", "digest"])
def test_report_refuses_an_edited_tune_json(key: str, tmp_path: Path) -> None:
    told = tuned.sealed(ADVICE)
    lost = {name: value for name, value in told.items() if name != key}
    for edited, why in (({**told, key: 7}, "it is damaged"), (lost, "run `ddlsim tune` again")):
        (tmp_path / "tune.json").write_text(json.dumps(edited), "utf-8")
        for words in (("report", str(tmp_path)), ("plot", "tune", str(tmp_path))):
            done = ddlsim(*words)
            assert (done.code, why in done.err) == (2, True), done.err


PLUGIN = '''\
"""A design of a team of its own."""

from dataclasses import replace

from ddlsim.model.design import DesignHeader
from ddlsim.protocol.design.flows import what_is_known
from ddlsim.strategies.base import strategy
from ddlsim.strategies.iep import IEP

HEADER = DesignHeader(name="ours_NAME", summary="s", source="s", plane="ignite", claims=())
strategy(replace(IEP, header=HEADER, resolve_schema=what_is_known))
'''
OURS = """\
title = "a design of ours"
scenarios = ["scenario.toml"]
strategies = ["ours_NAME"]
seeds = "0..1"
all_claims = true

[budget]
time_s = 600
memory_mib = 2_048

[set]
"protocol.resend_ms" = 150

[parameters]
mine = { path = "clocks.nodes.n1.offset_ms", values = [0, 20] }
outage_ms = { path = "faults[0].for_ms", values = [10, 60] }
"""


def commands(page: str) -> list[list[str]]:
    """Every command on a page, as a shell reads it, without its first word."""
    found = re.findall(r"<(?:pre|code)>ddlsim (.*?)</(?:pre|code)>", page, re.DOTALL)
    return [shlex.split(html.unescape(words)) for words in dict.fromkeys(found)]


def test_every_command_on_the_page_runs(tmp_path: Path) -> None:
    """With a design that only --load knows, values over the file, a schema that lies elsewhere,
    budgets, and a folder with a space."""
    folder = tmp_path / "two words"
    folder.mkdir()
    name = f"ours_{tmp_path.name}".replace("-", "_")
    for file, text in (("scenario.toml", SCENARIO), ("sweep.toml", OURS), ("ours.py", PLUGIN)):
        (folder / file).write_text(text.replace("ours_NAME", name), "utf-8")
    table = 'sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"'
    (tmp_path / "t.sql").write_text(table.split('"')[1], "utf-8")
    text = (folder / "scenario.toml").read_text("utf-8")
    assert table in text
    (folder / "scenario.toml").write_text(text.replace(table, 'file = "../t.sql"'), "utf-8")
    loading = ["--allow-outside", "--load", "two words/ours.py"]
    where = ["two words/sweep.toml", *loading, "--jobs", "1"]
    for given in (["sweep", *where, "--out", "two words/out"], ["report", "two words/out"]):
        made = forked(*given, cwd=tmp_path)
        assert made.code == 0, made
    found = commands((folder / "out" / "report.html").read_text("utf-8"))
    assert {words[0] for words in found} == {"sweep", "plot", "run"}
    assert ["plot", "own_ddl", "two words/out"] in found  # the axis is known by its path
    for words in found:
        jobs = ["--jobs", "1"] if words[0] == "sweep" else []
        done = forked(*words, *jobs, cwd=tmp_path)
        assert done.code in (0, 1), (words, done.err)
        if words[0] == "run":
            for word in (*loading, "--time", "600s", "--memory", "2048MiB"):
                assert word in words
            assert "protocol.resend_ms=150" in words
            assert done.out.startswith("VIOLATED")
