"""Files of measurements: propagation delays and clock offsets, as CSV or Parquet.

One file holds one quantity, in the column that is named after it and its unit: `delay_ms`,
`delay_us` or `delay_s`; `offset_ms` and so on. Columns `from` and `to` say on which link a delay
was seen, `node` whose clock an offset is of; without them every row counts for all of them. One
time column, with a unit and from any origin (`time_s`, `at_us`), must ascend within its link or
node. Other columns are refused, since one may be misspelt. Lines that begin with `#` are comments.

A Parquet file is turned into the text of the same CSV when it is read, so that it can travel with a
plan like any file that a scenario names.
"""

import csv
import io
from collections.abc import Iterator
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any, Final

from ddlsim import files, sealed
from ddlsim.model.records import Record
from ddlsim.scenario.problems import ScenarioError, near

UNITS: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0}
GROUPS: Final = {"delay": ("from", "to"), "offset": ("node",)}
"""The columns that say where a quantity was measured."""
TIMES: Final = tuple(f"{stem}_{unit}" for stem in ("time", "at") for unit in UNITS)
LARGEST_MS: Final = 10**7
"""Delays and offsets that are larger, in either direction, are refused: almost three hours."""
LISTED: Final = 6
"""So many columns of a header are named in an error, each by so many characters at most."""
LISTED_LENGTH: Final = 30
SEPARATORS: Final = (";", "\t", "|")
"""What other programs put between columns; no name of a column has one of them."""
Group = tuple[str, ...]


class Measured(Record, frozen=True):
    """The values of a file in milliseconds: of each link or node, in the order of the file.

    Without such columns there is one group, named `()`. `name` is the file, for messages; `lines`
    are where each group stands first; `times`, in milliseconds, are when each value was taken,
    empty where the file does not say.
    """

    name: str
    quantity: str
    groups: dict[Group, tuple[float, ...]]
    lines: dict[Group, int]
    times: dict[Group, tuple[float, ...]]

    @property
    def pooled(self) -> tuple[float, ...]:
        """All values."""
        return tuple(value for values in self.groups.values() for value in values)

    @property
    def named(self) -> tuple[str, ...]:
        """The nodes that the file names, in the order of the file."""
        return tuple(dict.fromkeys(name for group in self.groups for name in group))


def text_of(file: Path) -> str:
    """The content of a measurement file as CSV; `OSError` where it cannot be read."""
    if (why := files.unfit(file, files.MEASURED_MOST)) is not None:
        raise ScenarioError(f"{file.name}: {why}")
    if file.suffix.lower() in {".parquet", ".pq"}:
        return _as_csv(file)
    return file.read_text(files.TEXT)


def _as_csv(file: Path) -> str:
    import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

    content = pa.BufferReader(file.read_bytes())
    try:
        table = sealed.read_plain(content, files.MEASURED_MOST)
    except sealed.TooLargeError as error:
        raise ScenarioError(f"{file.name}: {error}") from None
    except (pa.ArrowException, OSError) as error:
        what = str(error).partition("\n")[0]
        raise ScenarioError(f"{file.name}: not a Parquet file: {what}") from None
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return out.getvalue()


@lru_cache(maxsize=8)
def parse(text: str, name: str, quantity: str) -> Measured:
    """The measurements of a file's text; raises `ScenarioError` with the line."""
    lines = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    rows = _rows(lines, name)
    first, header = next(rows, (1, []))
    columns = _columns(header, quantity, f"{name}:{first}")
    groups: dict[Group, list[float]] = {}
    starts: dict[Group, int] = {}
    times: dict[Group, list[float]] = {}
    for line, row in rows:
        where = f"{name}:{line}"
        if len(row) != len(header):
            raise ScenarioError(f"{where}: {len(row)} fields, but the header has {len(header)}")
        group = _group(row, columns, where)
        value = _value(row[columns.value].strip(), columns, quantity, where)
        if columns.time is not None:
            at = _number(row[columns.time], header[columns.time], where, columns.time_scale)
            before = times.setdefault(group, [])
            if before and at < before[-1]:
                last, now = (round(each / columns.time_scale, 6) for each in (before[-1], at))
                what = f"{header[columns.time]} goes back from {last:.16g} to {now:.16g}"
                raise ScenarioError(f"{where}: {what}; sort the file by time")
            before.append(at)
        groups.setdefault(group, []).append(value)
        starts.setdefault(group, line)
    if not groups:
        raise ScenarioError(f"{name}: no measurements in it, only a header or nothing")
    return Measured(
        name,
        quantity,
        groups={key: tuple(own) for key, own in groups.items()},
        lines=starts,
        times={key: tuple(own) for key, own in times.items()},
    )


def _rows(lines: Any, name: str) -> Iterator[tuple[int, list[str]]]:
    """Every row with its line, without comments and empty lines."""
    try:
        for row in lines:
            if row and not row[0].startswith("#") and any(field.strip() for field in row):
                yield lines.line_num, row
    except csv.Error as error:
        raise ScenarioError(f"{name}:{lines.line_num}: not CSV: {error}") from None


class _Columns(Record, frozen=True):
    """The index of each column in a row."""

    value: int
    value_name: str
    scale: float
    group: tuple[int, ...]
    time: int | None
    time_scale: float


def _columns(header: list[str], quantity: str, where: str) -> _Columns:
    """The columns of a header; raises for one without a meaning."""
    names = [field.strip() for field in header]
    values = {f"{quantity}_{unit}": scale for unit, scale in UNITS.items()}
    found = [name for name in names if name in values]
    if len(found) != 1:
        choices = ", ".join(values)
        if quantity in names:
            raise ScenarioError(f"{where}: {quantity} has no unit; call the column {choices}")
        if not names or _is_number(names[0]):
            raise ScenarioError(f"{where}: there is no header; begin with one of {choices}")
        if not found and any(mark in name for name in names for mark in SEPARATORS):
            raise ScenarioError(f"{where}: separate the columns by commas, not {names[0]!r}")
        what = "more than one column" if found else "no column"
        what = f"{what} of {quantity}s; expected one of {choices}"
        raise ScenarioError(f"{where}: {what}; the header has {_listed(names)}")
    wanted = GROUPS[quantity]
    times = [place for place, name in enumerate(names) if name in TIMES]
    known = (*found, *wanted, *TIMES)
    for place, name in enumerate(names):
        if name not in known:
            what = "has no unit; say time_ms" if name == "time" else f"unknown; {near(name, known)}"
            raise ScenarioError(f"{where}: column {name!r} {what}")
        if name in names[:place]:
            raise ScenarioError(f"{where}: two columns {name!r}")
    if len(times) > 1:
        both = " and ".join(repr(names[place]) for place in times)
        raise ScenarioError(f"{where}: more than one column of times, {both}; keep one")
    present = [name for name in wanted if name in names]
    if present and len(present) < len(wanted):
        missing = next(name for name in wanted if name not in present)
        raise ScenarioError(f"{where}: column {present[0]!r} without {missing!r}; a link has both")
    return _Columns(
        value=names.index(found[0]),
        value_name=found[0],
        scale=values[found[0]],
        group=tuple(names.index(name) for name in present),
        time=times[0] if times else None,
        time_scale=UNITS[names[times[0]].rpartition("_")[2]] if times else 1.0,
    )


def _listed(names: list[str]) -> str:
    """The columns that a header has, the first of them where they are many."""
    more = len(names) - LISTED
    first = ", ".join(repr(name[:LISTED_LENGTH]) for name in names[:LISTED])
    return f"{first} and {more} more" if more > 0 else first


def _group(row: list[str], columns: _Columns, where: str) -> Group:
    group = tuple(row[place].strip() for place in columns.group)
    if "" in group:
        raise ScenarioError(f"{where}: the name of a node is missing")
    if len(group) == 2 and group[0] == group[1]:
        raise ScenarioError(f"{where}: from {group[0]} to itself; a link has two ends")
    return group


def _value(field: str, columns: _Columns, quantity: str, where: str) -> float:
    """A delay or an offset in milliseconds."""
    value = _number(field, columns.value_name, where, columns.scale)
    where = f"{where}: {columns.value_name}"
    if abs(value) > LARGEST_MS:
        most = f"{LARGEST_MS:,} ms, almost three hours"
        raise ScenarioError(f"{where}: {field} is more than {most}; is the unit right?")
    if quantity == "delay" and value < 0:
        raise ScenarioError(f"{where}: a negative delay, {field}; are the two clocks in step?")
    return value


def _number(field: str, column: str, where: str, scale: float) -> float:
    """A field in milliseconds."""
    if not field.strip():
        raise ScenarioError(f"{where}: {column}: empty; drop the row, or measure again")
    if not _is_number(field):
        raise ScenarioError(f"{where}: {column}: expected a number, not {field.strip()!r}")
    value = float(field) * scale
    if not isfinite(value):
        raise ScenarioError(f"{where}: {column}: {field.strip()} cannot be; is the unit right?")
    return value


def _is_number(field: str) -> bool:
    """Whether it is one without separators: Python alone takes 1_000 for a number."""
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field
