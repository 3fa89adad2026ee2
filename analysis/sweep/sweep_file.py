"""Reads and checks a sweep file: scenarios x designs x parameters x seeds.

The file is TOML and as strict as a scenario's: an unknown key, an invalid range or a condition on
an unknown name is an error with its line. docs/how-to/sweep.md shows one.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, field

from ddlsim import files
from ddlsim.analysis.stats.axes import Axis, read_axis
from ddlsim.analysis.stats.conditions import Condition, read_condition
from ddlsim.mutants.base import MUTANTS
from ddlsim.scenario.config import Positive, TableRecord, Text
from ddlsim.scenario.files import text_at
from ddlsim.scenario.load import load
from ddlsim.scenario.overrides import paths_of
from ddlsim.scenario.positions import show_path
from ddlsim.scenario.problems import Origin, ScenarioError, convert, near
from ddlsim.scenario.scenario import NO_MUTANT, Scenario, parse_toml
from ddlsim.scenario.shipped import roots
from ddlsim.strategies.base import DESIGNS

HISTORIES: Final = ("none", "failures")
DESIGN: Final = ("scenario", "strategy", "mutant")
"""Names that a condition may use besides the axes."""
SEEDS_MOST: Final = 10_000_000
DIGITS: Final = 18


class Sample(TableRecord, frozen=True):
    """`[sample]`: points spread over the axes, instead of all their combinations."""

    kind: Literal["sobol", "latin_hypercube"]
    cells: Positive
    seed: Annotated[int, Meta(ge=0)] = 0


class Budget(TableRecord, frozen=True):
    """`[budget]`: the limits of one run; a run beyond them becomes a row with that outcome."""

    time_s: Annotated[float, Meta(gt=0)] | None = None
    memory_mib: Positive | None = None


class SweepTable(TableRecord, frozen=True):
    """The whole file, key by key; `set` applies to every cell. `prices`: messages are counted."""

    title: Text
    scenarios: Annotated[list[Text], Meta(min_length=1)]
    seeds: str | Positive
    strategies: Annotated[list[Text], Meta(min_length=1)] | None = None
    mutants: Annotated[list[Text], Meta(min_length=1)] | None = None
    set: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    where: list[Text] = field(default_factory=list)
    pairwise: bool = False
    sample: Sample | None = None
    budget: Budget = Budget()
    histories: str | Annotated[float, Meta(ge=0, le=1)] = "failures"
    strict: bool = False
    all_claims: bool = False
    prices: bool = False


class Sweep(msgspec.Struct, frozen=True):
    """A sweep file with the scenarios and designs that it names."""

    name: str
    text: str
    table: SweepTable
    scenarios: tuple[Scenario, ...]
    strategies: tuple[str | None, ...]
    mutants: tuple[str | None, ...]
    axes: tuple[Axis, ...]
    conditions: tuple[Condition, ...]
    seeds: range


def load_sweep(path: str, *, outside: bool = False) -> Sweep:
    """The sweep in a file; raises `ScenarioError`, whose message is one line."""
    file = Path(path)
    text = text_at(file, path, "; name a sweep file")
    return read_sweep(text, path, directory=file.parent, outside=outside)


def read_sweep(
    text: str,
    name: str,
    *,
    directory: Path = Path(),
    outside: bool = False,
    scenarios: tuple[Scenario, ...] | None = None,
) -> Sweep:
    """A sweep from its text; scenario files that it names are read relative to `directory`.

    With `outside` these may name files outside of their folders. Where `scenarios` are given, they
    are those that the text names, and no file is read.
    """
    data = parse_toml(text, name)
    origin = Origin(name, text)
    table: SweepTable = convert(data, SweepTable, origin)
    axes = tuple(
        read_axis(key, value, origin, sampled=table.sample is not None)
        for key, value in table.parameters.items()
    )
    _check_axes(axes, origin)
    known = (*DESIGN, *(axis.name for axis in axes))
    _check_choices(table, axes, origin)
    return Sweep(
        name=name,
        text=text,
        table=table,
        scenarios=scenarios
        or tuple(
            _scenario(table, index, directory, origin, outside=outside)
            for index in range(len(table.scenarios))
        ),
        strategies=_strategies(table, origin),
        mutants=_mutants(table, origin),
        axes=axes,
        conditions=tuple(
            read_condition(condition, known, origin, ("where", index))
            for index, condition in enumerate(table.where)
        ),
        seeds=_seeds(table.seeds, origin),
    )


def _scenario(
    table: SweepTable, index: int, directory: Path, origin: Origin, *, outside: bool
) -> Scenario:
    """A scenario of the sweep, with `[set]` applied: one in the folder of the sweep file or below,
    a shipped one, or, with `outside`, any other."""
    name = table.scenarios[index]
    places = (place for place in (directory / name, Path(name)) if _is_there(place))
    place = next(places, None)
    if place is not None and not (outside or _is_within(place, [directory, *roots()])):
        what = f"{name} lies outside of the sweep's folder; --allow-outside lets it in"
        raise origin.error(("scenarios", index), what)
    try:
        return load(place or name, table.set, outside=outside)
    except ScenarioError as error:
        raise origin.error(("scenarios", index), str(error)) from None


def _is_there(file: Path) -> bool:
    return file.is_file() or files.is_special(file)


def _is_within(file: Path, folders: Sequence[Path]) -> bool:
    """Whether a file is in one of these folders or below, links resolved."""
    place = file.resolve()
    return any(place.is_relative_to(folder.resolve()) for folder in folders)


def _strategies(table: SweepTable, origin: Origin) -> tuple[str | None, ...]:
    if table.strategies is None:
        return (None,)
    for index, name in enumerate(table.strategies):
        if name not in DESIGNS:
            what = f"no strategy is called {name!r}; {near(name, DESIGNS)}"
            raise origin.error(("strategies", index), what)
    return tuple(dict.fromkeys(table.strategies))


def _mutants(table: SweepTable, origin: Origin) -> tuple[str | None, ...]:
    if table.mutants is None:
        return (None,)
    for index, name in enumerate(table.mutants):
        if name != NO_MUTANT and name not in MUTANTS:
            what = f"no mutant is called {name!r}; {near(name, [NO_MUTANT, *MUTANTS])}"
            raise origin.error(("mutants", index), what)
    return tuple(dict.fromkeys(table.mutants))


def _check_axes(axes: tuple[Axis, ...], origin: Origin) -> None:
    """Check that no two axes share a name or a key."""
    names: dict[str, str] = {}
    paths: dict[str, str] = {}
    for axis in axes:
        where = ("parameters", axis.key)
        if axis.name in (*DESIGN, *names):
            raise origin.error(where, f"{axis.name!r} is taken; give it another name")
        names[axis.name] = axis.key
        for path in axis.paths:
            shown = show_path(next(iter(paths_of({path: None}))))
            if shown in paths:
                raise origin.error(where, f"{shown} is swept by {paths[shown]} already")
            paths[shown] = axis.name


def _check_choices(table: SweepTable, axes: tuple[Axis, ...], origin: Origin) -> None:
    """Check for choices that exclude each other."""
    if table.pairwise and table.sample is not None:
        raise origin.error(("pairwise",), "a sample is not a grid; remove one of the two")
    if table.sample is not None and not axes:
        raise origin.error(("sample",), "there are no [parameters] to sample")
    sobol = table.sample is not None and table.sample.kind == "sobol"
    if sobol and table.sample is not None and table.sample.cells.bit_count() != 1:
        cells = table.sample.cells
        nearest = f"{1 << (cells.bit_length() - 1)} or {1 << cells.bit_length()}"
        raise origin.error(("sample", "cells"), f"sobol wants a power of two; take {nearest}")
    if isinstance(table.histories, str) and table.histories not in HISTORIES:
        what = f'expected "none", "failures" or a share from 0 to 1, not {table.histories!r}'
        raise origin.error(("histories",), what)


def _seeds(given: str | int, origin: Origin) -> range:
    """`"A..B"`, both ends included, or a number of seeds from 0 on."""
    if isinstance(given, int):
        seeds = range(given)
    else:
        first, dots, last = given.partition("..")
        if not (dots and first.strip().isdecimal() and last.strip().isdecimal()):
            what = f'expected "A..B", such as "0..99", or a number of seeds, not {given!r}'
            raise origin.error(("seeds",), what)
        seeds = range(int(first[-DIGITS:]), int(last[-DIGITS:]) + 1)
        if max(len(first.strip()), len(last.strip())) > DIGITS:
            raise origin.error(("seeds",), f"a seed has {DIGITS} digits at most")
    count = max(seeds.stop - seeds.start, 0)  # len() counts no more than an index may be
    if not 0 < count <= SEEDS_MOST:
        raise origin.error(("seeds",), f"{given!r} has {count} seeds; take 1 to {SEEDS_MOST}")
    return seeds
