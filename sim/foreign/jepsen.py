"""Jepsen's histories judged: read, inferred by their workload, searched for cycles, named.

Graph, search and the models' names are those of `sim.columns`; here is only what a history without
timestamps and version orders needs more: what may be inferred, and when the answer is "unknown".
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from sim.columns.classify import other_names
from sim.columns.cycles import Cycle, Search, find_cycles
from sim.columns.edges import Edges
from sim.columns.history import ABORTED, COMMITTED, NONE, UNKNOWN, Array
from sim.columns.models import Model, model_of, ruled_out
from sim.columns.verdict import KEPT_OF_A_KIND, Answer, Verdict
from sim.foreign import completion, edn, json_lines, lists, registers
from sim.foreign.inference import Inferred, session_edges
from sim.foreign.problems import ForeignError, told
from sim.foreign.transactions import Transactions, transactions_of
from sim.foreign.words import Words
from sim.foreign.workloads import LIST, workload_of

HEAD: Final = 4096
MOST_TRIES: Final = 8
"""Orders of the versions of registers that are tried before the answer is "unknown"."""


class Judged(NamedTuple):
    """A verdict with what it is about."""

    verdict: Verdict
    workload: str
    history: Transactions

    @property
    def counts(self) -> dict[str, int]:
        """How many transactions ended how."""
        status = self.history.status
        return {
            "committed": int((status == COMMITTED).sum()),
            "failed": int((status == ABORTED).sum()),
            "unknown": int((status == UNKNOWN).sum()),
        }


def recognises(head: bytes) -> bool:
    """Whether a file that begins so is a Jepsen history."""
    return edn.is_edn(head) or json_lines.is_json(head)


def load(path: str) -> Transactions:
    """The transactions of a file; `ForeignError` if there is nothing to be judged in it."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ForeignError(path, 0, f"cannot be read ({why}); give a Jepsen history") from error
    return parse(data, path)


def parse(data: bytes, path: str = "history") -> Transactions:
    """The same from its bytes; `path` is only what errors call it."""
    if not data.strip():
        raise ForeignError(path, 0, "is empty; give a Jepsen history")
    head = data[:HEAD]
    if edn.is_edn(head):
        entries = edn.read(data)
    elif json_lines.is_json(head):
        entries = json_lines.read(data)
    else:
        raise ForeignError(
            path, 1, "is no Jepsen history: an EDN map such as {:type :invoke, :f :txn, :value "
            "[[:append 5 1]], :process 0} was expected, or the same as JSON",
        )  # fmt: skip
    history = transactions_of(entries)
    if not len(history) or (history.troubles and not len(history.tx)):
        line = history.troubles[0].line if history.troubles else 0
        why = f"; the first entry that cannot be used: {history.troubles[0].what}" if line else ""
        raise ForeignError(path, line, f"holds no transaction of lists or registers{why}")
    return history


def judge(history: Transactions, model: str, path: str = "history") -> Judged:
    """Whether a history keeps to a model; `ForeignError` if its operations do not go together."""
    wanted = model_of(model)
    workload = workload_of(history, path)
    if workload == LIST:
        inferred = lists.infer(history)
        search = search_of(history, inferred, wanted)
    else:
        known = registers.infer(history, wanted)
        inferred = known.inferred
        search = search_of(history, inferred, wanted)
        if not search.cycles:
            inferred.open += _open_orders(known, wanted)
    words = Words(history, workload)
    return Judged(_verdict(history, inferred, search, words, wanted, path), workload, history)


def search_of(
    history: Transactions, inferred: Inferred, model: Model, rank: Array | None = None
) -> Search:
    """The cycles among what was inferred, in the orders that a model asks for."""
    blocks: list[Edges] = list(inferred.blocks)
    begin = end = None
    if model.level:
        blocks.append(session_edges(history, inferred.node))
    if model.level > 1:
        begin = np.where(inferred.node, history.begin, NONE)
        end = np.where(inferred.node, history.end, NONE)
    if rank is None:
        rank = np.where(history.end >= 0, history.end, history.begin)
    return find_cycles(len(history), blocks, begin, end, rank=rank, model=model.name)


def _open_orders(known: registers.Known, model: Model) -> list[str]:
    """Why registers may hide anomalies: no order of their versions that was tried explains all."""
    history, inferred = known.registers.history, known.inferred
    turned: set[tuple[int, int]] = set()
    for _ in range(MOST_TRIES):
        place = completion.order_of(known.registers, inferred, model, turned)
        pairs = completion.all_pairs(known.registers, place)
        blocks = [known.registers.wr(), *known.registers.from_pairs(pairs)]
        rank = np.where(place >= 0, place, len(history))
        search = search_of(history, Inferred(inferred.node, blocks), model, rank)
        if not search.components:
            return []
        more = completion.to_turn(known.registers, inferred, search.cycles)
        if more <= turned:
            break
        turned |= more
    why = (
        "the order of the versions of registers does not follow from what was read, and the one "
        "that was tried does not explain the history; a valid one may exist or not"
    )
    return [why]


def _verdict(
    history: Transactions, inferred: Inferred, search: Search, words: Words, model: Model, path: str
) -> Verdict:
    doubts = list(inferred.open)
    findings = inferred.findings
    if history.cut and any(one.type == "garbage-read" for one in findings):
        doubts.append(
            "values that nobody wrote were read; entries that are lost may have written them"
        )
        findings = [one for one in findings if one.type != "garbage-read"]
    if history.untimed and model.level:
        doubts.append("indices stand there twice, so the order in time is not certain")
    if model.level > 1 and bool((history.begin[inferred.node] < 0).any()):
        doubts.append("some transactions have no invocation, so it is not known when they began")
    doubts += ["not all of the history could be read or understood"] if history.troubles else []
    cycles = _with_other_names(history, search)
    counts: dict[str, int] = {}
    for type_ in [*(one.type for one in findings), *(one.type for one in cycles)]:
        counts[type_] = counts.get(type_, 0) + 1
    anomalies = [words.finding(one) for one in _first(findings)]
    anomalies += [words.cycle(one) for one in _first(cycles)]
    valid: Answer = not any(model.forbids_type(type_) for type_ in counts)
    if valid and doubts:
        valid = "unknown"
    notes = (*doubts, *search.notes, *told(history.troubles, path))
    return Verdict(
        model.name, valid, tuple(anomalies), tuple(counts.items()), ruled_out(counts), "", notes
    )


def _with_other_names(history: Transactions, search: Search) -> list[Cycle]:
    """The cycles, and once more those that have a name besides."""
    found: list[Cycle] = []
    for cycle in search.cycles:
        found.append(cycle)
        names = other_names(cycle.links, lambda link: int(history.key[link.why]))
        found += [Cycle(name, cycle.links) for name in names]
    return found


def _first(found: Iterable[Any]) -> list[Any]:
    """The first few of each type."""
    seen: dict[str, int] = {}
    kept = []
    for one in found:
        seen[one.type] = seen.get(one.type, 0) + 1
        if seen[one.type] <= KEPT_OF_A_KIND:
            kept.append(one)
    return kept
