"""Small external histories are judged as reviewed; `python -m tests.golden.foreign --write`."""

import json

import pytest

from tests.golden.foreign import FOLDER, STORIES, TEXTS, told


@pytest.mark.parametrize("name", STORIES)
def test_the_verdict_is_the_one_that_was_reviewed(name: str) -> None:
    text = told(name, "json")
    assert text == (FOLDER / f"{name}.json").read_text("utf-8")
    [judged] = json.loads(text)["files"]
    type_ = name.partition("/")[2]
    if type_.startswith("valid"):
        assert judged["valid"] is True
    elif type_.startswith("unknown"):
        assert judged["valid"] == "unknown"
    else:
        assert type_ in judged["counts"]


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_the_one_that_was_reviewed(name: str) -> None:
    text = told(name, "text")
    assert text == (FOLDER / f"{name}.txt").read_text("utf-8")
    assert max(map(len, text.splitlines())) <= 80
