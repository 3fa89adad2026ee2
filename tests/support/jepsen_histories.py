"""Histories in Jepsen's form, made up: valid ones, and with an anomaly of each type planted.

A valid one is a serial execution: every transaction takes effect at one instant between its
invocation and its completion, in whatever order the dice put these. Some fail, of some nobody hears
whether they took effect.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, NamedTuple

Operation = tuple[str, int, Any]
"""`append`, `w` or `r`, the key, and what was written or read (None for nothing, or not yet)."""
APPENDS: Final = "list-append"
REGISTERS: Final = "rw-register"


class Entry(NamedTuple):
    """A line of a history."""

    type: str
    process: int
    value: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a made-up history looks like: how many transactions, of how many operations at most."""

    transactions: int = 100
    workload: str = APPENDS
    processes: int = 10
    operations: int = 4
    keys: int = 8
    writes_per_key: int = 32
    failed: float = 0.02
    unknown: float = 0.02


def history(shape: Shape, seed: int = 0) -> list[Entry]:
    """A valid history: strictly serializable, and thus of every weaker model."""
    return _Maker(shape, Random(seed)).made()


class _Maker:
    """Executes random transactions one after another, and tells it as if it were concurrent."""

    def __init__(self, shape: Shape, dice: Random) -> None:
        self._shape = shape
        self._dice = dice
        self._keys = list(range(shape.keys))
        self._written = dict.fromkeys(self._keys, 0)
        self._state: dict[int, Any] = {}
        self._entries: list[Entry] = []

    def made(self) -> list[Entry]:
        shape, dice = self._shape, self._dice
        asked: dict[int, tuple[Operation, ...]] = {}
        done: dict[int, Entry] = {}
        numbers = list(range(shape.processes))
        left = shape.transactions
        while left or asked or done:
            at = dice.randrange(shape.processes)
            process = numbers[at]
            if process in done:
                entry = done.pop(process)
                self._entries.append(entry)
                if entry.type == "info":
                    numbers[at] += shape.processes
            elif process in asked:
                done[process] = self._executed(process, asked.pop(process))
            elif left:
                left -= 1
                asked[process] = self._drawn()
                self._entries.append(Entry("invoke", process, asked[process]))
        return self._entries

    def _drawn(self) -> tuple[Operation, ...]:
        dice, shape = self._dice, self._shape
        name = "append" if shape.workload == APPENDS else "w"
        operations: list[Operation] = []
        for _ in range(dice.randint(1, shape.operations)):
            at = dice.randrange(len(self._keys))
            key = self._keys[at]
            if dice.random() < 0.5:
                operations.append(("r", key, None))
                continue
            self._written[key] += 1
            operations.append((name, key, self._written[key]))
            if self._written[key] >= shape.writes_per_key:
                self._keys[at] = max(self._written) + 1
                self._written[self._keys[at]] = 0
        return tuple(operations)

    def _executed(self, process: int, asked: tuple[Operation, ...]) -> Entry:
        luck = self._dice.random()
        if luck < self._shape.failed:
            return Entry("fail", process, asked)
        unknown = luck < self._shape.failed + self._shape.unknown
        if unknown and self._dice.random() < 0.5:
            return Entry("info", process, asked)
        told = []
        for name, key, value in asked:
            if name == "r":
                told.append((name, key, self._state.get(key)))
                continue
            told.append((name, key, value))
            before = self._state.get(key) or ()
            self._state[key] = (*before, value) if name == "append" else value
        return Entry("info", process, asked) if unknown else Entry("ok", process, tuple(told))


# --- as text --------------------------------------------------------------------------------------


def edn(entries: Sequence[Entry]) -> str:
    """A history as Jepsen writes it: one map a line."""
    return "".join(
        f"{{:type :{type_}, :f :txn, :value {_edn(value)}, :time {1000 * at}, "
        f":process {process}, :index {at}}}\n"
        for at, (type_, process, value) in enumerate(entries)
    )


def _edn(value: Any) -> str:
    operations = (f"[:{name} {key} {_told(told)}]" for name, key, told in value)
    return f"[{' '.join(operations)}]"


def _told(told: Any) -> str:
    if told is None:
        return "nil"
    return f"[{' '.join(map(str, told))}]" if isinstance(told, tuple | list) else str(told)


def objects(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """A history as what JSON holds."""
    return [
        {"type": type_, "f": "txn", "value": value, "process": process, "index": at}
        for at, (type_, process, value) in enumerate(entries)
    ]


def json_lines(entries: Iterable[Entry]) -> str:
    """A history as an object a line."""
    return "".join(f"{json.dumps(one)}\n" for one in objects(entries))
