"""The table of designs as records: a line for each design, its breaches and its numbers."""

import math
from collections.abc import Iterable
from typing import Final, Literal

from msgspec import field

from ddlsim.model.records import Record

SAFETY: Final = ("I1", "I2", "I3", "I7", "I8")
"""The invariants of which a breach tells against a design that does not claim them, too."""
Word = Literal[
    "safe", "holes", "weaker", "untested", "conditional", "unclaimed", "unsafe", "not judged"
]
WORDS: Final[dict[Word, str]] = {
    "safe": "every claim kept, no safety property broken",
    "holes": "the same in these runs, but it has holes that are recorded: findings about the "
    "documents, or breaches that the regression suite knows",
    "weaker": "safety kept; a claim about sessions, liveness or quality broken",
    "untested": "no safety property broken, but in no run did a change come into force while "
    "clients worked",
    "conditional": "safety broken, but only where what the design assumes did not hold",
    "unclaimed": "safety broken, which the design does not claim",
    "unsafe": "a claim of safety broken under its assumptions",
    "not judged": "no run finished",
}
"""The verdicts, the best first, and what each means."""


UNTESTED: Final = "untested"
"""The verdict on a design whose runs cannot prove that it is safe: none met a change."""
UNMET: Final = "no change came into force under load"
"""Why a number is empty that is of changes."""


class Value(Record, frozen=True):
    """A number with the ends of its 95 % interval over seeds; or `why` there is none. `high` is
    missing where nothing bounds it."""

    value: float | None
    low: float | None = None
    high: float | None = None
    why: str = ""


class Formula(Record, frozen=True):
    """What a closed form of a section of the catalogue gives for a number, by the rates and lengths
    that were measured: `low` and `high`. `agrees`: whether the number's interval meets them (None:
    it has none, or lacks the end that would tell)."""

    section: str
    low: float
    high: float
    agrees: bool | None


class Anomalies(Record, frozen=True):
    """What judges found of one invariant, claimed or not: in how many runs, and as what.

    `strict_only`: in so many of the runs only the strict graph shows it.
    """

    invariant: str
    severity: str
    runs: int
    strict_only: int
    statuses: dict[str, int]
    kinds: dict[str, int]


class Breach(Record, frozen=True):
    """A broken claim, or broken safety that is not claimed: in how many runs, and in which first.

    `status` is that of its violation. `source` is `runs`, or `shipped` for a shipped scenario that
    shows it where the runs did not; `steps` counts what the shortest scenario known has, `command`
    repeats it, `text` is its TOML where it was shrunk here.
    """

    invariant: str
    severity: str
    status: str
    runs: int
    of: int
    seed: int
    summary: str
    source: Literal["runs", "shipped"]
    command: str
    shortest: str = ""
    steps: int | None = None
    text: str = ""


class Line(Record, frozen=True):
    """One design; times are in simulated milliseconds, shares between 0 and 1.

    `ddl_per_s` are statements per second whose change came into force under load: the rate at which
    `schema_aborts` was measured (null where none did). `lost` are runs that did not finish, `crash`
    why the first of them did not. `findings` tells in
    how many runs a recorded finding was seen, `holes` which findings concern the design, `known`
    why the regression suite expects it to break a claim. `formulas` has the closed forms of the
    numbers for which the design has one, by their keys.
    """

    design: str
    summary: str
    source: str
    plane: str
    scenario: str
    runs: int
    lost: int
    crash: str
    verdict: Word
    changes_met: Value
    kept: tuple[str, ...]
    breaches: tuple[Breach, ...]
    findings: dict[str, int]
    holes: tuple[str, ...]
    known: str
    strict: tuple[Anomalies, ...]
    dml_added_p50: Value
    dml_added_p99: Value
    dml_added_mean: Value
    dml_p50: Value
    dml_p99: Value
    ddl_p50: Value
    ddl_p99: Value
    schema_aborts: Value
    refused: Value
    frozen: Value
    reads_per_transaction: Value
    reads_per_ddl: Value
    messages_per_transaction: Value
    hottest_per_s: Value
    hottest_share: Value
    schema_hottest_per_s: Value
    strict_share: Value
    committed: int
    statements: int
    ddl_per_s: float | None = None
    formulas: dict[str, Formula] = field(default_factory=dict)


RANKS: Final = {word: rank for rank, word in enumerate(WORDS)}


def ordered(lines: Iterable[Line]) -> list[Line]:
    """Safe designs first; then by DML latency (p99), then by DDL latency (p99).

    DML latency is what each design adds where all of them have that number, else the whole one.
    """
    every = list(lines)
    by_added = all(line.dml_added_p99.value is not None for line in every)
    return sorted(
        every,
        key=lambda line: (
            RANKS[line.verdict],
            _last(line.dml_added_p99 if by_added else line.dml_p99),
            _last(line.ddl_p99),
            line.design,
        ),
    )


def _last(value: Value) -> float:
    """What has no number comes behind what has one."""
    return math.inf if value.value is None else value.value
