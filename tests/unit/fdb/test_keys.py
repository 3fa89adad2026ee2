"""Keys are packed to bytes that have their order, and back."""

from itertools import pairwise

import pytest

from ddlsim.fdb.config import Parts
from ddlsim.fdb.keys import (
    END,
    LAST,
    LOCAL,
    Key,
    is_local,
    pack,
    prefix_range,
    reaches_local,
    unpack,
)
from ddlsim.fdb.sizes import size_of
from ddlsim.fdb.versions import stamp, versions_in
from ddlsim.units import timestamp

ORDERED: list[Key] = [
    (),
    (None,),
    (None, None),
    (b"",),
    (b"\x00",),
    (b"\x00\x00",),
    (b"\x00\xff",),
    (b"a",),
    (b"\xff",),
    ("",),
    ("\x00",),
    ("\x00a",),
    ("a",),
    ("a", None),
    ("a", 1),
    ("a\x00",),
    ("b",),
    ("é",),
    (-(1 << 80),),
    (-(1 << 64),),
    (-(1 << 63),),
    (-65537,),
    (-256,),
    (-255,),
    (-1,),
    (0,),
    (1,),
    (255,),
    (256,),
    (1 << 63,),
    (1 << 64,),
    (1 << 80,),
    (float("-inf"),),
    (-1.5,),
    (0.0,),
    (1e-9,),
    (2.5,),
    (float("inf"),),
    (False,),
    (True,),
    (LAST,),
]
"""Keys in their order, each pair of neighbours a rule."""


@pytest.mark.parametrize(("smaller", "larger"), list(pairwise(ORDERED)))
def test_packed_keys_have_the_order_of_keys(smaller: Key, larger: Key) -> None:
    assert pack(smaller) < pack(larger) < END


@pytest.mark.parametrize("key", [key for key in ORDERED if LAST not in key])
def test_a_key_comes_back_as_it_was(key: Key) -> None:
    again = unpack(pack((*key, "end", 7)))
    assert again == (*key, "end", 7)
    assert [type(atom) for atom in again[:-2]] == [type(atom) for atom in key]


def test_a_range_of_a_prefix_has_what_begins_with_it_and_nothing_else() -> None:
    begin, end = map(pack, prefix_range(("t", 1)))
    inside: list[Key] = [("t", 1, None), ("t", 1, "x"), ("t", 1, True), ("t", 1, 2, 3)]
    outside: list[Key] = [("t", 1), ("t", 0, "x"), ("t", 2), ("t", "1"), ("tt", 1, 1)]
    assert all(begin <= pack(key) < end for key in inside)
    assert not any(begin <= pack(key) < end for key in outside)


def test_the_local_space_is_what_begins_with_its_name() -> None:
    assert is_local(pack((LOCAL, "x")))
    assert not is_local(pack(("local", "x")))
    assert reaches_local(pack(()), pack(("a",)))
    assert not reaches_local(pack(("a",)), pack(("b",)))


def test_parts_of_the_key_space() -> None:
    parts = Parts(((), ("b",), ("d",)))
    assert [parts.of(pack((name,))) for name in "abcde"] == [0, 1, 1, 2, 2]
    b, c, d, e = (pack((name,)) for name in "bcde")
    assert list(parts.over(b, d)) == [1]
    assert list(parts.over(c, e)) == [1, 2]
    assert parts.clip(1, c, e) == (c, d)
    assert parts.clip(2, c, e) == (d, e)


def test_parts_that_do_not_begin_at_the_beginning_are_refused() -> None:
    with pytest.raises(AssertionError, match="the first part"):
        Parts((("a",),))


def test_a_version_is_a_timestamp_with_all_its_digits() -> None:
    assert stamp(1_234, 1000) == timestamp(1_234)
    assert stamp(1_234_567, 1_000_000) == timestamp(1_234, 567)
    assert versions_in(50, 1000) == 50


def test_sizes_grow_with_what_is_held() -> None:
    assert size_of("ab") == 2
    assert size_of("é") == 2
    assert size_of(("ab", 1)) == 8 + 2 + 8
    assert size_of({"a": b"xyz"}) == 8 + 1 + 3
