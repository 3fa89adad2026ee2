"""Random numbers: one stream per component and purpose, delays as tables of quantiles.

There are two sources. `Streams` is used while a run is planned: each component and purpose has a
numpy generator of its own, so that one more node does not shift the numbers of the others. `mix` is
used by the run itself: a draw is a pure function of integers (seed, link, label, ...), looked up in
a table of quantiles in whole microseconds, so that it is the same on every machine and one message
more or less leaves all other draws as they were.

Names become numbers by CRC-32, never by `hash()`, which differs from process to process.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from itertools import pairwise
from math import exp, isfinite, log
from statistics import NormalDist
from typing import Final
from zlib import crc32

import msgspec
import numpy as np

from ddlsim.units import Ms, SignedMs

TABLE_BITS: Final = 12
TABLE_SIZE: Final = 1 << TABLE_BITS
TABLE_SHIFT: Final = 64 - TABLE_BITS
MASK: Final = (1 << 64) - 1
GOLDEN: Final = 0x9E3779B97F4A7C15  # these three are splitmix64's
FIRST: Final = 0xBF58476D1CE4E5B9
SECOND: Final = 0x94D049BB133111EB

Quantiles = tuple[int, ...]
"""The quantile function of a distribution at (i + 1/2) / 4096, in whole microseconds."""

_EXACT: Final = Context(prec=20)  # its ln and exp are the same everywhere; those of libm are not
_NORMAL: Final = NormalDist()


def name_id(name: str) -> int:
    """A number for a name, the same in every process."""
    return crc32(name.encode())


def mix(seed: int, label: int) -> int:
    """A uniform 64-bit number that depends on both arguments and nothing else (splitmix64)."""
    z = (seed + label * GOLDEN) & MASK
    z = ((z ^ (z >> 30)) * FIRST) & MASK
    z = ((z ^ (z >> 27)) * SECOND) & MASK
    return z ^ (z >> 31)


def pick(table: Quantiles, draw: int) -> int:
    """The delay that a number from `mix` stands for."""
    return table[draw >> TABLE_SHIFT]


def threshold(probability: float) -> int:
    """An event of this probability happens when a number from `mix` is smaller than this."""
    if not 0 <= probability <= 1:
        raise ValueError(f"a probability lies between 0 and 1: {probability!r}")
    return int(probability * (1 << 64))


class Streams:
    """The random streams of one seed; asking twice for a stream continues it."""

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise ValueError(f"a seed is a non-negative integer, not {seed}")
        self.seed = seed
        self._streams: dict[tuple[str, str], np.random.Generator] = {}

    def stream(self, component: str, purpose: str) -> np.random.Generator:
        """The generator of, say, (`client 3`, `keys`); it does not depend on any other."""
        found = self._streams.get((component, purpose))
        if found is None:
            spawn_key = (name_id(component), name_id(purpose))
            sequence = np.random.SeedSequence(entropy=self.seed, spawn_key=spawn_key)
            found = self._streams[component, purpose] = np.random.Generator(
                np.random.PCG64(sequence)
            )
        return found


class _Parameters(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="distribution",
    tag=str.lower,
):
    """A distribution by its parameters, in milliseconds; a scenario's table says its name."""

    def _check(self, *ordered: str) -> None:
        """Raise `ValueError` unless the fields are finite numbers, those named in this order."""
        for field in self.__struct_fields__:
            value = getattr(self, field)
            if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
                raise ValueError(f"{field}: must be a finite number, not {value!r}")
        for lower, upper in pairwise(ordered):
            low, high = getattr(self, lower), getattr(self, upper)
            if low > high:
                raise ValueError(f"{lower}: {low:g} must not exceed {upper} ({high:g})")


class Constant(_Parameters, frozen=True):
    """Always `value`."""

    value: SignedMs

    def __post_init__(self) -> None:
        self._check()


class Uniform(_Parameters, frozen=True):
    """Anything from `low` to `high`; may be negative (a clock's offset)."""

    low: SignedMs
    high: SignedMs

    def __post_init__(self) -> None:
        self._check("low", "high")


class Normal(_Parameters, frozen=True):
    """Normal, negative values cut off at zero."""

    mean: SignedMs
    sd: Ms

    def __post_init__(self) -> None:
        self._check()
        if self.sd < 0:
            raise ValueError(f"sd: must not be negative, but is {self.sd:g}")


class Lognormal(_Parameters, frozen=True):
    """Log-normal with this median; one in a hundred is beyond `p99`."""

    median: Ms
    p99: Ms

    def __post_init__(self) -> None:
        self._check("median", "p99")
        if self.median <= 0:
            raise ValueError(f"median: must be positive, but is {self.median:g}")


class Exponential(_Parameters, frozen=True):
    """`min` plus an exponential, `mean` on average."""

    min: Ms
    mean: Ms

    def __post_init__(self) -> None:
        self._check("min", "mean")
        if self.min < 0:
            raise ValueError(f"min: must not be negative, but is {self.min:g}")


@dataclass(frozen=True, slots=True)
class Empirical:
    """Measured values in ascending order; nothing between two of them, nothing beyond them."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("empirical: there is no measurement")
        if not all(map(isfinite, self.values)):
            raise ValueError("empirical: every measurement must be a finite number")
        if any(a > b for a, b in pairwise(self.values)):
            raise ValueError("empirical: the measurements must ascend")


Spread = Constant | Uniform | Normal | Lognormal | Exponential
"""A distribution by its parameters."""
Distribution = Spread | Empirical


Real = Callable[[float], float]


def _exact_ln(x: float) -> float:
    return float(_EXACT.ln(Decimal(x)))


def _exact_exp(x: float) -> float:
    return float(_EXACT.exp(Decimal(x)))


def _inverse(distribution: Distribution, ln: Real = _exact_ln, exp: Real = _exact_exp) -> Real:
    """The quantile function in milliseconds, by these two functions."""
    match distribution:
        case Constant(value):
            return lambda _: value
        case Uniform(low, high):
            return lambda u: low + (high - low) * u
        case Normal(mean, sd):
            return lambda u: max(0.0, mean + sd * _NORMAL.inv_cdf(u))
        case Lognormal(median, p99):
            log_ratio = float(_EXACT.ln(_EXACT.divide(Decimal(p99), Decimal(median))))
            sigma = log_ratio / _NORMAL.inv_cdf(0.99)
            return lambda u: median * exp(sigma * _NORMAL.inv_cdf(u))
        case Exponential(least, mean):
            return lambda u: least - (mean - least) * ln(1 - u)
        case Empirical(values):
            return lambda u: values[int(u * len(values))]


PLACES: Final = tuple((2 * index + 1) / (2 * TABLE_SIZE) for index in range(TABLE_SIZE))
LAST_BITS: Final = 1e-9
"""Relative: far more than by how much two computations of one quantile differ."""


def _near_halves(us: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[int]:
    """The places where an error in the last bits could change how a number is rounded."""
    from_half = np.abs(us - np.floor(us) - 0.5)
    return np.nonzero(from_half <= LAST_BITS * np.maximum(np.abs(us), 1))[0].tolist()


@lru_cache(maxsize=256)
def quantiles(distribution: Distribution) -> Quantiles:
    """The table of a distribution, built once per process.

    The functions of libm differ in their last bits between machines: where these could decide how a
    value is rounded, the exact ones do, which take twenty times as long.
    """
    quick, exact = _inverse(distribution, log, exp), _inverse(distribution)
    us = np.array([quick(place) for place in PLACES]) * 1000
    rounded: list[int] = np.rint(us).astype(np.int64).tolist()
    for index in _near_halves(us):
        rounded[index] = round(exact(PLACES[index]) * 1000)
    table = tuple(rounded)
    assert all(a <= b for a, b in pairwise(table)), distribution
    return table
