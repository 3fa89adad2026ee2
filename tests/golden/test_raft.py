"""Raft told step by step; `python -m tests.golden.raft --write` renews the outputs."""

from pathlib import Path

import pytest

from tests.golden.raft import FOLDER, story

STORIES = sorted(FOLDER.glob("*.txt"))


def test_there_are_stories() -> None:
    """An empty folder would prove nothing."""
    assert len(STORIES) >= 9


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_is_the_one_that_was_reviewed(path: Path) -> None:
    """What the commands lead to today is what stands there."""
    assert story(path) == path.read_text("utf-8")
