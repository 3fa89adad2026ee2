"""The documents of `compare` and `advise --output json`, key by key."""

from typing import TypedDict

from ddlsim.analysis.compare.advise import AdviceTable
from ddlsim.analysis.compare.records import Line


class LeftOut(TypedDict):
    """A design that was not run, and why."""

    design: str
    why: str


class Compare(TypedDict):
    """Designs side by side, the best first. `seeds` are the first and the last, `verdicts` tells
    what each word means, `columns` what each number is measured on; `failed` are runs that did not
    end, of all designs together."""

    format: int
    command: str
    seeds: list[int]
    runs: int
    failed: int
    scenarios: dict[str, str]
    verdicts: dict[str, str]
    columns: dict[str, str]
    designs: list[Line]
    left_out: list[LeftOut]


class Advise(TypedDict):
    """The designs that fit a system, the best first, the others with why they do not, and the table
    of those that were run (null: by their headers none fits)."""

    format: int
    command: str
    facts: AdviceTable
    fits: list[str]
    others: dict[str, list[str]]
    table: Compare | None
