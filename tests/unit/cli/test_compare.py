"""`ddlsim compare`: its forms, its refusals, and what it shrinks."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from ddlsim.analysis.compare import compare as comparing
from ddlsim.cli import main
from ddlsim.cli.verbs import compare as verb_compare
from ddlsim.cli.views import compare_pages
from ddlsim.cli.views.compare import claims_text
from ddlsim.cli.views.compare_pages import plain
from tests.support.command import ddlsim
from tests.support.compared import a_breach, a_line, a_table
from tests.support.json_schemas import wrong

SMALL = ("--scenario", "smoke", "--seeds", "2", "--jobs", "1")


@pytest.fixture(autouse=True)
def nothing_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """No shipped scenarios are run beside: that takes a second."""
    monkeypatch.setattr(comparing, "_convicting", dict)


def test_the_document_fits_its_schema_and_repeats() -> None:
    words = ("compare", "iep_closed", "a0_on_receipt", *SMALL, "--output", "json")
    done = ddlsim(*words)
    assert done.code == 0
    found: Any = json.loads(done.out)
    assert wrong("compare", found) == []
    assert wrong("compare", {**found, "designs": [{**found["designs"][0], "runs": "two"}]})
    assert {one["design"] for one in found["designs"]} == {"iep_closed", "a0_on_receipt"}
    assert [one["runs"] for one in found["designs"]] == [2, 2]
    assert (
        found["command"] == "ddlsim compare iep_closed a0_on_receipt --scenario smoke --seeds 0..1"
    )
    assert ddlsim(*words).out == done.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("iepp",), "no strategy is called 'iepp'; did you mean iep?"),
        (("iep", "--scenario", "smokee"), "did you mean smoke?"),
        (("iep", "--seeds", "0"), "--seeds"),
        (("iep", "--scenario", "strategies/A7-T4"), "sets fields of its design"),
        (("iep", "--output", "htm"), "did you mean html?"),
        (("iep", "--set", "nonsense.key=1"), "nonsense"),
    ],
)
def test_a_slip_is_one_line_and_nothing_is_run(words: tuple[str, ...], told: str) -> None:
    done = ddlsim("compare", *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert done.err.count("\n") == 1


def test_a_crash_is_told_and_is_the_exit_code() -> None:
    lost = a_line("third", verdict="not judged", lost=20)
    assert verb_compare.exit_code([a_line("first")]) == 0
    assert verb_compare.exit_code([a_line("first"), lost]) == 4


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x", "utf-8")
    done = ddlsim("compare", "iep", *SMALL, "--shrunk", str(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert "it is not empty" in done.err


def test_a_breach_is_shrunk_and_its_command_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb_compare, "SHRINK_S", 2.0)
    folder = tmp_path / "shrunk"
    words = ("b1_opt1", "iep_closed", "--seeds", "1", "--jobs", "1", "--shrunk", str(folder))
    done = ddlsim("compare", *words, "--output", "json")
    assert done.code == 0
    found = {one["design"]: one for one in json.loads(done.out)["designs"]}
    assert [one.name for one in folder.iterdir()] == ["b1_opt1.toml"]
    (breach,) = [one for one in found["b1_opt1"]["breaches"] if one["text"]]
    assert breach["text"] == (folder / "b1_opt1.toml").read_text("utf-8")
    assert breach["steps"] < 60
    assert main(breach["shortest"].split()[1:]) == 0
    assert found["iep_closed"]["breaches"] == []


def test_only_broken_claims_that_nothing_shipped_shows_are_shrunk() -> None:
    assert verb_compare.is_worth_it(a_breach())
    assert not verb_compare.is_worth_it(a_breach(status="accepted"))
    assert not verb_compare.is_worth_it(a_breach(shortest="ddlsim run strategies/A1-T1"))


def test_claims_that_no_change_has_tried_are_told_as_such() -> None:
    line = a_line("first", verdict="untested")
    assert claims_text(line) == "no change came into force under load: I1, I2 kept without"
    assert claims_text(a_line("first")) == "keeps I1, I2"


def test_markdown_shows_what_stands_there() -> None:
    assert plain("a|b <c> *d* e_f") == "a\\|b \\<c\\> \\*d\\* e\\_f"
    made = compare_pages.markdown(a_table()).split("\n")
    tables = [list(each) for are, each in groupby(made, lambda one: one.startswith("|")) if are]
    assert [len(rows) for rows in tables] == [5, 5], "heads, their line, and three designs"
    for rows in tables:
        assert {line.count("|") - line.count("\\|") for line in rows} == {rows[0].count("|")}


def test_the_page_escapes_what_it_shows_and_loads_nothing() -> None:
    table = a_table()
    table["designs"][0] = a_line("first", summary="<script>alert(1)</script>")
    page = compare_pages.html(table)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "src=" not in page
    assert "http" not in page
    assert 'title="plane other does not measure reads of metadata"' in page
