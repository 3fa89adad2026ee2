"""What is compared beside a run: once in a process for all that it depends on.

It is a function of design, settings and seed, or of some of these, so that another run of them
shows nothing else: a suite runs a design by one seed hundreds of times, and what is beside a small
run takes ten times as long as that.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Final

from ddlsim.cluster.models.divergence import Models
from ddlsim.history.world_events import PartDiverged

AGREED: Final[dict[Hashable, None]] = {}
"""The keys of what agreed; what did not is compared, and recorded, in every run."""
MOST: Final = 10_000

Part = tuple[Callable[..., None], tuple[object, ...]]
"""A comparison, and what it is given besides the models: all that it depends on."""


def once_each(models: Models, parts: Iterable[Part]) -> None:
    """Compare each part, unless that was done for what it is given and nothing was found."""
    for compare, given in parts:
        once(models, (compare, *given), partial(compare, models, *given))


def once(models: Models, given: tuple[object, ...], compare: Callable[[], None]) -> None:
    """Compare, unless that was done for what is given and nothing was found."""
    key = frozen(given)
    if key in AGREED:
        return
    record, count = models.record, 0

    def counted(event: PartDiverged) -> None:
        nonlocal count
        count += 1
        record(event)

    models.record = counted
    try:
        compare()
    finally:
        models.record = record
    if not count and len(AGREED) < MOST:
        AGREED[key] = None


def frozen(value: object) -> Hashable:
    """A value by its parts: records by their fields, functions by themselves."""
    names = [one.name for one in fields(value)] if is_dataclass(value) else ()
    names = getattr(value, "__struct_fields__", names)
    if names and not isinstance(value, type):
        return type(value), tuple(frozen(getattr(value, name)) for name in names)
    if isinstance(value, Mapping):
        return tuple(sorted((str(name), frozen(each)) for name, each in value.items()))
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    if isinstance(value, set | frozenset):
        return frozenset(map(frozen, value))
    assert isinstance(value, Hashable), f"{value!r} has no parts that are known"
    return value
