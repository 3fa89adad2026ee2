"""Anomalies of external histories in words: each edge with the operations that show it.

Of long lists only the end is printed (`...[n elements], 7, 8`): some have a million elements.
"""

from collections.abc import Callable

from ddlsim.foreign.inference.inference import Finding
from ddlsim.foreign.readers.brief import edn
from ddlsim.foreign.readers.entries import LARGEST
from ddlsim.foreign.readers.operations import READ
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.foreign.readers.workloads import LIST
from ddlsim.graph.cycles import Cycle
from ddlsim.graph.edges import NAMES, PROCESS, REALTIME, RW, WR, WW, Link
from ddlsim.graph.verdict import Anomaly, Step
from ddlsim.graph.words import argued


class Words:
    """Makes the sentences for one history."""

    def __init__(self, history: Transactions, workload: str, reason: Callable[[Link], str]) -> None:
        self._history = history
        self._reason = reason
        self._lists = workload == LIST

    def cycle(self, cycle: Cycle) -> Anomaly:
        """A cycle as an argument that contradicts itself, behind what its transactions did."""
        found = argued(cycle, self)
        return self._worded(cycle, found.steps, found.explanation) if found.steps else found

    def call(self, number: int) -> str:
        """The name of a transaction."""
        return self._history.name(number)

    def finding(self, finding: Finding) -> Anomaly:
        """A finding as an anomaly."""
        return self._worded(finding, (), finding.said)

    def _worded(self, what: Cycle | Finding, steps: tuple[Step, ...], said: str) -> Anomaly:
        """An anomaly; its explanation begins with what the transactions did, one a line."""
        did = tuple(map(self.transaction, what.txns))
        names = map(self._history.name, what.txns)
        lines = [f"{name} = {each}" for name, each in zip(names, did, strict=True)]
        return Anomaly(what.type, what.txns, steps, "\n".join([*lines, said]), did)

    def transaction(self, number: int) -> str:
        """The operations of a transaction, its process and its line."""
        history = self._history
        low, high = history.ops_of(number)
        between = " " if history.notation is edn else ", "
        said = between.join(self._operation(op) for op in range(low, high))
        line = history.lines[int(history.entry[number])]
        process = int(history.process[number])
        whose = f"process {process}" if process >= -LARGEST else "no process"
        return f"[{said}] ({whose}, line {line})"

    def _operation(self, op: int) -> str:
        history = self._history
        name = "r" if history.kind[op] == READ else "append" if self._lists else "w"
        return history.operation(name, op)

    def _key(self, op: int) -> str:
        return self._history.key_text(op)

    def edge(self, link: Link) -> str:
        """The name of an edge."""
        kind = link.kind & (WW | WR | RW)
        return NAMES[kind] if kind else NAMES[link.kind & (PROCESS | REALTIME)]

    def because(self, link: Link) -> str:
        """Why an edge is there: the operations, or the order, that show it."""
        history = self._history
        source, target = history.name(link.source), history.name(link.target)
        if not link.kind & (WW | WR | RW):
            if link.kind & REALTIME:
                return f"{source} had completed before {target} was invoked"
            process = int(history.process[link.source])
            return f"process {process} did {source} before {target}"
        said = self._data(link)
        reason = self._reason(link)
        return f"{said}: {reason}" if reason else said

    def _data(self, link: Link) -> str:
        history = self._history
        source, target = history.name(link.source), history.name(link.target)
        number, key = int(history.key[link.why]), f"key {self._key(link.why)}"
        seen = history.value_text(link.why)
        one, other = self._wrote(link.source, number), self._wrote(link.target, number)
        verb = "appended" if self._lists else "wrote"
        if link.kind & WR:
            return f"{target} read {seen} at {key}, and {source} {verb} {one}"
        newer = f"which is older than the {other} that {target} {verb}"
        if link.kind & RW:
            return f"{source} read {seen} at {key}, {newer}"
        return f"{source} {verb} {one} at {key}, {newer}"

    def _wrote(self, tx: int, key: int) -> str:
        """The values that a transaction wrote to a key."""
        history = self._history
        low, high = history.ops_of(tx)
        found = [
            history.value_text(op)
            for op in range(low, high)
            if history.key[op] == key and history.kind[op] != READ
        ]
        return ", ".join(found)
