"""The edges of a cycle as the steps of an argument."""

from collections.abc import Iterable

from ddlsim.checkers.base import Step
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.graph.edges import Edge, Node, Words
from ddlsim.graph.words import Explainer


def steps_of(case: Case, nodes: list[Node], edges: Iterable[Edge]) -> tuple[Step, ...]:
    """One step for each edge, with the sentence that says why it is there."""
    explainer: Explainer[Edge] = Words(case, nodes)
    return tuple(
        Step(
            explainer.call(edge.source),
            explainer.call(edge.target),
            nodes[edge.source].kind,
            explainer.edge(edge),
            explainer.because(edge),
        )
        for edge in edges
    )
