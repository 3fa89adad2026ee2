"""The linter's reports as people read them; `python -m tests.golden.compat --write` renews them."""

from pathlib import Path

import pytest

from tests.golden.compat import stories, told


@pytest.mark.parametrize("path", stories(), ids=lambda path: path.stem)
def test_the_report_is_the_one_that_was_reviewed(path: Path) -> None:
    story = path.read_text("utf-8")
    assert told(story) == story


def test_there_are_stories() -> None:
    assert len(stories()) >= 5
