"""The page about a sweep: all in one file, with the command for everything that it says."""

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from analysis import figure
from tests.unit.analysis.advice import ADVICE
from tests.unit.cli.command import ddlsim


@pytest.fixture(scope="module")
def page(two: Path) -> str:
    done = ddlsim("report", str(two))
    assert (done.code, done.out.strip()) == (0, str(two / "report.html")), done.err
    return (two / "report.html").read_text("utf-8")


def test_nothing_is_fetched(page: str) -> None:
    names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    addresses = set(re.findall(r"https?://[^\"'\s<>)]+", page))
    assert addresses <= names
    assert not re.search(r"<(script|link|img|image|iframe|object)\b", page)
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page


def test_every_figure_that_can_be_drawn_is_on_it_with_its_command(page: str, two: Path) -> None:
    drawn = set(re.findall(r"ddlsim plot (\w+) out", page))
    assert drawn == {"atomicity", "designs", "pareto", "own_ddl", "freeze"}
    assert page.count("<svg") == len(drawn)
    for name in drawn:
        assert figure.plots()[name].summary[1:] in page
    assert page.count(f'id="{min(drawn)}-') > 5
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_it_holds_the_configuration_and_a_line_for_each_cell(page: str) -> None:
    assert "16 runs in 8 cells" in page
    (command,) = re.findall(r"<pre>(ddlsim sweep .*?)</pre>", page)
    assert shlex.split(command)[3:] == ["--out", "DIR"]
    assert "skew_ms = { path" in page  # the sweep's own text
    assert "<th>outage (ms)</th>" in page
    table = page[page.index("What came out") : page.index("What the judges found")]
    assert table.count("<td>a0_on_receipt</td>") == table.count("<td>iep</td>") == 4
    assert "rate below" in table


def test_findings_come_with_the_command_that_shows_them(page: str) -> None:
    found = page[page.index("What the judges found") :]
    assert re.search(r'<td class="t">I\d+</td>', found)
    command = re.search(r"<code>ddlsim (run .*? --seed \d+)</code>", found)
    assert command is not None
    words = shlex.split(html.unescape(command[1]))
    assert "strategy.name=" in " ".join(words)
    done = ddlsim(*words, "--output", "json")
    assert done.code != 2, done.err
    assert "atomicity" in done.out


def test_the_page_is_the_same_twice(page: str, two: Path, tmp_path: Path) -> None:
    assert ddlsim("report", str(two), "--out", str(tmp_path / "again.html")).code == 0
    assert (tmp_path / "again.html").read_text("utf-8") == page


def test_without_a_sweep_nothing_is_written(tmp_path: Path) -> None:
    done = ddlsim("report", str(tmp_path))
    assert done.code == 2
    assert "no rows.parquet there" in done.err
    assert done.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_told(two: Path, tmp_path: Path) -> None:
    done = ddlsim("report", str(two), "--out", str(tmp_path / "no" / "page.html"))
    assert done.code == 2
    assert "name a file that can be written" in done.err


def test_advice_is_read_without_json(tmp_path: Path) -> None:
    (tmp_path / "tune.json").write_text(json.dumps(ADVICE), "utf-8")
    assert ddlsim("report", str(tmp_path)).code == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    plain = re.sub(r"\s+", " ", re.sub(r"<svg.*?</svg>|<[^>]+>", " ", page, flags=re.DOTALL))
    for words in (
        "384 runs; ddlsim 9.9.9, commit abc123, Python 3.99. ddlsim tune --delays d.csv --slo",
        "DD 60 500 the least that meets the goals is 55; 95 %: 50 to 60",
        "CSmax 7 500 the largest skew in 40 looks was 4.50 ms, between n1 and n2, plus 2.25 ms",
        "0.500 (0.250 to 0.750) surely",
        "DD can be lowered from 500 to 60 ms",
        "1.5 10.5 24 9 missed 0 (rate below 11.7 %)",
        "3.00 to 6.00 disagrees",
        "384 runs, 120 of them to search; a fine grid would take 2424",
    ):
        assert words in plain
    assert page.count("<svg") == 1
    assert "{" not in plain.replace(plain[: plain.index("Recommendation")], "")
    assert ddlsim("plot", "tune", str(tmp_path)).code == 0
    assert "recommended 60 ms" in (tmp_path / "tune.svg").read_text("utf-8")


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"writer": "ddlsim tune", "format": 1}', '{"writer": "another", "format": 1}'],
)
def test_advice_of_others_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "tune.json").write_text(text, "utf-8")
    for words in (("report", str(tmp_path)), ("plot", "tune", str(tmp_path))):
        done = ddlsim(*words)
        assert done.code == 2
        assert "no advice that this program wrote" in done.err
    assert [file.name for file in tmp_path.iterdir()] == ["tune.json"]
