"""Every state of a machine is visited once, the first broken one by a shortest way."""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import pytest

from ddlsim.spec.base import Label
from ddlsim.spec.exhaust import ASK_EVERY, Exhaustion, State


class Grid:
    """Two numbers, each of which may grow by one up to `most`, or fall to 0 from there."""

    def __init__(self, most: int, *bad: State) -> None:
        self._most, self._bad = most, bad

    def first(self) -> State:
        return (0, 0)

    def steps(self, state: State) -> Iterator[tuple[Label, State]]:
        if state in self._bad:
            return
        for place, number in enumerate(state):
            grown = number + 1 if number < self._most else 0
            yield ("grow", place), (*state[:place], grown, *state[place + 1 :])

    def broken(self, state: State) -> tuple[str, ...]:
        return tuple(f"I{1 + place}" for place, one in enumerate(self._bad) if one == state)

    def tests(self, label: Label, after: State) -> tuple[str, ...]:
        return (f"I{label[1]}",) if label[0] == "grow" and sum(after) > 2 else ()

    def words(self, label: Label, _before: State, after: State) -> str:
        return f"{label} to {after}"

    def why(self, _invariant: str, state: State) -> str:
        return str(state)

    def shown(self, state: State) -> dict[str, Any]:
        return {"numbers": state}


class Fan(Grid):
    """One state, from which as many are reached as `most` says, and one from each of these."""

    def steps(self, state: State) -> Iterator[tuple[Label, State]]:
        width = self._most if state == (0, 0) else 1
        for number in range(width):
            yield ("go",), (state[0] + 1, state[1] + number)


def graph_of(machine: Grid) -> nx.DiGraph:
    """The states as a graph, found depth first."""
    graph: nx.DiGraph = nx.DiGraph()
    left = [machine.first()]
    while left:
        state = left.pop()
        for _, after in machine.steps(state):
            if after not in graph:
                left.append(after)
            graph.add_edge(state, after)
    return graph


@pytest.mark.parametrize("most", [1, 2, 7])
def test_all_states_and_actions_are_counted(most: int) -> None:
    graph = graph_of(Grid(most))
    explored = Exhaustion(Grid(most)).run()
    far = nx.single_source_shortest_path_length(graph, (0, 0))
    assert (explored.ended, explored.states) == ("exhausted", len(graph))
    assert explored.generated == 1 + 2 * len(graph)
    assert explored.depth == 1 + max(far.values())
    widths = [list(far.values()).count(deep) for deep in range(explored.depth)]
    assert list(explored.widths) == widths


def test_a_broken_state_is_reached_by_a_shortest_way() -> None:
    machine = Grid(5, (3, 2), (1, 1))
    explored = Exhaustion(machine, until_broken=2).run()
    assert explored.ended == "violation"
    assert [found.invariant for found in explored.found] == ["I2", "I1"]
    for found, far in zip(explored.found, (2, 5), strict=True):
        assert len(found.steps) == far
        before = found.first
        for step in found.steps:  # each step is one of the machine's
            assert (step.label, step.state) in list(machine.steps(before))
            before = step.state
        assert machine.broken(before) == (found.invariant,)


class Twice(Grid):
    """One invariant, which two states break, one of them farther than the other."""

    def broken(self, state: State) -> tuple[str, ...]:
        return ("I1",) if state in self._bad else ()


def test_the_shortest_way_stays_when_a_longer_one_breaks_the_same() -> None:
    explored = Exhaustion(Twice(5, (1, 1), (0, 2), (3, 0)), until_broken=2).run()
    [found] = explored.found
    assert (explored.ended, len(found.steps)) == ("exhausted", 2)


def test_it_ends_at_the_first_broken_invariant_or_at_the_last() -> None:
    assert len(Exhaustion(Grid(5, (3, 2), (1, 1))).run().found) == 1
    everything = Exhaustion(Grid(5, (3, 2), (1, 1)), until_broken=3).run()
    assert (everything.ended, len(everything.found)) == ("exhausted", 2)


def test_the_first_state_may_be_broken() -> None:
    explored = Exhaustion(Grid(5, (0, 0))).run()
    assert (explored.ended, explored.states) == ("violation", 1)
    assert explored.found[0].steps == ()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_depth_bounds_the_actions(depth: int) -> None:
    explored = Exhaustion(Grid(9), depth=depth).run()
    assert explored.ended == "depth"
    assert list(explored.widths) == list(range(1, depth + 2))
    assert explored.generated == 1 + 2 * sum(range(1, depth + 1))


def test_a_depth_behind_which_there_is_nothing_is_no_bound() -> None:
    assert Exhaustion(Grid(3), depth=5).run().ended == "depth"
    assert Exhaustion(Grid(3), depth=6).run() == Exhaustion(Grid(3)).run()


def test_the_invariants_that_an_action_puts_to_the_test_are_kept() -> None:
    assert Exhaustion(Grid(1)).run().tested == frozenset()
    assert Exhaustion(Grid(2)).run().tested == {"I0", "I1"}
    assert Exhaustion(Grid(9), depth=2).run().tested == frozenset()
    assert Exhaustion(Grid(2), depth=4).run().tested == {"I0", "I1"}  # its last level, too


def test_it_ends_when_it_is_over() -> None:
    asked = iter((False, True))
    over = Exhaustion(Fan(3 * ASK_EVERY)).run(lambda: next(asked))
    assert over.ended == "time"
    assert list(over.widths) == [1, 3 * ASK_EVERY, ASK_EVERY - 1]
    early = Exhaustion(Grid(9)).run(lambda: True)  # at the end of a level, too
    assert (early.ended, list(early.widths)) == ("time", [1, 2])


def test_it_ends_where_it_has_too_many_states() -> None:
    full = Exhaustion(Fan(3 * ASK_EVERY), states_most=4 * ASK_EVERY).run()
    assert full.ended == "states"
    assert list(full.widths) == [1, 3 * ASK_EVERY, 2 * ASK_EVERY - 1]


def test_what_there_is_can_be_asked_after_an_interrupt() -> None:
    search = Exhaustion(Fan(3 * ASK_EVERY))

    asked = iter((False,))

    def interrupt() -> bool:
        for answer in asked:
            return answer
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.run(interrupt)
    left = search.result("interrupted")
    assert left.ended == "interrupted"
    assert left.states == search.states == 4 * ASK_EVERY
