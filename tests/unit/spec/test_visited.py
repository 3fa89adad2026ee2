"""What is known of each invariant: a shortest run for each, also behind a state that is broken."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from ddlsim.spec.base import Label, Scope, Setup, Variant
from ddlsim.spec.visited import Visited

State = tuple[int, ...]
ROADS = {"short": ((1,), (2,)), "long": ((3,), (4,), (5,), (2,))}
"""Two ways to the place 2, which breaks I2: one through 1, which breaks I1, and one around it."""


class Roads:
    """Places and roads; where an invariant that is judged is broken, no road leads on."""

    def __init__(self, judged: Collection[str]) -> None:
        self._breaks = {1: "I1", 2: "I2"}
        self._judged = judged

    def first(self) -> State:
        return (0,)

    def broken(self, state: State) -> tuple[str, ...]:
        broken = self._breaks.get(state[0])
        return (broken,) if broken in self._judged and broken is not None else ()

    def steps(self, state: State) -> Iterator[tuple[Label, State]]:
        if not self.broken(state):
            for name, road in ROADS.items():
                places = ((0,), *road)
                if state in places[:-1]:
                    yield (name,), places[places.index(state) + 1]

    def tests(self, label: Label, after: State) -> tuple[str, ...]:
        return ("I1", "I2", "I3") if label[0] == "long" else ()

    def words(self, label: Label, before: State, after: State) -> str:
        return f"from {before} to {after} by the {label[0]} road"

    def why(self, invariant: str, state: State) -> str:
        return f"{invariant} at {state}"

    def shown(self, state: State) -> dict[str, Any]:
        return {"at": state[0]}


def setup() -> Setup:
    scope = Scope(
        name="roads",
        title="",
        source="",
        constants=(),
        rules=(),
        invariants=("I1", "I2", "I3", "I4"),
        designs={"iep": Variant({})},
        mutants={},
        make=lambda constants, rules, judged: Roads(judged),
        tla=Path("roads.tla"),
    )
    return Setup(scope, "iep", None, {}, {})


def test_it_ends_where_the_first_invariant_is_broken() -> None:
    visited = Visited(setup())
    assert visited.run() is None
    assert {name: len(one.steps) for name, one in visited.found.items()} == {"I1": 1}
    assert [visited.decision(one) for one in setup().scope.invariants] == [
        *("violated", "not decided", "not decided", "not decided")
    ]
    assert visited.ended == "violation"


def test_the_run_of_each_is_a_shortest_one_whatever_else_is_broken_on_it() -> None:
    visited = Visited(setup(), keep_going=True)
    visited.run()
    assert {name: len(one.steps) for name, one in visited.found.items()} == {"I1": 1, "I2": 2}
    assert [visited.decision(one) for one in setup().scope.invariants] == [
        *("violated", "violated", "holds", "not tested")
    ]
    assert (visited.ended, visited.largest.states) == ("exhausted", 6)


@pytest.mark.parametrize(
    ("depth", "decided"), [(0, ["not decided"] * 4), (1, ["violated", *["not decided"] * 3])]
)
def test_behind_a_depth_nothing_is_decided(depth: int, decided: list[str]) -> None:
    visited = Visited(setup(), depth=depth, keep_going=True)
    visited.run()
    assert [visited.decision(one) for one in setup().scope.invariants] == decided
    assert visited.ended == "depth"
