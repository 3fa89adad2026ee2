"""Times and timestamps: `Micros`, `Timestamp` and the few functions between them.

Simulated time is an `int` of microseconds (`_us`). A `Timestamp` (`_ts`) is a hybrid logical
timestamp packed in one `int`: the physical milliseconds of a node's own clock shifted left by 16,
and a 16-bit logical counter. They are different types on purpose: adding one to the other is a
type error. Packed, two timestamps compare as plain integers.
"""

from typing import Annotated, Final, NewType

from msgspec import Meta

Micros = NewType("Micros", int)
Timestamp = NewType("Timestamp", int)

LOGICAL_BITS: Final = 16
LOGICAL_MASK: Final = (1 << LOGICAL_BITS) - 1
US_PER_MS: Final = 1000
FOREVER_MS: Final = 10**10
"""No run lasts longer: four months."""
Ms = Annotated[float, Meta(ge=0, le=FOREVER_MS)]
"""A duration or an instant of a file, in milliseconds."""
SignedMs = Annotated[float, Meta(ge=-FOREVER_MS, le=FOREVER_MS)]
"""A difference of a file, such as a clock's offset, in milliseconds."""

MIN_TIMESTAMP: Final = Timestamp(-(1 << 62))
"""Smaller than every timestamp that a clock can show."""
MAX_TIMESTAMP: Final = Timestamp(1 << 62)
"""Larger than every timestamp that a clock can show."""


def timestamp(physical_ms: int, logical: int = 0) -> Timestamp:
    """Pack physical milliseconds and a logical counter."""
    assert 0 <= logical <= LOGICAL_MASK, logical
    return Timestamp((physical_ms << LOGICAL_BITS) | logical)


BOOT_TS: Final = timestamp(-86_400_000)
"""When the initial schema is in the log and active: a day before simulated time begins."""
BEGINNING: Final = "the beginning"
"""The same for people."""


def physical_ms(ts: Timestamp) -> int:
    """The whole milliseconds of a timestamp."""
    return ts >> LOGICAL_BITS


def logical(ts: Timestamp) -> int:
    """The logical counter of a timestamp."""
    return ts & LOGICAL_MASK


def plus_ms(ts: Timestamp, duration_ms: int) -> Timestamp:
    """A timestamp moved by whole milliseconds, its logical part kept."""
    return ts + (duration_ms << LOGICAL_BITS)  # type: ignore[return-value]  # saves a call


def round_up(ts: Timestamp) -> Timestamp:
    """The first whole physical tick at or after a timestamp."""
    return ts if not ts & LOGICAL_MASK else timestamp((ts >> LOGICAL_BITS) + 1)


def ms(milliseconds: float) -> Micros:
    """Milliseconds as simulated microseconds, rounded to the nearest."""
    return Micros(round(milliseconds * US_PER_MS))


def show(ts: int) -> str:
    """A timestamp for people: `1250` or `1250+3` (milliseconds, logical); the initial schema's,
    and that of no schema, is `BEGINNING`.
    """
    if ts in {BOOT_TS, MIN_TIMESTAMP}:
        return BEGINNING
    if ts == MAX_TIMESTAMP:
        return "for ever"
    counter = ts & LOGICAL_MASK
    return f"{ts >> LOGICAL_BITS}+{counter}" if counter else str(ts >> LOGICAL_BITS)


def as_ms(us: int) -> str:
    """Microseconds for people: their milliseconds to the last digit, `1250` or `1250.5`."""
    return decimal(us / US_PER_MS)


def decimal(number: float) -> str:
    """A number for people, to the last digit and without an exponent: `1234567.891`."""
    return f"{number:.15g}"
