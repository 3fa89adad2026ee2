"""I10: aborted and read-only transactions too see only what some serial state has.

[110.req.1] [98.own]
"""

from collections.abc import Iterator
from typing import Final

from ddlsim.checkers.base import BOTH_VOICES, CHECKERS, Anomaly, Severity
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.writes import Writes, writes_of
from ddlsim.checkers.graph.back import back_ms
from ddlsim.checkers.graph.dirty_reads import unexplained
from ddlsim.checkers.graph.edges import witnesses
from ddlsim.checkers.graph.graph import Graph, graph_of
from ddlsim.checkers.graph.past import past_reads, session_reads
from ddlsim.checkers.graph.steps import steps_of
from ddlsim.checkers.graph.views import View, judged_reads, loop
from ddlsim.checkers.rows.index_reads import index_reads
from ddlsim.history.events import AnyEvent

BY_ITSELF: Final = ("internal", "G1b")
"""What no graph shows of reads, and no look at the writer's outcome."""


class Opacity:
    """The reads of an uncommitted transaction fit together, and so do reads at a timestamp.

    An aborted transaction is put into the graph of I3 as one that only read: it comes after the
    transactions that it read from and the DDLs whose versions it ran under, and before those that
    overwrote or replaced them. A cycle through it is no serial state; real time does not count. It
    is judged by what it read while its locks held: until it was aborted, by its coordinator or by a
    recovery, a node it had read on died, or a place it had read from passed to another lease. A
    cycle past a DDL (*fractured-schema*) is distinguished from one on rows alone
    (*fractured-read*): IEP-110 promises nothing against the former, its operations are judged by
    their own table only. A read-only transaction, whether it ever commits or not, finds exactly
    what was committed up to its read_ts, under the schema of its read_ts; and a client with a
    causal token finds what was acknowledged to it. Neither misses its own writes, or finds what its
    writer had replaced. No other checker judges transactions that did not commit, or reads at a
    timestamp.
    """

    name = "opacity"
    invariant = "I10"
    severity: Severity = "session"
    summary = "aborted and read-only transactions too see only what some serial state has"
    voices = BOTH_VOICES

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Reads of what never was, fractured reads, then reads of the past."""
        writes = writes_of(case)
        views = [
            view
            for tx in case.transactions.values()
            if tx.committed is None and tx.read_ts is None
            for view in judged_reads(case, tx)
        ]
        if views:
            graph = graph_of(case)
            for view in views:
                yield from _dirty(case, view)
                yield from _impossible(case, writes, view.tx)
                yield from _fractured(case, graph, view)
        for tx in case.transactions.values():
            if tx.read_ts is not None:
                if tx.committed is None:
                    yield from _impossible(case, writes, tx)
                yield from past_reads(case, writes, tx)
                yield from session_reads(case, writes, tx)
        yield from index_reads(case, of_the_past=True)


def _dirty(case: Case, view: View) -> Iterator[Anomaly]:
    """A read of what an uncommitted transaction wrote."""
    for _, read in view.reads:
        for row in read.rows:
            if row.writer in (None, view.tx.name) or case.is_undecided(row.writer or ""):
                continue
            writer = case.transactions.get(row.writer or "")
            if writer is None or writer.committed is None:
                ended: tuple[AnyEvent, ...] = ()
                if writer is not None and writer.aborted is not None:
                    ended = (writer.aborted,)
                yield Anomaly(
                    "dirty-read",
                    f"{view.tx.name}, which did not commit, read row {row.key!r} as written by "
                    f"{row.writer}, which is not committed either",
                    (read, *ended),
                )


def _impossible(case: Case, writes: Writes, tx: Transaction) -> Iterator[Anomaly]:
    """A read of what its own transaction had replaced, or what another one replaced itself."""
    for one in unexplained(case, writes, tx, tx.reads):
        if one.kind in BY_ITSELF:
            yield one


def _fractured(case: Case, graph: Graph, view: View) -> Iterator[Anomaly]:
    edges = loop(graph, view)
    if not edges:
        return
    nodes = [*graph.nodes, view.node(case)]
    steps = steps_of(case, nodes, edges)
    witness: dict[int, AnyEvent] = {}
    for edge in edges:
        for event in witnesses(edge):
            witness[id(event)] = event
    past_ddl = any(nodes[edge.source].update is not None for edge in edges)
    labels = [step.source for step in steps]
    yield Anomaly(
        "fractured-schema" if past_ddl else "fractured-read",
        f"{view.tx.name}, which did not commit, had read what no serial state has: "
        f"{' < '.join([*labels, labels[0]])}",
        tuple(witness.values()),
        steps,
        clauses=("110.req.1",),
        back_ms=back_ms(case, nodes, edges),
    )


CHECKERS.add("opacity", Opacity())
