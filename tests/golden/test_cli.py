"""What the command line prints; `python -m tests.golden.cli --write` renews the texts."""

import pytest

from tests.golden.cli import FOLDER, STORIES


@pytest.mark.parametrize("name", STORIES)
def test_the_text_is_the_one_that_was_reviewed(name: str) -> None:
    assert STORIES[name]() == (FOLDER / name).read_text("utf-8")


@pytest.mark.parametrize("name", [name for name in STORIES if name.endswith(".txt")])
def test_a_text_fits_into_80_columns_and_has_no_colour(name: str) -> None:
    lines = STORIES[name]().splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line.endswith(" ") or "\x1b" in line for line in lines)


def test_no_text_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(STORIES)
