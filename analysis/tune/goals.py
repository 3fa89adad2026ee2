"""The goals of an operator, such as `dml_wait_p99<=1ms`, and their parser."""

import re
from math import inf, isfinite
from typing import Final

from ddlsim.model.records import Record
from ddlsim.scenario.problems import near

WAITS: Final = {
    "dml_wait": "operation_wait_us",
    "schema_wait": "first_wait_us",
    "dml_latency": "dml_latency_us",
    "ddl_latency": "ddl_latency_us",
}
"""The quantities of metrics, and the columns of their histograms (analysis/sweep/rows.py)."""
SHARES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
RATE: Final = "schema_abort_rate"
METRICS: Final = (*(f"{of}_{how}" for of in WAITS for how in ("mean", *SHARES)), RATE)
UNITS_MS: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0}
DEFAULT: Final = "dml_wait_p99<=1ms"
_GOAL: Final = re.compile(r"\s*([a-z0-9_]+)\s*(<=|<|>=|>|=)?\s*([-+0-9.eE]*)\s*([a-z%]*)\s*")


class TuneError(ValueError):
    """A request that has no answer; the message is one line with a remedy."""


class HopelessError(TuneError):
    """A goal that neither DD nor H can meet."""


class Goal(Record, frozen=True):
    """A metric must not exceed a limit: milliseconds, or a share for the abort rate."""

    metric: str
    limit: float

    @property
    def of(self) -> str:
        """The quantity: `dml_wait`, `ddl_latency` and so on; of the abort rate its name."""
        return self.metric if self.metric == RATE else self.metric.rpartition("_")[0]

    @property
    def share(self) -> float | None:
        """The share of its quantile; None for a mean or a rate."""
        return SHARES.get(self.metric.rpartition("_")[2])

    @property
    def text(self) -> str:
        """The goal as on the command line."""
        unit = "" if self.metric == RATE else "ms"
        return f"{self.metric}<={self.limit:g}{unit}"


def read_goal(text: str) -> Goal:
    """Parse a goal; raises `TuneError`."""
    found = _GOAL.fullmatch(text)
    if found is None or not found.group(2):
        raise TuneError(f"--slo {text!r}: expected METRIC<=LIMIT, such as {DEFAULT}")
    metric, sign, number, unit = found.groups()
    if metric not in METRICS:
        raise TuneError(f"--slo {text!r}: unknown metric {metric!r}; {near(metric, METRICS)}")
    if sign not in ("<=", "<"):
        raise TuneError(f"--slo {text!r}: only upper limits: say {metric}<={number}{unit}")
    try:
        limit = float(number)
    except ValueError:
        limit = inf
    if not isfinite(limit):
        raise TuneError(f"--slo {text!r}: the limit is not a number; use {DEFAULT}")
    return Goal(metric, _scaled(text, metric, limit, unit))


def _scaled(text: str, metric: str, limit: float, unit: str) -> float:
    """The limit in milliseconds, or as a share."""
    if metric == RATE:
        scale = {"": 1.0, "%": 0.01}.get(unit)
        if scale is None or not 0 <= limit * scale <= 1:
            raise TuneError(f"--slo {text!r}: a rate lies between 0 and 1, or 0% and 100%")
        return limit * scale
    if not unit:
        raise TuneError(f"--slo {text!r}: the limit has no unit; say {limit:g}ms, us or s")
    if unit not in UNITS_MS:
        raise TuneError(f"--slo {text!r}: unknown unit {unit!r}; known: us, ms, s")
    if limit < 0:
        raise TuneError(f"--slo {text!r}: a time is not negative")
    return limit * UNITS_MS[unit]


def read_goals(texts: list[str]) -> tuple[Goal, ...]:
    """Parse all goals; each metric may have one."""
    goals = tuple(read_goal(text) for text in texts or [DEFAULT])
    for place, goal in enumerate(goals):
        if any(goal.metric == other.metric for other in goals[:place]):
            raise TuneError(f"--slo {texts[place]!r}: {goal.metric} has a limit already")
    return goals
