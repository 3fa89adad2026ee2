"""The page of a history, its sentences, and where its marks and words lie."""

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from ddlsim.checkers.argument import argue
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import judge
from ddlsim.cli.picture import cut as picture_cut
from ddlsim.cli.picture import page as picture
from ddlsim.cli.picture.layout import NODE
from ddlsim.cli.picture.words import three_sentences
from ddlsim.cluster.run import run
from ddlsim.history.events import SchemaResolved
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read
from tests.support.drawn_pictures import SKEWED, STORIES, history_of, write_picture

SVG = "{http://www.w3.org/2000/svg}"


def page_of(name: str, path: Path) -> str:
    write_picture(history_of(name, trace=False), path)
    return path.read_text("utf-8")


@cache
def page(name: str) -> str:
    """The page of a scenario, written once."""
    with TemporaryDirectory() as folder:
        return page_of(name, Path(folder, "page.html"))


def test_write_picture_tells_a_violation_in_three_sentences(tmp_path: Path) -> None:
    text = page_of("findings/F-1", tmp_path / "page.html")
    sentences = re.findall(r'<p class="sentence">(.*?)</p>', text)
    assert len(sentences) == 3
    assert (
        "no serial order holds D3 (ALTER TABLE a ADD COLUMN w INT, Tm = 100+10 ms" in sentences[0]
    )
    assert "T2 comes before T1, because T1 read b[1]" in sentences[1]
    assert "known finding F-1" in sentences[2]
    assert "commit_schema = schema_at_commit_ts_exact_if_shown closes it" in sentences[2]
    again = tmp_path / "again.html"
    assert page_of("findings/F-1", again) == text


def test_a_sentence_begins_with_a_name_as_it_is() -> None:
    """A client's `mixed-2` became "Mixed-2", which is in no run."""
    case = Case(history_of("findings/F-1", trace=False))
    violation = judge(case.history).violations[0]
    first, *others = violation.steps
    named = replace(violation, steps=(replace(first, source="mixed-2.10"), *others))
    _, how, _ = three_sentences(case, named, argue(case, violation))
    assert how.startswith("mixed-2.10 comes before ")


RENAMED = """
[strategy]
mutant = "no_commit_check"
[protocol]
preset = "ignite3_tests"
delay_duration_ms = 40
[cluster]
nodes = 1
[schema]
sql = "CREATE TABLE b (id INT PRIMARY KEY, v INT)"
[[step]]
id = "d"
client = "c1"
node = "n1"
ddl = "ALTER TABLE b RENAME TO a"
[[step]]
id = "w"
client = "c2"
tx = "T"
node = "n1"
do = ["put", "b", 1]
[[step]]
id = "e"
client = "c2"
tx = "T"
at_ms = 100
do = "commit"
"""


def test_a_table_has_the_name_of_the_version_that_was_used() -> None:
    """The summary said that T wrote b, and the sentence below it that T wrote a."""
    case = Case(run(plan(read(RENAMED, "renamed"), 0)))
    violation = judge(case.history).violations[0]
    _, how, _ = three_sentences(case, violation, argue(case, violation))
    assert "T writes b[1] at" in how
    assert "with version 1 of b (version 2 at commit_ts)" in how


def test_an_update_that_a_transaction_met_is_drawn_and_told(tmp_path: Path) -> None:
    """The judge of F-12 names the transaction alone; the update came before its commit."""
    text = page_of("findings/F-12", tmp_path / "page.html")
    sentences = re.findall(r'<p class="sentence">(.*?)</p>', text)
    assert "D2 is ALTER TABLE a DROP COLUMN w, ADD COLUMN w INT, with Tm = 50+10 ms" in sentences[1]
    assert (
        "T1 commits: commit_ts = 108, with version 1 of a (version 2 at commit_ts)" in sentences[1]
    )
    assert '<rect class="dd"' in text
    assert "c2</b> requests ALTER TABLE a DROP COLUMN w, ADD COLUMN w INT from n2" in text


def test_a_statement_that_made_no_update_has_a_bar(tmp_path: Path) -> None:
    text = page_of("findings/F-7", tmp_path / "page.html")
    assert "<title>d2, of client c1</title>" in text
    assert "n3</b> d2 changes nothing by catalog version 1" in text
    assert "-86400000" not in "".join(re.findall(r'<p class="sentence">(.*?)</p>', text))


def test_write_picture_ends_with_the_command_that_it_is_given(tmp_path: Path) -> None:
    history = history_of("findings/F-1", trace=False)
    write_picture(history, tmp_path / "page.html", "ddlsim run shrunk.toml --seed 0")
    assert "<code>ddlsim run shrunk.toml --seed 0</code>" in (tmp_path / "page.html").read_text()


def test_a_run_without_a_violation_is_drawn_too() -> None:
    text = page("smoke")
    assert "Nothing was found that any invariant forbids." in text
    assert 0 < text.count("<circle") <= picture_cut.MOST
    assert "more steps of the argument are left out" in text


@pytest.mark.parametrize("name", [*STORIES, SKEWED])
def test_every_mark_lies_on_its_picture(name: str) -> None:
    text = page(name)
    [svg] = re.findall(r'<svg[^>]* class="draw" viewBox[^>]*role="img".*?</svg>', text, re.DOTALL)
    root = ElementTree.fromstring(svg)
    width, height = (float(word) for word in root.get("viewBox", "").split()[2:])
    for one in (*root.iter(f"{SVG}rect"), *root.iter(f"{SVG}text")):
        if one.get("id") == "here":
            continue
        x, y = float(one.get("x", 0)), float(one.get("y", 0))
        assert 0 <= x <= x + float(one.get("width", 0)) <= width + 1
        assert 0 <= y <= y + float(one.get("height", 0)) <= height + 1
    chips = [one for one in root.iter(f"{SVG}rect") if "chip" in one.get("class", "")]
    assert chips
    assert all(float(one.get("width", 0)) <= NODE - 26 for one in chips)


class Box(NamedTuple):
    """Where a text lies, by a font whose characters are rather too wide."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        beside = self.left < other.right and other.left < self.right
        return beside and self.top < other.bottom and other.top < self.bottom


def boxes_of(svg: str) -> list[Box]:
    found = []
    for one in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        size = 12 if one.get("class") == "number" else 10
        text = (one.text or "").strip()
        width = 0.62 * size * len(text)
        left = float(one.get("x", 0)) - (width if one.get("text-anchor") == "end" else 0)
        y = float(one.get("y", 0))
        found.append(Box(text, left, y - 0.75 * size, left + width, y + 0.1 * size))
    return found


@pytest.mark.parametrize("name", [*STORIES, SKEWED, "smoke", "faults/crash"])
def test_no_words_of_a_picture_lie_on_others(name: str) -> None:
    text = page(name)
    [svg] = re.findall(r'<svg[^>]* class="draw" viewBox[^>]*role="img".*?</svg>', text, re.DOTALL)
    boxes = boxes_of(svg)
    on_others = [
        (one.text, other.text)
        for at, one in enumerate(boxes)
        for other in boxes[at + 1 :]
        if one.meets(other)
    ]
    assert on_others == []


def test_what_the_judge_names_is_told_beside_its_step(tmp_path: Path) -> None:
    """A look-up at the arrival of an operation is told where it is what the violation rests on."""
    history = history_of("negative/no_completeness_wait", trace=True)
    wrong = next(one for one in judge(history).violations if one.kind == "wrong-version")
    case = Case(history)
    argued = picture.ArguedViolation(wrong, argue(case, wrong))
    text = picture.html(case, "title", [argued], "command")
    [looked] = [one for one in wrong.witness if isinstance(one, SchemaResolved)]
    steps = re.findall(r'<li id="step-\d+"[^>]*class="offending.*?</li>', text, re.DOTALL)
    assert any(f"({looked.purpose} of {looked.tx})" in step for step in steps)
