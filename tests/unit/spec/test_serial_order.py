"""The order of DDLs and transactions, beside a search for one among all permutations."""

from collections.abc import Iterator
from itertools import permutations
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddlsim.spec.serial_order import (
    COMMITTED,
    Change,
    Node,
    State,
    Transaction,
    cycle_of,
    edges,
    has_serial_order,
)

KEYS: Final = 2


def is_order(state: State, order: tuple[Node, ...]) -> bool:
    """Whether DDLs and transactions may have happened one after the other like this.

    Each row is then what the transactions before have left; each transaction has its version from
    the last DDL before it, unless a later one may be passed over.
    """
    rows: list[list[int]] = [[] for _ in range(KEYS)]
    active = 0
    for kind, number in order:
        if kind == "D":
            if number != active:
                return False
            active += 1
            continue
        one = state.transactions[number]
        if one.highest > active or not may_be_behind(state, one, active):
            return False
        if any(len([w for w in rows[key] if w != number]) != seen for key, seen in one.reads):
            return False
        for key in one.wrote:
            rows[key].append(number)
    return rows == [list(row) for row in state.rows]


def may_be_behind(state: State, one: Transaction, active: int) -> bool:
    """Whether a transaction that ran under older versions may come after the DDLs so far."""
    if active <= one.lowest:
        return True
    newer = False
    for key, seen in one.reads:
        if seen:
            newer |= state.transactions[state.rows[key][seen - 1]].highest > one.lowest
    return state.log[one.lowest].compatible and not newer


def orders(state: State) -> Iterator[tuple[Node, ...]]:
    nodes: list[Node] = [("D", i) for i in range(len(state.log))]
    nodes += [("T", t) for t, one in enumerate(state.transactions) if one.phase == COMMITTED]
    return permutations(nodes)


@st.composite
def states(draw: st.DrawFn) -> State:
    """Up to three committed transactions and two DDLs; each reads what is not its own."""
    log = tuple(Change(1 + i, draw(st.booleans())) for i in range(draw(st.integers(0, 2))))
    count = draw(st.integers(1, 3))
    wrote = [draw(st.frozensets(st.integers(0, KEYS - 1))) for _ in range(count)]
    rows = tuple(
        tuple(draw(st.permutations([t for t in range(count) if key in wrote[t]])))
        for key in range(KEYS)
    )
    every = []
    for number in range(count):
        reads = []
        for key in draw(st.frozensets(st.integers(0, KEYS - 1))):
            row = rows[key]
            most = row.index(number) if number in row else len(row)
            reads.append((key, draw(st.integers(0, most))))
        lowest, highest = sorted(draw(st.tuples(*[st.integers(0, len(log))] * 2)))
        every.append(
            Transaction(
                phase=COMMITTED,
                lowest=lowest,
                highest=highest,
                reads=frozenset(reads),
                wrote=wrote[number],
            )
        )
    return State((), log, tuple(every), rows, ())


@given(states())
@settings(max_examples=400, deadline=None)
def test_there_is_an_order_just_where_a_permutation_is_one(state: State) -> None:
    assert has_serial_order(state) == any(is_order(state, order) for order in orders(state))


@given(states())
@settings(max_examples=200, deadline=None)
def test_a_cycle_is_named_just_where_there_is_no_order(state: State) -> None:
    cycle = cycle_of(state)
    assert bool(cycle) != has_serial_order(state)
    assert set(cycle) <= edges(state)
    for (_, to), (after, _) in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        assert to == after


@pytest.mark.parametrize(
    ("reads", "rows", "before"),
    [
        ({(0, 0)}, ((1, 2),), {(0, 1), (0, 2), (1, 2)}),  # before all that overwrite it
        ({(0, 1)}, ((1, 2),), {(1, 0), (0, 2), (1, 2)}),
        ({(0, 2)}, ((1, 2),), {(2, 0), (1, 2)}),
        ({(0, 0)}, ((0, 1),), {(0, 1)}),  # not before itself
    ],
)
def test_what_reads_and_writes_put_in_order(
    reads: set[tuple[int, int]], rows: tuple[tuple[int, ...], ...], before: set[tuple[int, int]]
) -> None:
    done = Transaction(phase=COMMITTED)
    first = done._replace(reads=frozenset(reads), wrote=frozenset({0} if 0 in rows[0] else ()))
    state = State((), (), (first, done, done), rows, ())
    assert edges(state) == {(("T", one), ("T", other)) for one, other in before}


@pytest.mark.parametrize(
    ("compatible", "writers", "seen", "is_before"),
    [
        (True, (), 0, False),
        (False, (), 0, True),
        (True, (0,), 1, False),  # what it read was written under its own version
        (True, (1,), 1, True),
        (True, (1,), 0, False),  # it read before that was written
        (True, (1, 0), 2, False),  # the last writer counts
        (True, (0, 1), 2, True),
    ],
)
def test_a_transaction_precedes_a_change_that_is_incompatible_or_whose_rows_it_read(
    *, compatible: bool, writers: tuple[int, ...], seen: int, is_before: bool
) -> None:
    reader = Transaction(phase=COMMITTED, reads=frozenset({(0, seen)}))
    others = [Transaction(phase=COMMITTED, lowest=one, highest=one) for one in writers]
    rows = (tuple(range(1, 1 + len(writers))),)
    state = State((), (Change(1, compatible),), (reader, *others), rows, ())
    assert ((("T", 0), ("D", 0)) in edges(state)) == is_before
