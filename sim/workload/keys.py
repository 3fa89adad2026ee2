"""Keys of the rows that a workload uses, for tables of any key type; some may be hot."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import accumulate
from typing import Final

from ddlsim.model.ddl import ColumnSpec, CreateTable
from ddlsim.model.ops import Key
from ddlsim.model.schema import FLOAT_TYPES, INTEGER_TYPES, Value
from ddlsim.workload.base import Die

SCALE: Final = 1 << 32
_FIRST_DAY: Final = date(2000, 1, 1)


def key_of(table: CreateTable, number: int) -> Key:
    """The key with this number: one value, or a tuple where the key has several columns."""
    columns = {column.name: column for column in table.columns}
    values = tuple(value_of(columns[name], number) for name in table.key)
    return values[0] if len(values) == 1 else values


def value_of(column: ColumnSpec, number: int) -> Value:
    """A value of the column's type that stands for a number; decimals and times as text."""
    name = column.type.name
    if name in INTEGER_TYPES:
        return number % 128 if name == "TINYINT" else number
    if name in FLOAT_TYPES:
        return float(number)
    if name == "BOOLEAN":
        return number % 2 == 1
    day = (_FIRST_DAY + timedelta(days=number)).isoformat()
    texts = {
        "VARCHAR": f"k{number}",
        "VARBINARY": f"{number:08x}",
        "UUID": f"00000000-0000-0000-0000-{number:012x}",
        "DECIMAL": str(number),
        "DATE": day,
        "TIME": f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}",
    }
    return texts.get(name, f"{day} 00:00:00")


@lru_cache(maxsize=8)
def _weights(keys: int, zipf: float) -> tuple[int, ...]:
    """The cumulative weights of keys by a power law."""
    return tuple(accumulate(max(1, round(SCALE / (rank + 1) ** zipf)) for rank in range(keys)))


class KeyChooser:
    """Chooses among `keys` keys: uniformly, by a power law, or with a share of a few hot ones."""

    def __init__(self, keys: int, *, zipf: float, hot_keys: int, hot_share: float) -> None:
        self._hot_keys, self._hot_share = hot_keys, hot_share
        self._cumulated = _weights(keys, zipf)

    def choose(self, die: Die) -> int:
        """The number of a key; small numbers are the hot ones."""
        if self._hot_keys and die.chance(self._hot_share):
            return die.below(self._hot_keys)
        return weighted(self._cumulated, die)


def weighted(cumulated: Sequence[int], die: Die) -> int:
    """An index drawn by cumulative weights."""
    return bisect_right(cumulated, die.below(cumulated[-1]))
