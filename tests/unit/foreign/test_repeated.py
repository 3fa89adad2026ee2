"""Keys that stand twice in JSON are looked for where they may be, and nowhere else."""

import pytest

from ddlsim.foreign.readers import json_lines
from ddlsim.foreign.repeated import may_repeat, repeated

DEPTH = 1018
"""Deeper than json reads, and less deep than orjson does."""
DEEP = f'{{"type": "ok", "process": 0, "x:": 1, "value": {"[" * DEPTH}{"]" * DEPTH}}}'


def test_a_colon_in_a_text_is_no_reason_to_look() -> None:
    """A time in each line made reading twice as slow."""
    assert not may_repeat(b'{"at": "12:30:00", "a" : 1}', 2)
    assert may_repeat(b'{"at": 1, "at" : 2}', 1)
    assert may_repeat(b'{"a": {"b": 1}}', 1)


def test_a_key_is_found_at_any_depth() -> None:
    assert repeated(b'{"a": [{"b": 1, "c": "x:y", "b" : 2}]}') == "b"
    assert repeated(b'{"a\\u0062": "\\": ", "ab": 2}') == "ab"


@pytest.mark.parametrize("text", [DEEP, f"[{DEEP}]"], ids=["lines", "list"])
def test_an_entry_that_is_too_deep_for_json_is_a_trouble(text: str) -> None:
    found = json_lines.read(text.encode())
    assert (len(found), "too deeply" in found.troubles[-1].what) == (0, True)
