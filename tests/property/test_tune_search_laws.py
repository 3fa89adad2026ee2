"""Halving finds what a grid finds; borders, fronts and knees are those of the definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.analysis.tune.search import MOST_MS, border, front, knee, least


@given(st.integers(0, 3_000), st.integers(1, 25), st.floats(0, 2_000), st.floats(0, 400))
def test_halving_finds_the_border_of_a_grid(
    truth: int, step: int, low: float, width: float
) -> None:
    asked: list[int] = []

    def meets(values: list[int]) -> list[bool]:
        asked.extend(values)
        return [value >= truth for value in values]

    found = least(meets, low, low + width, step)
    grid = next(value for value in range(0, 10**5, step) if value >= truth)
    assert found.least == grid
    assert sorted(asked) == list(found.tried), "nothing is asked twice"
    assert len(asked) <= 3 + 2 * np.log2(max(truth, low, 2 * step) / step + 2) + np.log2(
        width / step + 2
    )


def test_a_good_guess_costs_little() -> None:
    found = least(lambda values: [value >= 293 for value in values], 260, 330, 5)
    assert found.least == 295
    assert len(found.tried) <= 6


def test_a_goal_that_no_cell_meets_is_reported() -> None:
    found = least(lambda values: [False for _ in values], 100, 200, 10)
    assert found.least is None
    assert max(found.tried) >= MOST_MS


@given(
    st.lists(st.floats(1, 400), min_size=1, max_size=6),
    st.floats(0, 50),
    st.lists(st.integers(0, 500), min_size=2, max_size=8, unique=True),
)
def test_the_border_of_waits_is_need_less_limit(
    needs: list[float], limit: float, tried: list[int]
) -> None:
    """W = max(0, need - DD): the border is where need - DD = limit, wherever that is known."""
    cells = sorted(tried)
    figures = np.array([[max(0.0, need - dd) for need in needs] for dd in cells])
    found = border(cells, figures, limit)
    for own, need in zip(found, needs, strict=True):
        exact = max(need - limit, 0.0)
        if exact >= cells[0] and need <= cells[-1]:
            place = int(np.searchsorted(cells, exact))
            near = [cells[max(place - 1, 0)], cells[min(place, len(cells) - 1)]]
            assert near[0] - 1e-6 <= own <= near[1] + 1e-6
            if all(need >= dd for dd in near):
                assert own == pytest.approx(exact, abs=1e-6)
        elif exact > cells[-1]:
            assert own == pytest.approx(exact)
        else:
            assert own <= cells[-1]


def test_the_border_lies_where_the_line_between_two_cells_meets_the_limit() -> None:
    assert border([0, 10, 20], np.array([[9.0], [4.0], [0.0]]), 1.0)[0] == pytest.approx(17.5)
    assert border([0, 10, 20], np.array([[9.0], [1.0], [0.0]]), 1.0)[0] == pytest.approx(10)
    assert border([5, 10], np.array([[9.0], [7.0]]), 1.0)[0] == pytest.approx(16)
    assert border([5, 10], np.array([[0.5], [0.0]]), 1.0)[0] == pytest.approx(4.5)


def test_one_bad_cell_above_counts() -> None:
    figures = np.array([[9.0], [0.0], [9.0], [0.0]])
    assert 20 < border([0, 10, 20, 30], figures, 1.0)[0] <= 30


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_a_front_has_the_cells_that_no_other_beats(points: list[tuple[int, int]]) -> None:
    on = front(np.array(points, dtype=float))
    for place, own in enumerate(points):
        beaten = any(a <= own[0] and b <= own[1] and (a, b) != own for a, b in points)
        assert on[place] is not beaten
    assert any(on)


def test_the_knee_is_the_corner() -> None:
    costs = np.array([0.0, 10, 20, 30, 40])
    waits = np.array([100.0, 60, 5, 4, 3])
    assert knee(costs, waits) == 2
    assert knee(costs[::-1], waits[::-1]) == 2
    assert knee(costs, 100 - costs) is None, "a straight line has none"
    assert knee(costs[:2], waits[:2]) is None
    assert knee(costs, np.zeros(5)) is None
