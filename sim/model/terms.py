"""The words that screens, pages and figures show, and what each means: `ddlsim list terms`."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Term(NamedTuple):
    """A word, what it means in one sentence, and where it comes from."""

    name: str
    sentence: str
    source: str


@cache
def terms() -> tuple[Term, ...]:
    """All of them, by name: those of `terms.toml`."""
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    found = [
        Term(name, said, source) for source, pairs in tables.items() for name, said in pairs.items()
    ]
    return tuple(sorted(found))
