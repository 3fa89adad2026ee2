"""Keys: tuples of values, and the bytes that have their order.

Keys are ordered element by element, first by type (None, bytes, str, int, float, bool), then by
value; a key that is the beginning of another one comes first. `pack` gives bytes that compare in
this order, which is all that the processes compare. Every integer is allowed; NaN is not.
"""

import struct
from functools import lru_cache
from math import isnan
from typing import Final

from ddlsim.model.records import Record


class Last(Record, frozen=True):
    """An element after every other one, for the ends of ranges; no stored key has it."""


LAST: Final = Last()
Atom = str | int | float | bytes | None | Last
Key = tuple[Atom, ...]
"""A key, as clients see it."""

EMPTY: Final = b""
END: Final = b"\xff\xff"
"""After every key, system keys included."""
SYSTEM: Final = b"\xff"
"""Where the keys of the system begin, which no client reads by itself."""
METADATA_VERSION: Final = b"\xff/metadataVersion"
"""The system key of the metadata version; no tuple is packed to it."""
LOCAL: Final = "\x00local"
"""The first element of keys that, with the switch `local_keys`, all storage servers hold."""
SELF_CONFLICT: Final = b"\xff/SC/"
"""What the keys begin with that make a transaction conflict with its own second attempt."""

_NONE, _BYTES, _STR, _INT, _FLOAT, _FALSE, _TRUE = 0x00, 0x01, 0x02, 0x14, 0x21, 0x26, 0x27
_LONG: Final = 8  # bytes of an integer that has its length in its first byte
_BELOW, _ABOVE = 0x0B, 0x1D  # integers longer than that, by their sign
_ZERO: Final = bytes((_INT,))
_SIGN: Final = 1 << 63
_ALL: Final = (1 << 64) - 1
KEPT: Final = 10_000
"""So many strings and so many integers are packed once."""


def pack(key: Key) -> bytes:
    """Bytes that compare as keys do."""
    return b"".join(
        [
            _packed_str(atom)
            if type(atom) is str
            else _packed_int(atom)
            if type(atom) is int
            else _packed(atom)
            for atom in key
        ]
    )


def _packed(atom: Atom) -> bytes:
    if atom is None:
        return b"\x00"
    if isinstance(atom, bool):
        return b"\x27" if atom else b"\x26"
    if isinstance(atom, bytes):
        return b"\x01" + atom.replace(b"\x00", b"\x00\xff") + b"\x00"
    if isinstance(atom, float):
        return _packed_float(atom)
    assert isinstance(atom, Last), f"{atom!r} cannot be part of a key"
    return b"\xff"


@lru_cache(maxsize=KEPT)
def _packed_str(text: str) -> bytes:
    return b"\x02" + text.encode("utf-8").replace(b"\x00", b"\x00\xff") + b"\x00"


@lru_cache(maxsize=KEPT)
def _packed_int(number: int) -> bytes:
    if number == 0:
        return _ZERO
    if number > 0:
        length = (number.bit_length() + 7) // 8
        body = number.to_bytes(length)
        return bytes((_INT + length,)) + body if length <= _LONG else _long(_ABOVE, length, body)
    length = (number.bit_length() + 7) // 8
    body = (number + (1 << 8 * length) - 1).to_bytes(length)
    return bytes((_INT - length,)) + body if length <= _LONG else _long(_BELOW, length, body)


def _long(code: int, length: int, body: bytes) -> bytes:
    """An integer of more than eight bytes: its length follows the code, inverted below zero."""
    written = length if code == _ABOVE else 0xFFFFFFFF - length
    return bytes((code,)) + written.to_bytes(4) + body


def _packed_float(number: float) -> bytes:
    assert not isnan(number), "NaN has no place in an order"
    bits = int.from_bytes(struct.pack(">d", number))
    ordered = bits ^ (_ALL if bits & _SIGN else _SIGN)
    return bytes((_FLOAT,)) + ordered.to_bytes(8)


def unpack(packed: bytes) -> Key:
    """The key that `pack` turned into these bytes."""
    atoms: list[Atom] = []
    at = 0
    while at < len(packed):
        atom, at = _unpacked(packed, at)
        atoms.append(atom)
    return tuple(atoms)


def _unpacked(packed: bytes, at: int) -> tuple[Atom, int]:
    """The element that begins at a place, and where the next one begins."""
    code = packed[at]
    at += 1
    if code in (_STR, _BYTES):
        end = packed.index(b"\x00", at)
        while packed[end + 1 : end + 2] == b"\xff":
            end = packed.index(b"\x00", end + 2)
        body = packed[at:end].replace(b"\x00\xff", b"\x00")
        return (body.decode("utf-8") if code == _STR else body), end + 1
    if code in (_BELOW, _ABOVE):
        length = int.from_bytes(packed[at : at + 4])
        length = length if code == _ABOVE else 0xFFFFFFFF - length
        at += 4
        return _int_of(packed[at : at + length], below=code == _BELOW), at + length
    if abs(code - _INT) <= _LONG:
        length = abs(code - _INT)
        return _int_of(packed[at : at + length], below=code < _INT), at + length
    if code == _FLOAT:
        bits = int.from_bytes(packed[at : at + 8])
        bits ^= _SIGN if bits & _SIGN else _ALL
        number: float = struct.unpack(">d", bits.to_bytes(8))[0]
        return number, at + 8
    assert code in (_NONE, _FALSE, _TRUE), f"no key: {packed!r}, at {at - 1}"
    return (None if code == _NONE else code == _TRUE), at


def _int_of(body: bytes, *, below: bool) -> int:
    number = int.from_bytes(body)
    return number - (1 << 8 * len(body)) + 1 if below else number


def after(packed: bytes) -> bytes:
    """The smallest bytes after these: the end of a range of one key."""
    return packed + b"\x00"


def prefix_range(prefix: Key) -> tuple[Key, Key]:
    """The range of all keys that begin with a tuple and have more elements."""
    return (*prefix, None), (*prefix, LAST)


def is_local(packed: bytes) -> bool:
    """Whether a key lies in the space that all storage servers may hold."""
    return packed.startswith(_LOCAL_PREFIX)


def reaches_local(begin: bytes, end: bytes) -> bool:
    """Whether a range has a part in that space."""
    return begin < _LOCAL_PREFIX + b"\xff" and end > _LOCAL_PREFIX


_LOCAL_PREFIX: Final = pack((LOCAL,))
