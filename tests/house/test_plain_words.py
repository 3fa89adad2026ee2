"""Source and documents say what nodes, processes and transactions do in the field's words.

Words for people (`who`, `nobody`, `is told`) stand for people alone: users, authors, readers.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, committed, plant

FOLDERS = ("sim", "analysis", "scenarios", "docs")
PAGES = ("README.md", "ARCHITECTURE.md", "PROTOCOL.md", "CONTRIBUTING.md")
SUFFIXES = (".py", ".md", ".toml", ".html")
PERSONIFIED = re.compile(
    r"\b(who|whom|whoever|nobody|anybody|somebody|everybody|(?:is|are|was|were) told)\b",
    re.IGNORECASE,
)
ALLOWED = (
    "fault-on-nobody",  # a probe: part of the interface
    'UNPRIVILEGED: Final = "nobody"',  # an account of every Unix
    "DEFAULT 'nobody'",  # a value of a customer's name
)
LEFT = {
    "sim/cli": 6,
}
"""Lines of rooms that are not rewritten yet; each number may only fall."""


def personified(root: Path) -> Iterator[str]:
    """Lines with a word for people."""
    for path in committed(root):
        name = path.relative_to(root).as_posix()
        if name not in PAGES and not (
            name.startswith(tuple(f"{folder}/" for folder in FOLDERS)) and path.suffix in SUFFIXES
        ):
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            found = PERSONIFIED.search(line)
            if found and not any(allowed in line for allowed in ALLOWED):
                yield f"{name}:{number}: {found[1]!r}: {line.strip()}"


def above(found: list[str], left: dict[str, int]) -> list[str]:
    """The lines of rooms that have more of them than are left."""
    rooms = ["/".join(line.partition(":")[0].split("/")[:2]) for line in found]
    counts = Counter(rooms)
    return [
        line for room, line in zip(rooms, found, strict=True) if counts[room] > left.get(room, 0)
    ]


def test_source_and_documents_have_no_words_for_people() -> None:
    found = above(list(personified(ROOT)), LEFT)
    assert not found, "\n".join(["", *found])


def test_a_room_may_have_as_many_lines_as_are_left_and_no_more() -> None:
    found = ["sim/cli/a.py:1: 'who': x", "sim/cli/b.py:2: 'who': y", "README.md:3: 'who': z"]
    assert above(found, {"sim/cli": 2}) == found[2:]
    assert above(found, {"sim/cli": 1, "README.md": 1}) == found[:2]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sim/a.py", '"""Whoever comes first has the lock."""\n'),
        ("analysis/b/c.py", "# nobody waits\n"),
        ("docs/d.md", "The node is told of it.\n"),
        ("scenarios/e.toml", "# Who reads later\n"),
        ("README.md", "a client who asks\n"),
    ],
)
def test_a_planted_word_is_found(name: str, text: str, tmp_path: Path) -> None:
    [breach] = personified(plant(tmp_path, {name: text}))
    assert breach.startswith(f"{name}:1: ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sim/a.py", 'probe("fault-on-nobody")  # the whole list, whose end is known\n'),
        ("tests/b.py", "# nobody\n"),
        ("scenarios/c.csv", "who\n"),
    ],
)
def test_other_words_and_places_pass(name: str, text: str, tmp_path: Path) -> None:
    assert list(personified(plant(tmp_path, {name: text}))) == []
