"""A scenario's data as text reads back as the same data."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.scenario.shipped import shipped
from ddlsim.scenario.tomltext import toml_text

SHIPPED = shipped()
KEYS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=8)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=12)
SINGLE = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
    TEXTS.map(lambda text: f"{text}\n{text};\n"),
)
VALUES = st.recursive(
    SINGLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_text_of_can_be_read_back(data: dict[str, Any]) -> None:
    text = toml_text(data)
    assert tomllib.loads(text) == data
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("name", SHIPPED)
def test_text_of_keeps_every_shipped_scenario(name: str) -> None:
    data = tomllib.loads(SHIPPED[name].read_text("utf-8"))
    assert tomllib.loads(toml_text(data)) == data


def test_long_texts_have_lines_of_their_own() -> None:
    sql = "CREATE TABLE t (id INT PRIMARY KEY);\nDROP TABLE t;\n"
    assert toml_text({"schema": {"sql": sql}}) == f'[schema]\nsql = """\n{sql}"""\n'
