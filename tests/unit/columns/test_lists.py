"""The order that lists show, and the lists that contradict each other."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.columns.lists import (
    Appends,
    Lists,
    Recovered,
    recover,
)


def recovered(
    reads: list[tuple[int, list[int]]], appends: list[tuple[int, int]], *lost: int
) -> Recovered:
    return recover(
        Lists(
            np.asarray([key for key, _ in reads], np.int64),
            np.cumsum([0, *(len(values) for _, values in reads)]),
            np.asarray([value for _, values in reads for value in values], np.int64),
        ),
        Appends(
            np.asarray([key for key, _ in appends], np.int64),
            np.asarray([value for _, value in appends], np.int64),
            np.asarray([at not in lost for at in range(len(appends))], np.bool_),
        ),
    )


def test_the_longest_list_of_a_key_is_its_order() -> None:
    found = recovered(
        [(0, [5]), (0, [5, 6]), (1, []), (0, [5, 6, 7])], [(0, 7), (0, 5), (1, 5), (0, 6)]
    )
    assert found.read_version.tolist() == [1, 2, 0, 3]
    assert found.append_version.tolist() == [3, 1, 1, 2]
    assert not any(map(len, (found.duplicates, found.incompatible, found.garbage, found.again)))


def test_an_append_that_nobody_saw_is_last_if_it_is_alone_and_committed() -> None:
    assert recovered([(0, [5])], [(0, 5), (0, 6)]).append_version.tolist() == [1, 2]
    assert recovered([(0, [5])], [(0, 5), (0, 6), (0, 7)]).append_version.tolist() == [1, -1, -1]
    assert recovered([(0, [5])], [(0, 5), (0, 6), (0, 7)], 2).append_version.tolist() == [1, 2, -1]
    assert recovered([], [(0, 5)]).append_version.tolist() == [1]


def test_lists_that_contradict_each_other_are_told() -> None:
    found = recovered([(0, [1, 2, 3]), (0, [1, 3]), (0, [2])], [(0, 1), (0, 2), (0, 3)])
    assert found.incompatible.tolist() == [[1, 0], [2, 0]]


def test_values_twice_and_values_of_nobody_are_told() -> None:
    found = recovered([(0, [1, 1]), (1, [1]), (0, [1])], [(0, 1), (0, 1), (1, 2)])
    assert found.duplicates.tolist() == [0]
    assert found.garbage.tolist() == [1]
    assert found.again.tolist() == [1]
    assert found.append_version.tolist() == [1, -1, 2]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30))
def test_a_serial_run_is_recovered(steps: list[tuple[int, bool]]) -> None:
    lists: dict[int, list[int]] = {}
    reads: list[tuple[int, list[int]]] = []
    appends: list[tuple[int, int]] = []
    for value, (key, is_read) in enumerate(steps):
        if is_read:
            reads.append((key, list(lists.get(key, []))))
        else:
            appends.append((key, value))
            lists.setdefault(key, []).append(value)
    reads += [(key, list(values)) for key, values in lists.items()]
    found = recovered(reads, appends)
    assert found.read_version.tolist() == [len(values) for _, values in reads]
    assert found.append_version.tolist() == [lists[key].index(value) + 1 for key, value in appends]
    assert not any(map(len, (found.duplicates, found.incompatible, found.garbage, found.again)))
