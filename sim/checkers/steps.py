"""The edges of a cycle as the steps of an argument."""

from collections.abc import Iterable

from ddlsim.checkers.base import Step
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.edges import Edge, Node, Words, name_of


def steps_of(case: Case, nodes: list[Node], edges: Iterable[Edge]) -> tuple[Step, ...]:
    """One step for each edge, with the sentence that says why it is there."""
    words = Words(case, nodes)
    return tuple(
        Step(
            nodes[edge.source].label,
            nodes[edge.target].label,
            nodes[edge.source].kind,
            name_of(edge),
            words.because(edge),
        )
        for edge in edges
    )
