"""Faults planted in the graph engine: the comparison with the plain reading sees each of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ddlsim.graph import chains, cycles, edges, judge, names, residue, tangle
from ddlsim.graph.edges import RW, WR, WW, Edges
from ddlsim.graph.history import Array, HistoryError
from tests.property.test_graph_laws import compare, looked_near
from tests.support.columns_reference import random_history

SEEDS = range(150)
Plant = Callable[[pytest.MonkeyPatch], None]


def without(kind: int) -> Plant:
    """The graph without the edges of a kind."""
    plain = edges.data_edges

    def fault(*args: Any, **more: Any) -> list[Edges]:
        return [one.take((one.kind & kind) == 0) for one in plain(*args, **more)]

    return lambda patch: patch.setattr(judge, "data_edges", fault)


def split(patch: pytest.MonkeyPatch) -> None:
    """The last node of each component is left out of it."""
    plain = residue.components_of

    def fault(*args: Any, **more: Any) -> list[Array]:
        return [part[:-1] for part in plain(*args, **more)]

    patch.setattr(residue, "components_of", fault)


def longest(patch: pytest.MonkeyPatch) -> None:
    """Of two cycles of one type the heavier one is reported."""
    plain = tangle.Tangle.lightest

    def fault(self: tangle.Tangle, first: tangle.Step, *, apart: bool = False) -> Any:
        way = plain(self, first, apart=apart)
        return None if way is None else way._replace(weight=-way.weight)

    patch.setattr(tangle.Tangle, "lightest", fault)


def fewer(place: Any, name: str) -> Plant:
    """The last of the nodes that a function returns is left out."""
    plain = getattr(place, name)
    return lambda patch: patch.setattr(place, name, lambda *args: plain(*args)[:-1])


def lost_between(patch: pytest.MonkeyPatch) -> None:
    """The last of the nodes between edges that go back is left out."""
    plain = residue.on_ways_back

    def fault(*args: Any, **more: Any) -> tuple[Array, bool]:
        kept, one = plain(*args, **more)
        return kept[:-1], one

    patch.setattr(residue, "on_ways_back", fault)


def one_target(patch: pytest.MonkeyPatch) -> None:
    """All that lies between edges that go back is taken for one component."""
    plain = residue.on_ways_back
    patch.setattr(residue, "on_ways_back", lambda *args, **more: (plain(*args, **more)[0], True))


def put(place: Any, name: str, value: Any) -> Plant:
    return lambda patch: patch.setattr(place, name, value)


FAULTS: dict[str, Plant] = {
    "no ww edges": without(WW),
    "no wr edges": without(WR),
    "no rw edges": without(RW),
    "a component is split": split,
    "not the lightest cycle": longest,
    "the name of another cycle": put(cycles, "type_of", lambda _: "G0"),
    "two in a row are apart": put(names, "adjacent", lambda _: False),
    "every cycle has one rw": put(names, "_base", lambda kinds, **_: "G-single"),
    "no real time among the steps": put(chains.Chains, "_chain", lambda *_, **__: None),
    "no cycle is chosen": put(tangle.Tangle, "lightest", lambda *_, **__: None),
    "every order is a certificate": put(cycles, "unsettled", lambda *_: []),
}


def sees() -> bool:
    """Whether the comparison fails on any history of the sample."""
    for seed in SEEDS:
        try:
            compare(random_history(seed))
        except HistoryError:
            continue
        except (AssertionError, IndexError, KeyError):
            return True
    return False


NEAR_FAULTS: dict[str, Plant] = {
    "a node between edges that go back is lost": lost_between,
    "what several edges lead back to is one component": one_target,
    "edges of one label are none": put(residue, "between", lambda *_: np.zeros(0, np.int64)),
    "every edge that goes back closes a cycle": put(
        cycles, "_near_few", lambda n, *_: cycles.Search((), (np.arange(n),))
    ),
}


def sees_near() -> bool:
    """Whether the search near few edges differs from the plain one on any history of the sample."""
    for seed in SEEDS:
        for model in ("serializable", "snapshot-isolation"):
            try:
                looked_near(seed, model)
            except HistoryError:
                continue
            except (AssertionError, IndexError):
                return True
    return False


@pytest.mark.slow
def test_the_comparison_holds_without_a_fault() -> None:
    assert not sees()
    assert not sees_near()


@pytest.mark.parametrize("fault", NEAR_FAULTS)
def test_a_fault_near_few_edges_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    NEAR_FAULTS[fault](monkeypatch)
    assert sees_near()


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)
    assert sees()
