"""The axes of a sweep: the keys that they set, and their values or interval.

`[0, 25, 50]` is a list; `"0..500 step 50"` goes up to its end; `"1..1000 log 7"` has seven values
of equal ratio; with `[sample]`, `"0..500"` and `"1..1000 log"` are whole intervals. Ends that are
both whole make whole values.
"""

import re
from math import floor
from typing import Any, Final

from ddlsim.model.records import Record
from ddlsim.scenario.overrides import paths_of
from ddlsim.scenario.positions import Path, show_path
from ddlsim.scenario.problems import Origin, ScenarioError, unknown_key

VALUES_MOST: Final = 100_000
FORMS: Final = '[1, 2, 3], "0..500 step 50" or "1..1000 log 7"'
SAMPLED_FORMS: Final = '"0..500", "1..1000 log" or a list'
_NUMBER: Final = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE: Final = re.compile(
    rf"({_NUMBER})\s*\.\.\s*({_NUMBER})(?:\s+(step|log)(?:\s+({_NUMBER}))?)?"
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Value = Any
"""Any value of TOML."""


class Interval(Record, frozen=True):
    """All values between two ends, for samples; `logarithmic` is even in ratios."""

    low: float
    high: float
    logarithmic: bool
    whole: bool

    def at(self, share: float) -> float:
        """The value at a share from 0 to 1 of the interval."""
        low, high = self.low, self.high
        if self.whole and not self.logarithmic:
            return min(floor(low + share * (high - low + 1)), int(high))
        if not self.logarithmic:
            return low + share * (high - low)
        value = min(max(low * float((high / low) ** share), low), high)
        return round(value) if self.whole else value


class Axis(Record, frozen=True):
    """One swept parameter: all its `paths` take the same of its `values`.

    `key` is its key in the file, for errors.
    """

    name: str
    key: str
    paths: tuple[str, ...]
    values: tuple[Value, ...] = ()
    interval: Interval | None = None

    def at(self, share: float) -> Value:
        """The value at a share from 0 to 1."""
        if self.interval is not None:
            return self.interval.at(share)
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]


def read_axis(key: str, given: Any, origin: Origin, *, sampled: bool) -> Axis:
    """`name = { path = …, values = … }`, or `"path.of.key" = values`."""
    where: Path = ("parameters", key)
    if isinstance(given, dict):
        return _named(key, given, origin, where, sampled=sampled)
    last = re.split(r"[.\[\]]+", key.rstrip("]"))[-1]
    paths = _paths([key], origin, where)
    return _axis(last, key, paths, given, origin, where, sampled=sampled)


def _named(key: str, table: dict[str, Any], origin: Origin, where: Path, *, sampled: bool) -> Axis:
    for name in table:
        if name not in ("path", "values"):
            raise origin.error((*where, name), unknown_key(name, ("path", "values")))
    for name in ("path", "values"):
        if name not in table:
            raise origin.error(where, f"{name} is missing")
    given = table["path"]
    paths = _paths(given if isinstance(given, list) else [given], origin, (*where, "path"))
    return _axis(key, key, paths, table["values"], origin, (*where, "values"), sampled=sampled)


def _paths(given: list[Any], origin: Origin, where: Path) -> tuple[str, ...]:
    if not given or not all(isinstance(path, str) for path in given):
        raise origin.error(where, "expected a path of keys, or a list of them")
    try:
        return tuple(show_path(path) for path in paths_of(dict.fromkeys(given)))
    except ScenarioError as error:
        raise origin.error(where, str(error).partition(": ")[2]) from None


def _axis(
    name: str,
    key: str,
    paths: tuple[str, ...],
    given: Any,
    origin: Origin,
    where: Path,
    *,
    sampled: bool,
) -> Axis:
    if not _NAME.fullmatch(name):
        what = f"{name!r} is not a valid name; use NAME = {{ path = …, values = … }}"
        raise origin.error(("parameters", key), what)
    if isinstance(given, str):
        try:
            found = read_range(given, sampled=sampled)
        except ValueError as error:
            raise origin.error(where, str(error)) from None
        if isinstance(found, Interval):
            return Axis(name, key, paths, interval=found)
        return Axis(name, key, paths, found)
    if not isinstance(given, list) or not given:
        raise origin.error(where, f"expected {SAMPLED_FORMS if sampled else FORMS}")
    unique = [value for at, value in enumerate(given) if value not in given[:at]]
    return Axis(name, key, paths, tuple(unique))


def read_range(text: str, *, sampled: bool = False) -> tuple[Value, ...] | Interval:
    """The values of a range, or the interval of one without step; `ValueError` explains why not."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected {SAMPLED_FORMS if sampled else FORMS}, not {text!r}")
    first, last, how, by = match.groups()
    whole = all(re.fullmatch(r"[+-]?\d+", end) for end in (first, last))
    low, high = float(first), float(last)
    if low > high:
        raise ValueError(f"{text!r} is empty; say {last}..{first}")
    if how == "log" and low <= 0:
        raise ValueError(f"{text!r}: a log range begins above 0, not at {first}")
    if sampled:
        if by is not None or how == "step":
            raise ValueError(f"{text!r}: a sample takes intervals; say {SAMPLED_FORMS}")
        return Interval(low, high, how == "log", whole)
    if by is None:
        raise ValueError(f"{text!r}: how many values? say {FORMS}")
    if how == "log":
        return _log_values(low, high, by, whole=whole)
    return _steps(low, high, by, whole=whole and bool(re.fullmatch(r"\+?\d+", by)))


def _steps(low: float, high: float, by: str, *, whole: bool) -> tuple[Value, ...]:
    step = float(by)
    if step <= 0:
        raise ValueError(f"a step is above 0, not {by}")
    count = int((high - low) / step + 1e-9) + 1
    if count > VALUES_MOST:
        raise ValueError(f"{count} values are more than {VALUES_MOST}; take a larger step")
    if whole:
        return tuple(int(low) + place * int(step) for place in range(count))
    return tuple(round(low + place * step, 12) for place in range(count))


def _log_values(low: float, high: float, by: str, *, whole: bool) -> tuple[Value, ...]:
    if not by.isdecimal() or not 2 <= int(by) <= VALUES_MOST:
        raise ValueError(f"a log range has a whole number of values from 2 up, not {by}")
    interval = Interval(low, high, logarithmic=True, whole=whole)
    values = [interval.at(place / (int(by) - 1)) for place in range(int(by))]
    tidy = [value if whole else float(f"{value:.12g}") for value in values]
    return tuple(dict.fromkeys(tidy))
