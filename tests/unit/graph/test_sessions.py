"""The order of sessions, with transactions whose end is not known: all small histories."""

from itertools import pairwise, product

import pytest

from ddlsim.graph.history import COMMITTED, READ, UNKNOWN, WRITE, ColumnHistory, HistoryError, make
from ddlsim.graph.judge import judge
from tests.support.columns_reference import has_cycle, read

SESSION = ("strong-session-serializable", "strong-session-snapshot-isolation")
USES = [(WRITE, 1), (WRITE, 2), (READ, 0), (READ, 1), (READ, 2)]


def one_process(status: tuple[int, ...], ends: tuple[int, ...], uses: object) -> ColumnHistory:
    """Transactions of one process that begin at 0, 4, 8 and use one key, each once."""
    kinds, versions = zip(*uses, strict=True)  # type: ignore[call-overload]  # any iterable
    count = range(len(status))
    return make(
        transactions={
            "process": [0] * len(status),
            "begin": [4 * one for one in count],
            "end": [4 * one + end for one, end in zip(count, ends, strict=True)],
            "status": list(status),
        },
        operations={"tx": [*count], "key": [0] * len(status), "kind": kinds, "version": versions},
    )


def legal(status: tuple[int, ...], uses: tuple[tuple[int, int], ...]) -> bool:
    """Whether versions are numbered without gaps, each is written once, and what is read is."""
    written = sorted(version for kind, version in uses if kind == WRITE)
    known = {0, *written}
    return written == [*range(1, len(written) + 1)] and all(one in known for _, one in uses)


@pytest.mark.parametrize("status", [*product((COMMITTED, UNKNOWN), repeat=3)])
def test_a_session_goes_into_what_is_unknown_and_not_out_of_it(status: tuple[int, ...]) -> None:
    seen = dict.fromkeys((True, False), 0)
    for uses, ends in product(product(USES, repeat=3), product((2, 6), (2, 6), (2,))):
        if not legal(status, uses):
            continue
        found = one_process(status, ends, uses)
        reference = read(found)
        for model in SESSION:
            valid = judge(found, model).valid
            assert valid is not (has_cycle(reference, model) or bool(reference.dirty)), (uses, ends)
            seen[bool(valid)] += 1
    assert seen[True]
    ended = [one for one, later in pairwise(status) if one == COMMITTED]
    assert bool(seen[False]) is bool(ended)


def test_a_version_read_before_its_unknown_writer_began_is_seen() -> None:
    with pytest.raises(HistoryError):
        one_process((COMMITTED,), (2,), [(WRITE, 1), (READ, 1)])
    found = one_process((COMMITTED, UNKNOWN), (2, 2), [(READ, 1), (WRITE, 1)])
    assert [judge(found, model).valid for model in SESSION] == [False, False]
    assert judge(found, "serializable").valid
