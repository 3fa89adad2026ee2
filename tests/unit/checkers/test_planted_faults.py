"""Each rule of the judges is planted broken once, and a schedule of the other tests notices."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ddlsim.checkers import data_matches_schema, own_ddl
from ddlsim.checkers.case import rows, schemas
from ddlsim.checkers.graph import graph as graphs
from ddlsim.checkers.graph.backward import Backward, Hold
from ddlsim.checkers.graph.edges import InstalledThenUsed
from ddlsim.checkers.graph.graph import Graph
from ddlsim.checkers.spec import spec
from ddlsim.graph import chains, names, residue, tangle
from ddlsim.graph.edges import PROCESS, REALTIME
from ddlsim.model import ddl
from tests.support.history import Story, add_column
from tests.support.judging import anomalies, circle_of_reads, found, two_ways, write_skew
from tests.unit.checkers import (
    test_atomicity,
    test_data_matches_schema,
    test_forward_compatible,
    test_graph,
    test_names,
    test_own_ddl,
    test_serializability,
)

Patch = Callable[[pytest.MonkeyPatch], None]


def nothing(*_: Any, **__: Any) -> None:
    """What a rule does that is left out."""


def put(place: Any, name: str, value: Any) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(place, name, value)


def missed_insert() -> Story:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.commit("T1", 12)
    story.scan("T2", t, 20, {})
    story.commit("T2", 22)
    return story


def graph(story: Callable[[], Story]) -> Callable[[], list[Any]]:
    """What I3 says: kind, what it assumes, whether only the strict graph shows it."""
    return lambda: [(one.kind, one.assumes, one.strict_only) for one in found(story(), strict=True)]


def judged(checker: str, story: Callable[[], Story]) -> Callable[[], list[Any]]:
    return lambda: [one.kind for one in anomalies(checker, story())]


def boundary(top: int, version: int) -> Callable[[], list[Any]]:
    def story() -> Story:
        made, table = test_atomicity.altered()
        made.resolve("T", table, top, version)
        return made

    return judged("atomicity", story)


def later_than(positions: list[int], position: int) -> int:
    """`bisect_right` that takes what comes just after for what comes before."""
    return bisect_left(positions, position - 1)


def old_default(row: Any, source: Any, target: Any) -> Any:
    cells = dict(row)
    return tuple((c.id, cells.get(c.id, c.default)) for c in target.columns)


def changed_default() -> Story:
    """Rows from before ADD COLUMN show its first default, whatever it is changed to later."""
    from ddlsim.history.events import RowRead
    from ddlsim.model.schema import Column
    from tests.support.history import INT

    story = Story()
    t = story.table()
    story.write("T", t, 7, 1, row=((0, 7), (1, 70)))
    story.commit("T", 2)
    added = add_column(2, "w", default=9)
    later = Column(2, "w", INT, default=8, initial_default=9)
    story.ddl("D", t, added, tu=5)
    story.ddl("E", t, ddl.ColumnAltered(added.column, later), tu=6)
    story.read("U", t, 7, 10, "T", version=3, row=RowRead(7, "T", 1, 1, ((0, 7), (1, 70), (2, 9))))
    story.commit("U", 20)
    return story


def lenient(_self: Any, tx: Any, version: int, step: Any) -> Hold | None:
    del tx, version, step
    return None


def unmoved(self: Any, number: int, tx: Any, use: Any) -> None:
    """Drops T -> D_{v+1} and forgets the DDL behind it."""
    step = self._case.schemas.after(use.object_id, use.version)
    if step is not None and self._backward.hold(tx, use.version, step) is not None:
        _replaced(self, number, tx, use)


def free_ddl_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing but a DDL's time is asked for, it is as light as an edge on data."""
    untimed = tuple(one for one in chains._OF_MARKS if one[0] not in {PROCESS, REALTIME})
    monkeypatch.setattr(chains, "_OF_MARKS", untimed)
    monkeypatch.setattr(chains, "DDL_TIME", -1)


def lost_update() -> Story:
    story = Story()
    t = story.table()
    for tx, at in (("T1", 10), ("T2", 11)):
        story.read(tx, t, "x", at, None)
        story.write(tx, t, "x", at + 2)
    story.commit("T1", 20)
    story.commit("T2", 21)
    return story


def schema_only() -> Story:
    """T used the new version, ended, and U then ran under the old one."""
    story = Story()
    t = story.table()
    story.ddl("D", t, test_serializability.INCOMPATIBLE, tu=20)
    story.write("T", t, "x", 30, version=2)
    story.commit("T", 31)
    story.write("U", t, "z", 40)
    story.commit("U", 41)
    return story


def session() -> Story:
    """A read of the past, with a token, that misses what its own client had written."""
    story = Story()
    t = story.table()
    story.begin("T", 9, client="c", session=True)
    story.write("T", t, "x", 10, client="c")
    story.commit("T", 12, client="c")
    story.begin("R", 20, client="c", read_at=5, session=True)
    story.read("R", t, "x", 21, None, client="c")
    story.commit("R", 22, client="c")
    return story


def without(reason: type) -> Patch:
    """The graph less the edges of one kind of reason."""

    def add(self: Any, edge: Any) -> None:
        if not isinstance(edge.reason, reason):
            _add(self, edge)

    return put(Graph, "_add", add)


def next_but_one(self: Any, number: int, read: Any, item: Any, row: Any, place: int) -> None:
    _next(self, number, read, item, row, place + 1)


_add, _next = Graph._add, Graph._next
_replaced = Graph._replaced


def behind() -> Story:
    """An incompatible DDL behind a compatible one that is passed over."""
    story = Story()
    a, b = story.table("a"), story.table("b")
    story.write("T", a, "x", 10)
    story.ddl("D", a, add_column(2, "w"), tu=20)
    story.ddl("E", a, test_serializability.INCOMPATIBLE, tu=22)
    story.write("T2", a, "z", 26, version=3)
    story.write("T2", b, "k", 27)
    story.commit("T2", 28)
    story.read("T", b, "k", 30, "T2")
    story.commit("T", 40)
    return story


def losing_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle finds nothing wrong with any change, and remembers nothing of its own."""
    monkeypatch.setattr(spec, "breach", nothing)
    monkeypatch.setattr(spec, "_remembered", spec.rulings)


def with_query() -> Story:
    return test_serializability.across_tables(add_column(2, "w"), query=True)


def either_way() -> Story:
    """D < T2 by the schema and in real time: the argument without an assumption is to be told."""
    return test_serializability.b2_t2(test_serializability.INCOMPATIBLE)


FAULTS: dict[str, tuple[Patch, Callable[[], list[Any]]]] = {
    "no rw on rows": (put(Graph, "_next", nothing), graph(write_skew)),
    "no wr on rows": (put(Graph, "_reads", nothing), graph(circle_of_reads)),
    "no rw to DDLs": (put(Graph, "_replaced", nothing), graph(either_way)),
    "no ww on rows": (put(Graph, "_row_versions", nothing), graph(lost_update)),
    "no ww of DDLs": (put(Graph, "_schema_versions", nothing), graph(test_graph.ddls_in_reverse)),
    "no wr from DDLs": (without(InstalledThenUsed), graph(schema_only)),
    "the next writer but one": (put(Graph, "_next", next_but_one), graph(write_skew)),
    "no order of one client": (
        put(chains, "_by_client", lambda *_: {}),
        graph(lambda: test_names.stale("c1")),
    ),
    "anybody's order is one client's": (
        put(chains, "_by_client", lambda placed, _: {"c2": placed} if placed else {}),
        graph(lambda: test_names.stale("c2")),
    ),
    "no sessions": (put(graphs, "session_edges", lambda *_: ()), graph(session)),
    "two in a row are apart": (
        put(names, "adjacent", lambda _: False),
        graph(write_skew),
    ),
    "gaps are not looked for": (put(tangle, "adjacent", lambda _: False), graph(two_ways)),
    "no predicates": (put(Graph, "_not_found", nothing), graph(missed_insert)),
    "no chain of instants": (put(chains.Chains, "_chain", nothing), graph(test_graph.stale)),
    "no real time in the certificate": (
        put(residue, "back_in_time", lambda *_: (np.zeros(0, int), np.zeros(0, int))),
        graph(lambda: test_graph.stale(commit_ts=30)),
    ),
    "the real time of DDLs costs nothing": (
        free_ddl_time,
        graph(either_way),
    ),
    "every step is passed over": (put(Backward, "hold", lenient), graph(either_way)),
    "queries show nothing": (put(Backward, "noticed", nothing), graph(with_query)),
    "a dropped step forgets the next": (put(Graph, "_replaced", unmoved), graph(behind)),
    "effective after Tu only": (put(schemas, "bisect_right", bisect_left), boundary(1100, 2)),
    "every change is compatible": (
        losing_nothing,
        judged(
            "forward_compatible",
            lambda: test_forward_compatible.crossing((test_serializability.INCOMPATIBLE,)),
        ),
    ),
    "an acknowledgement comes early": (
        put(own_ddl, "bisect_right", later_than),
        judged("own_ddl", lambda: test_own_ddl.after(445, invoked=470)),
    ),
    "what an operation ran under does not matter": (
        put(own_ddl, "_unseen", lambda *_: ()),
        judged("own_ddl", lambda: test_own_ddl.old_transaction(1)),
    ),
    "old rows show the new default": (
        put(rows, "upgraded", old_default),
        judged("data_matches_schema", changed_default),
    ),
    "a read may miss anything": (
        put(data_matches_schema, "_is_older", lambda *_: False),
        judged("data_matches_schema", test_data_matches_schema.missed),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_changes_a_verdict(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, verdict = FAULTS[fault]
    sound = verdict()
    plant(monkeypatch)
    assert verdict() != sound
