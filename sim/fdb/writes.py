"""What a transaction writes before it commits, and what it reads of that itself.

* `_values`: by key, what is known of it: a value (None: cleared), an `Added` to what the store has,
  or `STAMPED`: known only at the commit version.
* `_cleared`: ranges, none of which covers a key of `_values` that was written later: the ranges are
  sent first, so that the order in which the transaction wrote does not matter.
"""

from collections.abc import Callable
from typing import Final

from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import Key, pack
from ddlsim.fdb.messages import ADD, CLEAR, SET, STAMPED_KEY, STAMPED_VALUE, Mutation
from ddlsim.fdb.sizes import size_of
from ddlsim.model.records import Record


class Added(Record, frozen=True):
    """A number that is added to what the store holds."""

    delta: int | float


class Stamped(Record, frozen=True):
    """A value that is made of the commit version."""

    make: Callable[[int], object]


class NotWritten(Record, frozen=True):
    """The type of `NOT_WRITTEN`."""


NOT_WRITTEN: Final = NotWritten()
"""A transaction has written nothing at a key."""


class Writes:
    """The mutations of a transaction."""

    def __init__(self, key_most: int, value_most: int) -> None:
        self._key_most = key_most
        self._value_most = value_most
        self._values: dict[bytes, object] = {}
        self._cleared: list[tuple[bytes, bytes]] = []
        self._stamped_keys: list[tuple[Callable[[int], Key], object]] = []
        self.bytes = 0
        self.has_stamps = False

    def __bool__(self) -> bool:
        return bool(self._values or self._cleared or self._stamped_keys)

    def set(self, key: bytes, value: object) -> None:
        """Set a key; None clears it."""
        self._count(key, value)
        self._values[key] = value

    def _count(self, key: bytes, value: object) -> None:
        """Count a key and a value, each within its limit; of an addition, the addend."""
        size = size_of(value)
        if size > self._value_most:
            raise FdbError(ErrorCode.VALUE_TOO_LARGE)
        if len(key) > self._key_most:
            raise FdbError(ErrorCode.KEY_TOO_LARGE)
        self.bytes += len(key) + size

    def add(self, key: bytes, delta: int | float) -> None:
        """Add to what a key holds by then."""
        before = self.at(key)
        assert not isinstance(before, Stamped), "a versionstamped value cannot be added to"
        self._count(key, delta)
        if isinstance(before, Added):
            self._values[key] = Added(before.delta + delta)
        elif isinstance(before, NotWritten):
            self._values[key] = Added(delta)
        else:
            self._values[key] = added(before, delta)

    def clear_range(self, begin: bytes, end: bytes) -> None:
        """Clear from `begin` to `end`, which is not part of it."""
        if begin >= end:
            return
        for key in [key for key in self._values if begin <= key < end]:
            del self._values[key]
        self._cleared.append((begin, end))
        self.bytes += len(begin) + len(end)

    def set_stamped_value(self, key: bytes, make: Callable[[int], object]) -> None:
        """Set a key to what the commit version makes of it; its size is the same for any."""
        self._count(key, make(0))
        self._values[key] = Stamped(make)
        self.has_stamps = True

    def set_stamped_key(self, make: Callable[[int], Key], value: object) -> None:
        """Set a key that is made of the commit version; it is as long for any."""
        self._count(pack(make(0)), value)
        self._stamped_keys.append((make, value))
        self.has_stamps = True

    # --- read your writes -------------------------------------------------------------------------

    def at(self, key: bytes) -> object:
        """What was written at a key: a value, `Added`, `Stamped` or `NOT_WRITTEN`."""
        found = self._values.get(key, NOT_WRITTEN)
        if found is NOT_WRITTEN and self._cleared:
            for begin, end in self._cleared:
                if begin <= key < end:
                    return None
        return found

    def within(self, begin: bytes, end: bytes) -> dict[bytes, object]:
        """What was written at keys of a range, as `at` gives it; cleared ranges are not listed."""
        return {key: value for key, value in self._values.items() if begin <= key < end}

    # --- commit -----------------------------------------------------------------------------------

    def mutations(self) -> tuple[Mutation, ...]:
        """What is sent."""
        sent: list[Mutation] = [(CLEAR, begin, end) for begin, end in self._cleared]
        for key, value in self._values.items():
            if type(value) is Added:
                sent.append((ADD, key, value.delta))
            elif type(value) is Stamped:
                sent.append((STAMPED_VALUE, key, value.make))
            else:
                sent.append((SET, key, value))
        sent += [(STAMPED_KEY, b"", pair) for pair in self._stamped_keys]
        return tuple(sent)

    def ranges(self) -> list[bytes | tuple[bytes, bytes]]:
        """The write conflict ranges of it, but for versionstamped keys."""
        return [*self._values, *self._cleared]


def added(value: object, delta: object) -> object:
    """What an atomic addition leaves; of what is no number, nothing is left but the addend."""
    assert isinstance(delta, int | float), f"{delta!r} cannot be added"
    return value + delta if isinstance(value, int | float) else delta
