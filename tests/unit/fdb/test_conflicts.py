"""A resolver's memory: what conflicts, what is too old, what it forgets; compared with a list."""

from random import Random

import pytest

from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.messages import Range, ToResolve

A, B, C, D = b"a", b"b", b"c", b"d"
CONFLICT, OLD = ErrorCode.NOT_COMMITTED, ErrorCode.TRANSACTION_TOO_OLD


def window(began: int = 0, futures: tuple[tuple[bytes, int], ...] = ()) -> ConflictWindow:
    return ConflictWindow(100, began, futures)


def tx(
    version: int,
    read_version: int = 0,
    reads: tuple[Range, ...] = (),
    writes: tuple[Range, ...] = (),
    pasts: tuple[tuple[bytes, int], ...] = (),
    futures: tuple[tuple[bytes, int], ...] = (),
) -> ToResolve:
    return ToResolve(version, read_version, reads, writes, pasts, futures)


@pytest.mark.parametrize("written", [A, (A, B)])
@pytest.mark.parametrize("read", [A, (A, B), (b"A", A + b"\0")])
def test_a_write_above_the_read_version_conflicts_and_one_at_it_does_not(
    written: Range, read: Range
) -> None:
    memory = window()
    assert memory.decide(tx(10, writes=(written,))) is None
    assert memory.decide(tx(20, 9, (read,))) is CONFLICT
    assert memory.decide(tx(21, 10, (read,))) is None


@pytest.mark.parametrize("read", [B, (B, C), (b"A", A)])
def test_other_keys_do_not_conflict(read: Range) -> None:
    memory = window()
    memory.decide(tx(10, writes=((A, B),)))
    assert memory.decide(tx(20, 9, (read,))) is None


def test_writes_of_a_refused_transaction_do_not_count() -> None:
    memory = window()
    memory.decide(tx(10, writes=(A,)))
    assert memory.decide(tx(20, 9, (A,), (B,))) is CONFLICT
    assert memory.decide(tx(21, 9, (B,))) is None


def test_a_refused_transaction_is_told_all_that_it_read_and_that_was_written_since() -> None:
    memory = window()
    memory.decide(tx(10, writes=(A, C)))
    refused = tx(20, 5, (A, B, (b"bb", D)), pasts=((C, 9), (A, 10)))
    assert memory.decide(refused) is CONFLICT
    assert memory.conflicting(refused) == (A, (b"bb", D), C)
    assert memory.conflicting(tx(21, 10, (A, B))) == ()


def test_what_a_new_memory_refuses_unseen_conflicts_with_nothing_that_is_known() -> None:
    memory = window(began=50)
    refused = tx(60, 40, (A,))
    assert memory.decide(refused) is CONFLICT
    assert memory.conflicting(refused) == ()


def test_a_read_before_the_window_is_too_old_unless_nothing_was_read() -> None:
    memory = window()
    assert memory.decide(tx(200, 99, (A,))) is OLD
    assert memory.decide(tx(201, 101, (A,))) is None
    assert memory.decide(tx(202, 0, (), (A,))) is None


def test_what_leaves_the_window_is_forgotten_and_no_later() -> None:
    memory = window()
    memory.decide(tx(10, writes=(A, (C, D))))
    memory.decide(tx(109, writes=(B,)))
    assert memory._points.keys() == {A, B}
    memory.decide(tx(110, writes=(B,)))
    assert memory._points.keys() == {B}
    assert not memory._spans


def test_a_new_memory_refuses_what_was_read_before_it() -> None:
    memory = window(began=50)
    assert memory.decide(tx(60, 49, (A,))) is CONFLICT
    assert memory.decide(tx(61, 50, (A,))) is None
    assert memory.decide(tx(62, 10, (), (A,))) is None


def test_a_past_read_conflict_looks_below_the_read_version() -> None:
    memory = window()
    memory.decide(tx(10, writes=(A,)))
    assert memory.decide(tx(30, 20, pasts=((A, 9),))) is CONFLICT
    assert memory.decide(tx(31, 20, pasts=((A, 10),))) is None
    assert memory.decide(tx(120, 115, pasts=((B, 19),))) is OLD
    assert memory.decide(tx(121, 115, pasts=((B, 21),))) is None


def test_a_future_write_conflict_counts_from_its_version_on() -> None:
    memory = window()
    memory.decide(tx(10, futures=((A, 50),)))
    assert memory.decide(tx(49, 48, (A,))) is None
    assert memory.decide(tx(60, 49, (A,))) is CONFLICT
    assert memory.decide(tx(61, 50, (A,))) is None


def test_a_future_write_conflict_does_not_hide_a_later_write() -> None:
    memory = window()
    memory.decide(tx(10, futures=((A, 50),)))
    memory.decide(tx(55, writes=(A,)))
    assert memory.decide(tx(60, 52, (A,))) is CONFLICT


def test_a_version_that_is_past_already_does_not_hide_a_later_write() -> None:
    memory = window()
    memory.decide(tx(55, writes=(A,)))
    memory.decide(tx(56, futures=((A, 50),)))
    assert memory.decide(tx(60, 52, (A,))) is CONFLICT


def test_future_write_conflicts_that_a_recovery_kept() -> None:
    assert window(20, ((A, 50),)).decide(tx(60, 40, (A,))) is CONFLICT
    assert window(20).decide(tx(60, 40, (A,))) is None


def drawn(random: Random) -> Range:
    first = random.randrange(20)
    begin = bytes([first])
    return begin if random.random() < 0.6 else (begin, bytes([first + random.randrange(1, 5)]))


def overlap(one: Range, other: Range) -> bool:
    (begin, end), (other_begin, other_end) = (
        (r, r + b"\0") if isinstance(r, bytes) else r for r in (one, other)
    )
    return begin < other_end and other_begin < end


@pytest.mark.parametrize("seed", range(20))
def test_decisions_are_those_of_a_list_of_all_writes(seed: int) -> None:
    random = Random(seed)
    memory = window()
    written: list[tuple[int, Range]] = []
    version = 130
    for _ in range(150):
        version += random.randrange(1, 10)
        read_version = version - random.randrange(1, 130)
        reads = tuple(drawn(random) for _ in range(random.randrange(3)))
        writes = tuple(drawn(random) for _ in range(random.randrange(3)))
        expected = None
        if reads and read_version < version - 100:
            expected = OLD
        elif any(at > read_version and overlap(r, w) for r in reads for at, w in written):
            expected = CONFLICT
        assert memory.decide(tx(version, read_version, reads, writes)) is expected
        if expected is None:
            written += [(version, w) for w in writes]
