"""I3: committed transactions and DDLs together are strictly serializable.  [110.lin]"""

from collections.abc import Iterator

from ddlsim.checkers.base import BOTH_VOICES, CHECKERS, Anomaly, Severity
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.writes import writes_of
from ddlsim.checkers.findings import Signature, signature
from ddlsim.checkers.graph.back import back_ms
from ddlsim.checkers.graph.cycles import Cycle, find, without_detours
from ddlsim.checkers.graph.dirty_reads import dirty_reads
from ddlsim.checkers.graph.edges import witnesses
from ddlsim.checkers.graph.graph import Graph, graph_of
from ddlsim.checkers.graph.steps import steps_of
from ddlsim.graph.edges import PROCESS, REALTIME
from ddlsim.history.events import AnyEvent
from ddlsim.model.design import SKEW_BOUNDED


class Serializability:
    """The graph of protocol.md section 8 has no cycle, and no read is of what never was.

    The relaxed graph decides; what only the strict graph shows is marked so. A cycle that needs the
    real time after a DDL rests on what the design assumes for that. Of cycles that are the same in
    structure one is reported, with the relaxed graph and with the strict one.
    """

    name = "serializability"
    invariant = "I3"
    severity: Severity = "safety"
    summary = "the graph of committed transactions and DDLs, with real time, has no cycle"
    voices = BOTH_VOICES

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Reads that no order explains, cycles of the relaxed graph, cycles of the strict one."""
        writes = writes_of(case)
        yield from dirty_reads(case, writes)
        graph = graph_of(case)
        for strict in (False, True):
            search = find(graph, strict=strict)
            reported: dict[Signature, None] = {}
            for whole in search.cycles:
                cycle = without_detours(graph, whole)
                if strict and not cycle.strict_only:
                    continue  # without its detour it is one of the relaxed graph
                anomaly = _anomaly(case, graph, cycle)
                found = signature(anomaly)
                if found not in reported:
                    reported[found] = None
                    yield anomaly
            if search.unexamined:
                yield Anomaly(
                    "unexamined-cycles",
                    f"{search.unexamined} more edges lie on cycles in a tangle too large to be "
                    "searched in full",
                    strict_only=strict,
                )


def _anomaly(case: Case, graph: Graph, cycle: Cycle) -> Anomaly:
    nodes = graph.nodes
    steps = steps_of(case, nodes, cycle.edges)
    witness: dict[int, AnyEvent] = {}
    for edge in cycle.edges:
        for event in (nodes[edge.source].event(), *witnesses(edge)):
            witness[id(event)] = event
    labels = [step.source for step in steps]
    back = back_ms(case, nodes, cycle.edges)
    return Anomaly(
        cycle.name,
        f"a cycle: {' < '.join([*labels, labels[0]])}",
        tuple(witness.values()),
        steps,
        strict_only=cycle.strict_only,
        assumes=_assumed(case, cycle, back),
        clauses=("110.lin",),
        back_ms=back,
    )


CHECKERS.add("serializability", Serializability())


def _assumed(case: Case, cycle: Cycle, back: tuple[int | None, ...]) -> tuple[str, ...]:
    """What the cycle's real time rests on: after a DDL, and where it leads back in timestamps."""
    found = case.header.design.ddl_edges_assume if cycle.needs_ddl_time else ()
    leads_back = any(
        edge.kind in (REALTIME, PROCESS) and ms is not None
        for edge, ms in zip(cycle.edges, back, strict=True)
    )
    return (*found, SKEW_BOUNDED) if leads_back else found
