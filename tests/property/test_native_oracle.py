"""The judge of serializability against a plain search for a serial order, on native histories.

Histories of up to four transactions and two DDLs are drawn from seeds; `tests.support.
native_oracle` says how they are explained. Tens of thousands were compared once; here is a sample.
Each fault that is planted in the judge is seen at some seed of it.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ddlsim.checkers import serializability
from ddlsim.checkers.graph import cycles, graph, sessions
from ddlsim.checkers.graph.backward import Backward
from ddlsim.checkers.graph.graph import Graph
from ddlsim.graph.edges import RW, WR, WW
from ddlsim.graph.history import FOREVER
from ddlsim.graph.residue import Span
from tests.support.history import Story, add_column
from tests.support.judging import anomalies
from tests.support.judging import cycles as cycles_of
from tests.support.native_oracle import NEVER, Change, Did, Orders, Tx, World, drawn, told

SAMPLE = range(600)


def judged(world: World) -> tuple[bool, bool]:
    """Whether the judge finds nothing, with the relaxed graph and with the strict one."""
    found = anomalies("serializability", told(world))
    return all(one.strict_only for one in found), not found


def explained(world: World) -> tuple[bool, bool]:
    """The same of the search."""
    return Orders(world, strict=False).exist(), Orders(world, strict=True).exist()


def test_the_judge_agrees_with_the_search_on_a_sample() -> None:
    answers: Counter[tuple[bool, bool]] = Counter()
    for seed in SAMPLE:
        world = drawn(seed)
        due = explained(world)
        answers[due] += 1
        assert judged(world) == due, (seed, world)
    assert set(answers) == {(True, True), (True, False), (False, False)}
    assert min(answers.values()) > 40, answers


def test_what_a_client_ended_counts_whatever_of_it_overlapped() -> None:
    """A DDL that its client saw answered within a transaction binds the client's later reader."""
    read = {"x": None}
    during = Tx("T1", "a", (Did("get", "x", 20, 1, read),), 60, 60, aborted=False, read_at=None,
                session=True)  # fmt: skip
    reader = during._replace(
        name="T2", ops=(Did("get", "x", 80, 1, read),), commit=90, ended=90, read_at=30
    )
    world = World((during, reader), (Change("d0", "a", 30, 40, 50, compatible=False),))
    assert judged(world) == explained(world) == (False, False)
    assert judged(world._replace(txs=(during, reader._replace(session=False)))) == (True, True)


def test_a_reader_that_chose_its_time_hides_nothing_from_the_next_one() -> None:
    """What leads to no reader is not what the next one of the session rests on."""
    read = {"x": "T0"}
    wrote = Tx("T0", "b", (Did("put", "x", 11, 1, {}),), 15, 15, aborted=False, read_at=None,
               session=False)  # fmt: skip
    first = Tx("T1", "a", (Did("get", "x", 20, 1, read),), 25, 25, aborted=False, read_at=18,
               session=True)  # fmt: skip
    free = first._replace(name="T2", ops=(Did("get", "y", 30, 1, {"y": None}),), commit=35,
                          ended=35, session=False)  # fmt: skip
    last = first._replace(name="T3", ops=(Did("get", "x", 40, 1, {"x": None}),), commit=45,
                          ended=NEVER)  # fmt: skip
    world = World((wrote, first, free, last), ())
    assert judged(world) == explained(world) == (False, False)


def test_within_one_instant_the_order_of_the_events_is_real_time() -> None:
    """An answer that comes before an invocation precedes it, be it in the same microsecond."""
    for ack, begins, expected in ((46, 46, ["D2 < T1 < D2"]), (46.001, 46, [])):
        story = Story()
        table = story.table()
        story.ddl("d", table, add_column(2, "w"), tu=57, submit=14, ack=ack)
        story.read("T1", table, "x", begins, None)
        story.commit("T1", 82)
        assert cycles_of(story, strict=True) == expected


# --- faults in the judge --------------------------------------------------------------------------


Plant = Callable[[pytest.MonkeyPatch], None]


def without(keep: Callable[[Any], bool]) -> Plant:
    """A graph that lacks some of its edges."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        whole = Graph._add

        def add(self: Graph, edge: Any) -> None:
            if keep(edge):
                whole(self, edge)

        monkeypatch.setattr(Graph, "_add", add)

    return plant


def no_real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cycles._span

    def span(of: Graph) -> Span:
        found = whole(of)
        return Span(found.begin, np.full_like(found.end, FOREVER))

    monkeypatch.setattr(cycles, "_span", span)


def put(place: Any, name: str, value: Any) -> Plant:
    return lambda monkeypatch: monkeypatch.setattr(place, name, value)


def _is_schema(edge: Any) -> bool:
    return "Installed" in type(edge.reason).__name__ or "Used" in type(edge.reason).__name__


FAULTS: dict[str, Plant] = {
    "no wr on rows": without(lambda edge: edge.kind != WR or _is_schema(edge)),
    "no ww on rows": without(lambda edge: edge.kind != WW or _is_schema(edge)),
    "no rw on rows": put(Graph, "_next", lambda *_: None),
    "no wr on schemas": without(lambda edge: edge.kind != WR or not _is_schema(edge)),
    "no rw on schemas": without(lambda edge: edge.kind != RW or not _is_schema(edge)),
    "no real time": no_real_time,
    "no sessions": put(graph, "session_edges", lambda *_: ()),
    "one before a reader": put(sessions, "_last", lambda _nodes, ended: sorted(ended)[-1:]),
    "no absence in scans": put(Graph, "_not_found", lambda *_: None),
    "no deletion in scans": put(graph, "last_deletion", lambda *_: -1),
    "no dirty reads": put(serializability, "dirty_reads", lambda *_: ()),
    "no later change": put(Backward, "next_incompatible", lambda *_: None),
    "newer rows unnoticed": put(Backward, "noticed", lambda *_: None),
    "every change compatible": put(
        Backward, "hold", lambda self, tx, version, step: self.noticed(tx, step.object_id, version)
    ),
}
SEEN_AT = {
    "no wr on rows": 6,
    "no ww on rows": 92,
    "no rw on rows": 4,
    "no wr on schemas": 16,
    "no rw on schemas": 4,
    "no real time": 11,
    "no sessions": 253,
    "one before a reader": 532,
    "no absence in scans": 6,
    "no deletion in scans": 6,
    "no dirty reads": 49,
    "no later change": 173,
    "newer rows unnoticed": 26,
    "every change compatible": 18,
}
"""The first seed at which each is seen."""


@pytest.mark.parametrize("name", FAULTS)
def test_the_sample_shows_each_fault_that_is_planted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    FAULTS[name](monkeypatch)
    world = drawn(SEEN_AT[name])
    assert judged(world) != explained(world)
