"""The known findings about the documents: every shipped scenario that has a `[finding]` table.

A file of `scenarios/findings/` is an ordinary scenario that shows the finding; this table says how
judges recognise it and what closes it.
"""

import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from ddlsim.checkers.findings import Finding
from ddlsim.scenario.problems import Origin, ScenarioError, convert
from ddlsim.scenario.shipped import shipped
from ddlsim.scenario.tables import FindingTable

FOLDER: Final = "findings/"


def known() -> tuple[Finding, ...]:
    """Every known finding, as judges recognise it."""
    return tuple(
        Finding(table.id, *shown, table.hole, table.closing, table.within_skew)
        for table in described()
        for shown in _shown(table)
    )


def _shown(table: FindingTable) -> list[tuple[str, tuple[str, ...]]]:
    """The invariants that a finding breaks, and by which structures."""
    others = [(each.breaks, each.signature) for each in table.also]
    return [(table.breaks, table.signature), *others]


def title(number: str) -> str:
    """The sentence of a finding; empty for an unknown id."""
    return next((table.title for table in described() if table.id == number), "")


@cache
def described() -> tuple[FindingTable, ...]:
    """Every `[finding]` table, in the order of the numbers in their ids."""
    tables = [read(path, name) for name, path in shipped().items() if name.startswith(FOLDER)]
    ordered = sorted(tables, key=lambda table: int(table.id.removeprefix("F-")))
    for before, table in pairwise(ordered):
        if before.id == table.id:
            raise ScenarioError(f"two findings are called {table.id}")
    return tuple(ordered)


def read(path: Path, name: str) -> FindingTable:
    """The `[finding]` table of one file; the rest of it is checked where it is run."""
    text = path.read_text("utf-8")
    try:
        table = tomllib.loads(text).get("finding")
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{name}.toml: not TOML: {error}") from None
    if table is None:
        raise ScenarioError(f"{name}.toml:1: [finding] is missing")
    found: FindingTable = convert(table, FindingTable, Origin(f"{name}.toml", text), ("finding",))
    return found
