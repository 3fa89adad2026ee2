"""PROTOCOL.md, the code, the tests, the scenarios and the mutants name each other truly.

`python tests/house/test_protocol_map.py --write` renews the table in PROTOCOL.md.
"""

import re
import sys
from pathlib import Path

import pytest

if not __package__ and __name__ == "__main__":  # run as a script: the project is its library
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.house import protocol_map
from tests.house.tree import ROOT, plant


def test_the_map_is_whole_and_true() -> None:
    if not (ROOT / "PROTOCOL.md").exists():
        pytest.skip("PROTOCOL.md is absent: there are no clauses to follow yet")
    faults = list(protocol_map.faults(ROOT))
    assert not faults, "\n".join(["", *faults])


PROTOCOL = """# Clauses

- `[98.past.3]` must: wait for Top - DD,
  and then look up at Top.
- `[98.flow.1-2]` two steps in one line.
- `[110.view]` left out: no views here.

<!-- map:begin -->
<!-- map:end -->
The end.
"""
TREE = {
    "PROTOCOL.md": PROTOCOL,
    "sim/protocol/a.py": '"""Waits [98.past.3]."""\n# first [98.flow.1], last [98.flow.2]\n',
    "tests/clauses/test_a.py": '"""[98.past.3, 98.flow.1-2]"""\n',
    "scenarios/iep98/lag.toml": 'clauses = ["98.past.3"]\n',
}
BROKEN = {"no_wait (I1)": ("98.past.3",)}


def faults(root: Path, broken: protocol_map.Broken = BROKEN, **changes: str) -> list[str]:
    """The faults of the small tree above, some files changed, its table renewed beforehand."""
    plant(root, TREE | {name.replace("__", "/"): text for name, text in changes.items()})
    protocol_map.write(root, broken)
    return list(protocol_map.faults(root, broken))


def test_a_small_tree_is_mapped(tmp_path: Path) -> None:
    assert faults(tmp_path) == []
    text = (tmp_path / "PROTOCOL.md").read_text("utf-8")
    assert (
        "| `98.past.3` (must) | protocol/a.py | clauses/test_a.py | iep98/lag | no_wait (I1) |\n"
        "| `98.flow.1` | protocol/a.py | clauses/test_a.py | - | - |\n"
        "| `98.flow.2` | protocol/a.py | clauses/test_a.py | - | - |\n"
        "| `110.view` (left out) | - | - | - | - |\n"
        "<!-- map:end -->\nThe end.\n"
    ) in text
    assert not protocol_map.write(tmp_path, BROKEN)


def test_an_unknown_tag_is_found(tmp_path: Path) -> None:
    scenario = 'clauses = ["98.past.3", "98.past.9"]\n'
    [fault] = faults(tmp_path, **{"scenarios__iep98__lag.toml": scenario})
    assert fault.startswith("[98.past.9] is no clause")
    assert fault.endswith("scenarios name it: iep98/lag")


def test_a_clause_without_code_is_found(tmp_path: Path) -> None:
    code = '"""[98.past.3] [98.flow.1]"""\n'
    assert faults(tmp_path, **{"sim__protocol__a.py": code}) == ["[98.flow.2] has no code"]


def test_a_clause_without_test_is_found(tmp_path: Path) -> None:
    test = '"""[98.flow.1-2]"""\n'
    assert faults(tmp_path, **{"tests__clauses__test_a.py": test}) == ["[98.past.3] has no tests"]


def test_a_must_without_mutant_is_found(tmp_path: Path) -> None:
    [fault] = faults(tmp_path, {"no_step (I1)": ("98.flow.1",)})
    assert fault == "[98.past.3] is a must, but no mutant breaks it"


@pytest.mark.parametrize(
    "words", ["left out: two steps", "two steps; the second is not modelled yet", "not built yet"]
)
def test_what_is_there_may_not_be_said_to_be_missing(tmp_path: Path, words: str) -> None:
    text = PROTOCOL.replace("two steps in one line", words)
    found = faults(tmp_path, **{"PROTOCOL.md": text})
    assert len(found) == 2
    assert found[0].startswith("[98.flow.1] is said not to be there, but has code, tests: ")


def test_what_is_left_out_may_not_be_named(tmp_path: Path) -> None:
    [fault] = faults(tmp_path, **{"sim__strategies__v.py": '"""Views after all [110.view]."""\n'})
    assert fault == "[110.view] is said not to be there, but has code: strategies/v.py"


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ("`98.flow.1-2`", None),
        ("`98.flow.1`", "[98.flow.2] has no mutant, and PROTOCOL.md does not say so"),
        (
            "`98.flow.1-2` and `98.past.3`",
            "[98.past.3] is said to have no mutant, but has no_wait (I1)",
        ),
    ],
)
def test_which_clauses_no_mutant_breaks_is_said(
    tmp_path: Path, told: str, fault: str | None
) -> None:
    text = PROTOCOL.replace("# Clauses", f"# Clauses\n\nNo mutant breaks {told}.")
    assert faults(tmp_path, **{"PROTOCOL.md": text}) == ([] if fault is None else [fault])


def test_a_stale_table_is_found(tmp_path: Path) -> None:
    assert faults(tmp_path) == []
    plant(tmp_path, {"scenarios/iep98/new.toml": 'clauses = ["98.flow.1"]\n'})
    [fault] = protocol_map.faults(tmp_path, BROKEN)
    assert "stale" in fault


def test_missing_markers_are_found(tmp_path: Path) -> None:
    plant(tmp_path, TREE | {"PROTOCOL.md": PROTOCOL.replace("<!-- map:end -->", "")})
    [fault] = protocol_map.faults(tmp_path, BROKEN)
    assert "needs one" in fault


def test_an_empty_list_is_found(tmp_path: Path) -> None:
    plant(tmp_path, {"PROTOCOL.md": "<!-- map:begin --><!-- map:end -->\n"})
    assert "PROTOCOL.md lists no clause" in list(protocol_map.faults(tmp_path, BROKEN))


def test_the_readings_are_numbered_in_order() -> None:
    text = (ROOT / "PROTOCOL.md").read_text("utf-8")
    readings = text[text.index("## Readings of open points") : text.index("## Where text, design")]
    numbers = [int(number) for number in re.findall(r"^(\d+)\. \*\*", readings, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    print("renewed" if protocol_map.write(ROOT) else "nothing to renew")
