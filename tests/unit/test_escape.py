"""What is not printable is written out: the same for terminals, error lines, JSON and pages."""

import json
from xml.etree import ElementTree

import pytest
from rich.console import Console
from rich.text import Text

from ddlsim.cli.documents import documents, junit
from ddlsim.cli.views.shown import guarded
from ddlsim.escape import escaped, markup, natural, one_line

EVIL = "a\x1b[31mb\u202ec\rd\x00e\x9bf\u2028g\udcffh\u200bi"
SAFE = r"a\x1b[31mb\u202ec\rd\x00e\x9bf\u2028g\udcffh\u200bi"


def test_what_acts_and_is_not_seen_is_written_out() -> None:
    assert escaped(EVIL) == SAFE
    assert escaped("two\n\tlines, ünïcödé \u00a0…") == "two\n\tlines, ünïcödé \u00a0…"
    assert markup("<\x1b&") == r"&lt;\x1b&amp;"


@pytest.mark.parametrize("size", [10, 299, 300, 301, 5000])
def test_an_error_is_one_line_of_300_characters_at_most(size: int) -> None:
    line = one_line("begin\n" + "x" * size + "\r\nremedy")
    assert len(line) <= 300
    assert line.isprintable()
    assert line.startswith("begin xx")
    assert line.endswith("x remedy")


def test_a_console_shows_nothing_unescaped(capsys: pytest.CaptureFixture[str]) -> None:
    to = guarded(Console(width=200, markup=False))
    to.print(EVIL, soft_wrap=True)
    to.print(Text.assemble(("x\x1b]0;title\x07", "bold")), soft_wrap=True)
    shown = capsys.readouterr().out
    assert all(line.isprintable() for line in shown.split("\n"))
    assert r"\x1b[31m" in shown
    assert r"\u202e" in shown


def test_a_console_keeps_its_own_colours() -> None:
    to = guarded(Console(force_terminal=True, color_system="standard", width=80, markup=False))
    with to.capture() as caught:
        to.print(Text("red \x1b[8m", "red"))
    assert caught.get() == "\x1b[31mred \\x1b[8m\x1b[0m\n"


def test_json_says_the_same_in_its_own_escapes() -> None:
    document = {"a\u202e": [EVIL.replace("\udcff", ""), 1.5, None]}
    text = documents.text(document)
    assert all(line.isprintable() for line in text.split("\n"))
    assert json.loads(text) == document
    assert json.loads(documents.text([EVIL])) == [EVIL]


def test_junit_is_xml_whatever_the_names_are() -> None:
    case = junit.TestCase(EVIL, "failure", "violated", EVIL, EVIL)
    text = junit.text("suite", EVIL, [case])
    assert ElementTree.fromstring(text.split("\n", 1)[1]) is not None
    assert all(line.isprintable() for line in text.split("\n"))


def test_a_long_list_is_cut_between_its_names() -> None:
    names = [f"design_{number}" for number in range(100)]
    line = one_line(f"one of {', '.join(names)}")
    assert len(line) <= 300
    first, last = line.split(" [...] ")
    assert {*first.removeprefix("one of ").strip(",").split(", "), *last.split(", ")} <= {*names}


def test_numbers_in_names_are_ordered_by_their_value() -> None:
    names = ["n10", "n2", "b", "n1", "n02", "10", "9", "n1-b10", "n1-b9", ""]
    assert sorted(names, key=natural) == [
        "", "9", "10", "b", "n1", "n1-b9", "n1-b10", "n02", "n2", "n10"
    ]  # fmt: skip
