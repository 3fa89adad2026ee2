"""Anomalies in words: why each edge of a cycle is there, and what a read found."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from ddlsim.graph.cycles import Cycle
from ddlsim.graph.edges import NAMES, PREDICATE_EDGE, PROCESS, REALTIME, RW, WR, WW, Link
from ddlsim.graph.history import KINDS, PREDICATE, SCHEMA, ColumnHistory
from ddlsim.graph.reads import Finding
from ddlsim.graph.verdict import Anomaly, Namer, Step

DATA_SHOWN = WW | WR | RW | PROCESS | REALTIME


E_contra = TypeVar("E_contra", contravariant=True)


class Explainer(Protocol[E_contra]):
    """What the maker of a graph says of it: the names of nodes and edges, and why an edge is there.

    An edge is a `Link`, or what a native graph holds in its place. `because` says why the source
    of an edge comes before its target, in a clause.
    """

    def call(self, node: int, /) -> str:
        """The name of a transaction."""

    def edge(self, edge: E_contra, /) -> str:
        """The name of an edge: ww, wr, rw, process, realtime, or one that says more."""

    def because(self, edge: E_contra, /) -> str:
        """Why the edge is there."""


def argued(cycle: Cycle, explainer: Explainer[Link]) -> Anomaly:
    """A cycle as an argument that contradicts itself, in the words of `explainer`."""
    call = explainer.call
    if not cycle.links:
        said = (
            "there is a cycle, but none short enough to be shown was found; it lies in the "
            f"component of {', '.join(map(call, cycle.txns))}"
        )
        return Anomaly(cycle.type, cycle.txns, (), said)
    steps = tuple(
        Step(link.source, link.target, explainer.edge(link), explainer.because(link))
        for link in cycle.links
    )
    return Anomaly(cycle.type, cycle.txns, steps, _contradiction(steps, call))


class Words:
    """Makes the sentences for one history."""

    def __init__(self, history: ColumnHistory) -> None:
        self._history = history

    def cycle(self, cycle: Cycle) -> Anomaly:
        """A cycle as an argument that contradicts itself."""
        return argued(cycle, self)

    def finding(self, finding: Finding) -> Anomaly:
        """A read, or a write, that no order explains."""
        history, op = self._history, finding.op
        key, version = history.names.key(int(history.key[op])), int(history.version[op])
        tx, other = self.call(finding.tx), self.call(finding.other)
        said = {
            "internal": f"{tx} found version {version} of {key}, but its own last operation on "
            "that key says otherwise",
            "G1a": f"{tx} read version {version} of {key}, which {other} had written, and {other} "
            "was aborted",
            "G1b": f"{tx} read version {version} of {key}, which {other} had written and then "
            "replaced itself",
            "garbage-read": f"{tx} read version {version} of {key}, which no transaction wrote",
            "dirty-update": f"{tx} wrote version {version} of {key} upon one of {other}, which "
            "was aborted",
            "incompatible-order": f"{tx} wrote version {version} of {key} after a later version of "
            "its own",
            "future-read": f"{tx} read version {version} of {key}, which it wrote only later",
            "missed-own-write": f"{tx} read version {version} of {key}, and not its own last "
            "write of that key",
            "fractured-read": f"{tx} saw a write of {other}, but read version {version} of "
            f"{key}, which is older than what {other} wrote there",
            "lost-update": f"{other} and {tx} both read version {version} of {key}, and both "
            "wrote the key: one update is lost",
        }[finding.type]
        txns = [finding.tx] if finding.other < 0 else [finding.tx, finding.other]
        return Anomaly(finding.type, tuple(sorted(txns)), (), said)

    def call(self, number: int) -> str:
        """The name of a transaction; "no transaction" for -1."""
        return "no transaction" if number < 0 else self._history.names.transaction(number)

    def edge(self, link: Link) -> str:
        """The name of an edge; `-predicate` and `-schema` say what it rests on."""
        name = NAMES[link.kind & DATA_SHOWN]
        if link.kind & RW and link.kind & PREDICATE_EDGE:
            name = "rw-predicate"
        elif link.why >= 0 and self._is_schema(link.why):
            name = f"{name}-schema"
        return name

    def _is_schema(self, op: int) -> bool:
        history = self._history
        return bool(history.kind[op] == SCHEMA or history.ddl[history.tx[op]])

    def because(self, link: Link) -> str:
        """Why an edge is there, by the operation or the instants that show it."""
        history = self._history
        source, target = self.call(link.source), self.call(link.target)
        if link.kind & REALTIME:
            ended, began = history.end[link.source], history.begin[link.target]
            return f"{source} had ended at {ended}, before {target} began at {began}"
        if link.kind & PROCESS:
            process = history.process[link.source]
            return f"process {process} invoked {source} before it invoked {target}"
        key = history.names.key(int(history.key[link.why]))
        what = f"version {history.version[link.why]} of {key}"
        kind = int(history.kind[link.why])
        if link.kind & WW:
            return f"{source} wrote {what}, and {target} the one after it"
        did = {SCHEMA: "ran under", PREDICATE: "took for absent"}.get(kind, "read")
        did = "precedes what followed" if KINDS[kind] == "precedes" else did
        if link.kind & WR:
            return f"{target} {did} {what}, which {source} had written"
        return f"{source} {did} {what}, and {target} wrote the one after it"


def _contradiction(steps: Sequence[Step], call: Namer) -> str:
    """The steps of a cycle as one sentence."""
    said = [f"{call(one.source)} < {call(one.target)}, because {one.because}" for one in steps]
    return f"{'; '.join(said[:-1])}; however, {said[-1]}: a contradiction"
