"""The base class of workloads, and their random numbers.

A workload is a frozen dataclass; its fields are the keys of its `[[workload]]` table. It makes the
*programs* of its clients, and *steps* where an operation must come at an instant or right after
another client's. Both are plain data and depend only on the `WorkloadWorld` and the dice: every
client has random streams of its own, so that one client more leaves the others as they were.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, TypeVar

import numpy as np

from ddlsim.fitting import Told, unfit_keys, unfit_method, unfit_texts
from ddlsim.model.ddl import CreateTable, CreateView, Statement
from ddlsim.model.programs import Program, Step
from ddlsim.registry import Registry
from ddlsim.units import FOREVER_MS, Micros, ms

T = TypeVar("T")

Span = float | tuple[float, float]
"""Milliseconds (or a count): a number, or the least and the most of it."""


class Dice(Protocol):
    """Random streams, one per component and purpose."""

    def stream(self, component: str, purpose: str) -> np.random.Generator:
        """The generator of this component and purpose."""


class Die:
    """Random whole numbers from one stream of 64-bit numbers; the same on every machine.

    They are drawn in blocks, each read from its end. Most dice are cast once or twice, so that no
    number of a block is made a Python one before it is asked for.
    """

    __slots__ = ("_block", "_generator", "_left")

    BLOCK: ClassVar[int] = 256
    UNUSED_BITS: ClassVar[int] = 2
    """A number has 62 bits, the upper ones."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator.bit_generator
        self._block = memoryview(b"")
        self._left = 0

    def below(self, bound: int) -> int:
        """A number from 0 to bound - 1."""
        assert bound > 0, bound
        if not self._left:
            self._block = self._generator.random_raw(self.BLOCK).data
            self._left = self.BLOCK
        self._left -= 1
        number: int = self._block[self._left] >> self.UNUSED_BITS
        return number % bound

    def between(self, least: int, most: int) -> int:
        """A number from least to most, both included."""
        return least + self.below(most - least + 1)

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return self.below(1 << 30) < round(share * (1 << 30))

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different items, in a random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]

    def count(self, span: Span) -> int:
        """A whole number of a span."""
        least, most = bounds(span)
        return self.between(round(least), round(most))

    def duration_us(self, span_ms: Span) -> Micros:
        """A duration of a span of milliseconds."""
        least, most = bounds(span_ms)
        return Micros(self.between(ms(least), ms(most)))


def quoted(name: str) -> str:
    """A name as SQL writes it, quoted where it has to be."""
    return name if name.isidentifier() and name == name.lower() else f'"{name}"'


def bounds(span: Span) -> tuple[float, float]:
    """The least and the most of a span."""
    return span if isinstance(span, tuple) else (span, span)


@dataclass(frozen=True, slots=True)
class PlannedDdl:
    """A DDL statement that the scenario's migrations issue at a known instant."""

    at_us: Micros
    statement: Statement
    sql: str


@dataclass(frozen=True, slots=True)
class WorkloadWorld:
    """The inputs of a workload: nodes, tables and views at the start, the DDL that is planned.

    `label` begins the names of the workload's clients and is its own in the scenario.
    `delay_duration_ms` is the largest DD of any node: a statement of instant t activates after it.
    Behind `load_us`, where it is known, no planned statement is begun any more.
    """

    label: str
    nodes: tuple[str, ...]
    tables: tuple[CreateTable, ...]
    planned_ddl: tuple[PlannedDdl, ...]
    delay_duration_ms: int
    views: tuple[CreateView, ...] = ()
    load_us: Micros | None = None

    def clients(self, count: int) -> list[str]:
        """The names of the workload's clients."""
        return [f"{self.label}-{number}" for number in range(1, count + 1)]

    def table(self, name: str) -> CreateTable:
        """The table of this name; `ValueError` where there is none when the run begins."""
        for table in self.tables:
            if table.name == name:
                return table
        known = ", ".join(table.name for table in self.tables) or "none"
        raise ValueError(f"tables: {name!r} does not exist when the run begins; known: {known}")

    def chosen(self, names: Sequence[str]) -> tuple[CreateTable, ...]:
        """The tables of these names; all of them where no name is given."""
        found = tuple(self.table(name) for name in names) or self.tables
        if not found:
            raise ValueError("tables: there is none to work on; add one to [schema]")
        return found


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A generator of client operations; a subclass is one kind, its fields are scenario keys.

    `tables` names those of the schema to work on; without it, all of them. `cannot` names, by data
    plane, the keys that mean nothing there, with the reason; they must be 0.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str] = ""
    cannot: ClassVar[dict[str, dict[str, str]]] = {}

    clients: int = 1
    tables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check(self.clients >= 1, "clients", "must be at least 1")
        self.verify()

    def verify(self) -> None:
        """Raise `ValueError` where fields contradict each other."""

    def fits(self, world: WorkloadWorld) -> None:
        """Raise `ValueError` where the scenario lacks what the workload needs."""
        world.chosen(self.tables)

    def operations_most(self) -> int:
        """An upper bound of the operations that its clients run, from its fields."""
        return self.clients * int(getattr(self, "operations", 1))

    def scans(self) -> float:
        """The share of operations that read a whole table."""
        return 0.0

    def programs(self, world: WorkloadWorld, dice: Dice) -> list[Program]:
        """The programs of its clients: items that run one after the other."""
        del world, dice
        return []

    def steps(self, world: WorkloadWorld, dice: Dice) -> list[Step]:
        """Operations due at an instant, or right after another one."""
        del world, dice
        return []


def check(holds: bool, field: str, what: str) -> None:  # noqa: FBT001 - it reads as a sentence
    """Raise `ValueError` with `field: what` unless the condition holds."""
    if not holds:
        raise ValueError(f"{field}: {what}")


def check_span(span: Span, field: str, least: float = 0) -> None:
    """Raise `ValueError` for a span whose end is below its start, or beyond `least` or for ever."""
    low, high = bounds(span)
    what = f"must be a number, or [least, most], from {least:g} to {FOREVER_MS}"
    check(least <= low <= high <= FOREVER_MS, field, what)


def check_shares(shares: dict[str, float]) -> None:
    """Raise `ValueError` for fields that are no probabilities."""
    for field, share in shares.items():
        check(0 <= share <= 1, field, f"must lie between 0 and 1, not {share:g}")


def unfit_workload(_: str, kind: object) -> Told:
    """What is wrong with a kind of workload that is added."""
    if not inspect.isclass(kind) or not issubclass(kind, Workload):
        return "it is no subclass of Workload; make it one"
    return (
        unfit_texts(kind, "summary", "source")
        or unfit_keys(kind)
        or unfit_method(kind, "programs", "world", "dice")
        or unfit_method(kind, "steps", "world", "dice")
    )


WORKLOADS: Final[Registry[type[Workload]]] = Registry(
    "workload", "ddlsim.workload", unfit=unfit_workload
)
W = TypeVar("W", bound=type[Workload])


def workload(kind: W) -> W:
    """Register a kind of workload."""
    WORKLOADS.add(getattr(kind, "name", ""), kind)
    return kind
