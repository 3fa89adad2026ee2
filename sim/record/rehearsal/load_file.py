"""The file of a load: clients, and transactions of statements with values that are drawn."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Annotated, Any, Final

from msgspec import Meta, field

from ddlsim.scenario.config import Positive, TableRecord, Text
from ddlsim.scenario.files import text_at
from ddlsim.scenario.problems import Origin, ScenarioError, convert, near
from ddlsim.scenario.scenario import parse_toml

MOST_VALUES: Final = 1_000_000
"""From so many whole numbers a skewed draw takes one."""
Time = Annotated[float, Meta(ge=0, le=60_000)]
Whole = Annotated[int, Meta(ge=-(2**62), le=2**62)]


class Uniform(TableRecord, frozen=True, tag_field="draw", tag="uniform"):
    """A whole number from `low` to `high`, each as often."""

    low: Whole
    high: Whole


class Zipf(TableRecord, frozen=True, tag_field="draw", tag="zipf"):
    """A whole number from `low` to `high`; the first is drawn most, by Zipf's law."""

    low: Whole
    high: Whole
    exponent: Annotated[float, Meta(ge=0, le=5)] = 1.0


class Unique(TableRecord, frozen=True, tag_field="draw", tag="unique"):
    """A whole number from 1,000,000 up that is drawn once."""


class Key(TableRecord, frozen=True, tag_field="draw", tag="key"):
    """The primary key of a row that `table` had in the beginning; of one column."""

    table: Text
    exponent: Annotated[float, Meta(ge=0, le=5)] = 0.0


class Choice(TableRecord, frozen=True, tag_field="draw", tag="choice"):
    """One of some values, each as often."""

    of: Annotated[tuple[bool | int | float | str, ...], Meta(min_length=1)]


Draw = Uniform | Zipf | Unique | Key | Choice


class TransactionTable(TableRecord, frozen=True):
    """`[[transaction]]`: statements in which `:name` stands for a value.

    A value is drawn once for a transaction. One statement is sent alone, several between BEGIN and
    COMMIT, with `pause_ms` between two.
    """

    statements: Annotated[tuple[Text, ...], Meta(min_length=1)]
    name: str = ""
    weight: Annotated[float, Meta(gt=0)] = 1.0
    pause_ms: Time = 0.0
    values: dict[str, Draw] = field(default_factory=dict)


class LoadTable(TableRecord, frozen=True):
    """The whole file; without transactions, each table is read and updated by its primary key.

    `think_ms` is the mean time between two transactions of a client, unless `rate_per_s` says how
    many all of them begin.
    """

    clients: Positive = 4
    think_ms: Time = 4.0
    rate_per_s: Annotated[float, Meta(gt=0)] | None = None
    isolation: Text | None = None
    lock_timeout_ms: Annotated[int, Meta(ge=1, le=600_000)] = 10_000
    transaction: tuple[TransactionTable, ...] = ()


_PART: Final = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|::|:([A-Za-z_]\w*)|%")
"""What is skipped in a statement, the name of a value, and what a driver may take for a mark."""


@dataclass(frozen=True, slots=True)
class Form:
    """A statement with its marks, and the names of its values in their order."""

    sql: str
    names: tuple[str, ...]


def form_of(sql: str, mark: str) -> Form:
    """A statement in which a driver's own mark stands for each value."""
    names: list[str] = []
    doubled = mark == "%s" and any(found[1] for found in _PART.finditer(sql))

    def shown(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0].replace("%", "%%") if doubled else found[0]
        names.append(found[1])
        return mark

    return Form(_PART.sub(shown, sql), tuple(names))


class Load:
    """A load as its file has it; `at` finds the place of a key of the file."""

    def __init__(self, table: LoadTable, origin: Origin) -> None:
        self.table = table
        self.origin = origin
        for at, one in enumerate(table.transaction):
            self._check(("transaction", at), one)

    def _check(self, path: tuple[str | int, ...], one: TransactionTable) -> None:
        used: set[str] = set()
        for at, sql in enumerate(one.statements):
            names = form_of(sql, "?").names
            used.update(names)
            for name in names:
                if name not in one.values:
                    what = f"no value is called :{name}; {near(name, one.values)}"
                    raise self.origin.error((*path, "statements", at), what)
        for name, draw in one.values.items():
            if name not in used:
                raise self.origin.error((*path, "values", name), "no statement uses it")
            if isinstance(draw, Uniform | Zipf) and draw.low > draw.high:
                raise self.origin.error((*path, "values", name), "low must not exceed high")
            if isinstance(draw, Zipf) and draw.high - draw.low >= MOST_VALUES:
                what = f"from low to high are more than {MOST_VALUES:,} numbers"
                raise self.origin.error((*path, "values", name), what)

    def check_tables(self, known: Sequence[str]) -> None:
        """Raise `ScenarioError` for a key of a table that has none of one column."""
        for at, one in enumerate(self.table.transaction):
            for name, draw in one.values.items():
                if isinstance(draw, Key) and draw.table not in known:
                    what = f"no table with rows and a key of one column is called {draw.table!r}"
                    path = ("transaction", at, "values", name, "table")
                    raise self.origin.error(path, f"{what}; {near(draw.table, known)}")


def read(path: str) -> Load:
    """The load of a file; raises `ScenarioError`, whose message is one line."""
    text = text_at(path, path, "; name a file of a load")
    if not parse_toml(text, path):
        known = ", ".join(LoadTable.__struct_fields__)
        raise ScenarioError(f"{path}: nothing of a load stands in it; known: {known}")
    return parsed(text, path)


def parsed(text: str, name: str) -> Load:
    """The load in a text."""
    data = parse_toml(text, name)
    origin = Origin(name, text)
    return Load(convert(data, LoadTable, origin), origin)


class Drawn:
    """Draws the values of transactions; keys of tables are those that they had in the beginning."""

    def __init__(self, dice: Random, keys: Mapping[str, Sequence[Any]], unique: Any) -> None:
        self._dice, self._keys, self._unique = dice, keys, unique
        self._weights: dict[tuple[int, float], list[float]] = {}

    def draw(self, how: Draw) -> Any:
        """One value."""
        if isinstance(how, Unique):
            return next(self._unique)
        if isinstance(how, Choice):
            return self._dice.choice(how.of)
        if isinstance(how, Key):
            keys = self._keys[how.table]
            return keys[self._skewed(len(keys), how.exponent)]
        if isinstance(how, Zipf):
            return how.low + self._skewed(how.high - how.low + 1, how.exponent)
        return self._dice.randint(how.low, how.high)

    def _skewed(self, count: int, exponent: float) -> int:
        """A number from 0 up to below `count`."""
        if not exponent:
            return self._dice.randrange(count)
        found = self._weights.get((count, exponent))
        if found is None:
            found = [*accumulate((rank + 1) ** -exponent for rank in range(count))]
            self._weights[count, exponent] = found
        return self._dice.choices(range(count), cum_weights=found)[0]
