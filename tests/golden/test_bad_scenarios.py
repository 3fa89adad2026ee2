"""Whoever writes a scenario wrongly is told in one line: file, line, key and remedy."""

from pathlib import Path

import pytest

from tests.golden.bad_scenarios import FOLDER, cases, expected, told


@pytest.mark.parametrize("path", cases(), ids=lambda path: path.stem)
def test_a_bad_scenario_is_answered_with_the_reviewed_line(path: Path) -> None:
    assert told(path) == expected()[path.name]


def test_every_line_is_about_a_file_and_is_one_line() -> None:
    assert list(expected()) == [path.name for path in cases()]
    assert len(expected()) == len(list(FOLDER.glob("*.toml"))) > 120
    assert not [line for line in expected().values() if line.endswith(": accepted")]
