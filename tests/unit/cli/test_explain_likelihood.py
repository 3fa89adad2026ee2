"""`ddlsim explain --likelihood`: as data, in words, on the page, and where there is none."""

import json
import re
from pathlib import Path

import pytest
from msgspec import structs

from ddlsim.cli.verbs import explain_likelihood
from ddlsim.history import codec
from tests.support.command import ROOT, TINY, ddlsim
from tests.unit.search.test_likelihood import LATE, SEED

WITNESS = ROOT / "scenarios" / "witness" / "clean.jsonl"


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("likelihood")
    (folder / "late.toml").write_text(LATE, "utf-8")
    out = str(folder / "out")
    ddlsim("run", str(folder / "late.toml"), "--seed", str(SEED), "--out", out, "--no-shrink")
    return f"{out}/seed-{SEED}.jsonl"


def test_as_data_in_words_and_on_the_page_it_is_the_same(late: str, tmp_path: Path) -> None:
    page = str(tmp_path / "page.html")
    words = ("explain", late, "--likelihood", "--continuations", "12", "--jobs", "1")
    found = json.loads(ddlsim(*words, "--output", "json").out)["likelihood"]
    assert found["continuations"] == 12
    assert found["points"][0]["at_ms"] is None
    shows = [point["shows"] for point in found["points"]]
    assert 0 < shows[0] < 12 == shows[-1]
    [rise] = found["rises"]
    assert rise["messages"][0]["kind"] == "submit"
    done = ddlsim(*words, "--html", page)
    told = done.out[done.out.index("\nlikelihood") :]
    assert [int(n) for n in re.findall(r"(?:beginning|ms)  +(\d+)(?:  #+)?\n", told)] == shows
    sentence = f"from {shows[0]} to 12 by what is sent at 100.000 ms: submit from n2 to n1"
    assert sentence in " ".join(told.split())
    html = Path(page).read_text("utf-8")
    assert sentence in html
    assert html.count("<circle cx=") >= len(shows)
    assert f"100.000 ms: {shows[0]} of 12" in html


def test_without_a_cycle_to_draw_it_is_refused_before_any_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ddlsim("run", "negative/noop_without_wait", "--out", str(tmp_path), "--no-shrink")
    monkeypatch.setattr(explain_likelihood, "repeated", None)
    words = ("explain", str(tmp_path / "seed-0.jsonl"), "--likelihood", "--html")
    done = ddlsim(*words, str(tmp_path / "a.html"), "--svg", str(tmp_path / "a.svg"))
    assert done.code == 2
    assert "a.svg: this history has no cycle to draw; --html shows its steps" in done.err


def test_what_the_plan_alone_decides_is_told(tmp_path: Path) -> None:
    ddlsim("run", "strategies/B3-T1", "--out", str(tmp_path), "--no-shrink")
    done = ddlsim("explain", str(tmp_path / "seed-0.jsonl"), "--likelihood", "--jobs", "1")
    assert "it shows whatever the delays are" in " ".join(done.out.split())


def test_without_a_violation_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY, "utf-8")
    ddlsim("run", str(tmp_path / "tiny.toml"), "--out", str(tmp_path / "out"))
    done = ddlsim("explain", str(tmp_path / "out" / "seed-0.jsonl"), "--likelihood")
    assert done.code == 2
    assert "nothing is violated in this history" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--continuations", "5"), "--continuations: goes with --likelihood"),
        (("--jobs", "2"), "--jobs: goes with --likelihood"),
        (("--likelihood", "--continuations", "0"), "expected a number from 1 up"),
    ],
)
def test_flags_that_mean_nothing_are_refused(late: str, words: tuple[str, ...], told: str) -> None:
    done = ddlsim("explain", late, *words)
    assert done.code == 2
    assert told in done.err


def test_a_history_of_another_program_cannot_be_run_again() -> None:
    done = ddlsim("explain", str(WITNESS), "--likelihood")
    assert done.code == 2
    assert "--likelihood: runs a history of this program again" in done.err


def test_a_history_that_its_scenario_does_not_make_is_refused(late: str, tmp_path: Path) -> None:
    history = codec.load(late)
    history.header = structs.replace(history.header, seed=SEED + 1)
    codec.save(history, tmp_path / "other.jsonl")
    done = ddlsim("explain", str(tmp_path / "other.jsonl"), "--likelihood")
    assert done.code == 2
    assert "the run cannot be repeated: another version of ddlsim wrote it" in done.err


def test_nor_is_it_where_the_history_has_its_messages(late: str, tmp_path: Path) -> None:
    scenario = str(Path(late).parent.parent / "late.toml")
    words = ("run", scenario, "--seed", str(SEED), "--trace", "--no-shrink")
    ddlsim(*words, "--out", str(tmp_path))
    file = tmp_path / f"seed-{SEED}.jsonl"
    asked = ("--likelihood", "--continuations", "1", "--jobs", "1")
    assert ddlsim("explain", str(file), *asked).code == 0
    history = codec.load(file)
    history.header = structs.replace(history.header, seed=SEED + 1)
    codec.save(history, file)
    done = ddlsim("explain", str(file), *asked)
    assert done.code == 2
    assert "the run cannot be repeated: another version of ddlsim wrote it" in done.err
