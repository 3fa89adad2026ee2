"""Every key of a TOML text is found on its line."""

import tomllib

import pytest

from ddlsim.scenario.positions import Path, Positions, read_path, show_path

TEXT = '''\
title = "a # no comment"   # a comment [not a table]
"quoted key" = 1

[network]                  # [nor this]
latency_ms = { distribution = "lognormal", median = 1, p99 = 8 }
numbers = [
  1,  # one
  2,
]

[[network.links]]
from = "n1"
loss = 0.1

[[network.links]]
from = 'n\\'
loss = 0.2

[protocol.nodes.n3]
delay_duration_ms = 5

[schema]
sql = """
CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR DEFAULT 'a "" b'); \\"""
-- [no.table]
key = not a key
"""
file = """on the same line"""

[[step]]
do = ["put", "t", 1, { v = 5, w = 6 }]
a.b.c = 1
'''

LINES: list[tuple[Path, int]] = [
    (("title",), 1),
    (("quoted key",), 2),
    (("network",), 4),
    (("network", "latency_ms"), 5),
    (("network", "latency_ms", "p99"), 5),
    (("network", "numbers"), 6),
    (("network", "numbers", 0), 7),
    (("network", "numbers", 1), 8),
    (("network", "links", 0), 11),
    (("network", "links", 0, "from"), 12),
    (("network", "links", 1), 15),
    (("network", "links", 1, "loss"), 17),
    (("protocol", "nodes", "n3"), 19),
    (("protocol", "nodes", "n3", "delay_duration_ms"), 20),
    (("schema", "sql"), 23),
    (("schema", "file"), 28),
    (("step", 0, "do"), 31),
    (("step", 0, "do", 3, "w"), 31),
    (("step", 0, "a", "b", "c"), 32),
]


@pytest.mark.parametrize(("path", "line"), LINES, ids=str)
def test_a_key_is_found_on_its_line(path: Path, line: int) -> None:
    assert Positions(TEXT).line(path) == line


def test_every_key_that_tomllib_reads_is_found() -> None:
    found = Positions(TEXT).keys
    missing = [path for path in _paths(tomllib.loads(TEXT)) if path not in found]
    # tables that no header writes down are found at their first key or table
    assert missing == [("protocol",), ("protocol", "nodes")]
    assert Positions(TEXT).line(("protocol", "nodes", "n9")) == 1


def _paths(value: object, path: Path = ()) -> list[Path]:
    found = [path] if path else []
    if isinstance(value, dict):
        found += [p for key, each in value.items() for p in _paths(each, (*path, key))]
    if isinstance(value, list):
        found += [p for index, each in enumerate(value) for p in _paths(each, (*path, index))]
    return found


def test_text_line_is_the_line_after_the_quotes() -> None:
    positions = Positions(TEXT)

    assert positions.text_line(("schema", "sql")) == 24
    assert positions.text_line(("schema", "file")) == 28
    assert positions.text_line(("title",)) == 1


def test_a_missing_key_is_shown_where_its_table_stands() -> None:
    assert Positions(TEXT).line(("network", "links", 1, "to")) == 15


def test_windows_line_ends_count_once() -> None:
    assert Positions("a = 1\r\nb = 2\r\n\r\n[c]\r\nd = 3").line(("c", "d")) == 5


PATHS: list[tuple[str, Path]] = [
    ("network.links[2].loss", ("network", "links", 2, "loss")),
    ("title", ("title",)),
    ("protocol.nodes.n3.delay_duration_ms", ("protocol", "nodes", "n3", "delay_duration_ms")),
]


@pytest.mark.parametrize(("text", "path"), PATHS)
def test_a_path_is_read_as_it_is_shown(text: str, path: Path) -> None:
    assert show_path(path) == text
    assert read_path(text) == path


def test_a_path_may_number_with_dots_and_quote() -> None:
    assert read_path('workload.0."odd.key"') == ("workload", 0, "odd.key")


@pytest.mark.parametrize("text", ["", "[0]", "a..b", "a[b]", ".a"])
def test_read_path_refuses_other_texts(text: str) -> None:
    with pytest.raises(ValueError, match="path"):
        read_path(text)
