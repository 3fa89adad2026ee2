"""Jepsen's histories judged: read, inferred by their workload, searched for cycles, named.

Graph, search and the models' names are those of `ddlsim.graph`; here is only what a history
without timestamps and version orders needs more: what may be inferred, and when the answer is
"unknown".
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from ddlsim import files
from ddlsim.foreign.inference import (
    atomic,
    completion,
    list_findings,
    lists,
    open_orders,
    registers,
    serial,
)
from ddlsim.foreign.inference.inference import Finding, Inferred, session_edges
from ddlsim.foreign.inference.reasons import Reasons
from ddlsim.foreign.readers import edn, json_lines
from ddlsim.foreign.readers.entries import LARGEST
from ddlsim.foreign.readers.problems import ForeignError, told
from ddlsim.foreign.readers.transactions import Transactions, transactions_of
from ddlsim.foreign.readers.workloads import LIST, workload_of
from ddlsim.foreign.words import Words
from ddlsim.graph.cycles import BUDGET, Cycle, Search, find_cycles, with_other_names
from ddlsim.graph.edges import Edges
from ddlsim.graph.history import ABORTED, COMMITTED, NONE, UNKNOWN, Array
from ddlsim.graph.models import DEFAULT, MODELS, Model, model_of
from ddlsim.graph.names import split
from ddlsim.graph.verdict import Answer, Verdict, counts_of, first_of_each

HEAD: Final = 4096
STRICT: Final = MODELS[DEFAULT]
EARLY: Final = 100
"""By so many entries of the history reads of the past are looked for."""
MOST_TRIES: Final = 8
"""Orders of the versions of registers that are tried before the answer is "unknown"."""
MOST_TRIED: Final = 40_000
"""Of all these tries together, so many transactions; one try is made in any case."""
TRY_BUDGET: Final = 5_000
"""Edges looked at in one component of an order that is tried: any cycle shows what to turn."""


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
        if (why := files.unfit(path, files.HISTORY_MOST)) is not None:
            raise ForeignError(path, 0, why)
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


@dataclass(slots=True)
class Found:
    """What a history shows under a model: findings, cycles, and why it may still hide something."""

    inferred: Inferred
    cycles: list[Cycle]
    notes: tuple[str, ...]
    reasons: Reasons | None = None

    @property
    def every(self) -> list[Finding | Cycle]:
        """All anomalies."""
        return [*self.inferred.findings, *self.cycles]

    def breaks(self, model: Model, status: Array) -> bool:
        """Whether anything of it breaks a model."""
        return any(_breaks(one, model, status) for one in self.every)


def _breaks(one: Finding | Cycle, model: Model, status: Array) -> bool:
    """Whether an anomaly breaks a model.

    Who is indeterminate and was read has happened, unless reads of what was undone are allowed:
    so its place in a cycle says nothing of read-uncommitted.
    """
    if one.weakest:
        return model.implies(model_of(one.weakest))
    undone = isinstance(one, Cycle) and any(status[tx] != COMMITTED for tx in one.txns)
    return model.forbids_type(one.type) and not (undone and model.name == "read-uncommitted")


def _needs_time(one: Finding | Cycle) -> bool:
    """Whether an anomaly rests on the order in which the history stands."""
    return bool(split(one.type)[1] or (one.weakest and model_of(one.weakest).level))


def judge(history: Transactions, model: str, path: str = "history") -> Judged:
    """Whether a history keeps to a model; `ForeignError` if its operations do not go together."""
    wanted = model_of(model)
    workload = workload_of(history, path)
    found = _found(history, workload, wanted)
    words = Words(history, workload, found.reasons)
    broken = _weaker(history, workload, wanted, found)
    return Judged(_verdict(history, found, words, wanted, broken, path), workload, history)


def _found(history: Transactions, workload: str, model: Model) -> Found:
    """What a history shows, without what its damage may have made."""
    found = _of_lists(history, model) if workload == LIST else _of_registers(history, model)
    inferred = found.inferred
    if history.cut and any(one.type == "garbage-read" for one in inferred.findings):
        inferred.open.append(
            "values that no entry wrote were read; entries that are lost may have written them"
        )
        inferred.findings = [one for one in inferred.findings if one.type != "garbage-read"]
    if history.untimed and model.level:
        inferred.open.append("indices stand there twice, so the order in time is not certain")
        inferred.findings = [one for one in inferred.findings if not _needs_time(one)]
        found.cycles = [one for one in found.cycles if not _needs_time(one)]
    return found


def _weaker(history: Transactions, workload: str, model: Model, found: Found) -> frozenset[str]:
    """Models weaker than the one asked for that are broken too, where only that one was judged.

    What contradicts itself under a model breaks that one; whether it was needed is not known.
    """
    status = history.status
    if not any(one.weakest == model.name for one in found.every):
        return frozenset()
    weaker = [one for one in MODELS.values() if model.implies(one) and one is not model]
    return frozenset(
        one.name
        for one in weaker
        if found.breaks(one, status) or _found(history, workload, one).breaks(one, status)
    )


def _of_lists(history: Transactions, model: Model) -> Found:
    known = lists.infer(history, model)
    inferred = known.inferred
    search = search_of(history, inferred, model)
    cycles = with_other_names(search.cycles, history.key)
    found = Found(inferred, cycles, search.notes)
    named = any(one.type == "fractured-read" for one in cycles)
    below = model.name in {"read-committed", "read-atomic"}
    if below or (cycles and not named and model.name != "read-uncommitted"):
        parts = list_findings.fractured(known.lists, inferred)
        if parts is None and model.name == "read-atomic":
            inferred.open.append(
                "transactions have too many keys: not all they saw of each other was compared"
            )
        inferred.findings += parts or []
    if _is_snapshot(model) and not found.breaks(model, history.status):
        _order_appends(known, model)
    return found


def _is_snapshot(model: Model) -> bool:
    return "G-single" in model.forbids and "G2-item" not in model.forbids


def _serial(model: Model) -> Model:
    """The model that allows no cycle in the same orders."""
    return next(
        one for one in MODELS.values() if "G2-item" in one.forbids and one.level == model.level
    )


def _order_appends(known: lists.Known, model: Model) -> None:
    """Under snapshot isolation: whether appends that no read shows have any order.

    Where the graph has no cycle at all, an order of all transactions puts them in place too.
    """
    history, inferred = known.lists.history, known.inferred
    rank = np.where(history.end >= 0, history.end, history.begin)
    more = lists.in_turn(known, rank)
    if not len(more) or not search_of(history, inferred, _serial(model), rank).components:
        return
    tried = search_of(history, Inferred(inferred.node, [*inferred.blocks, more]), model)
    if not tried.components:
        return
    blocks = [*inferred.blocks, session_edges(history, inferred.node)]
    settled = open_orders.of_lists(known, model, blocks if model.level else inferred.blocks)
    inferred.findings += settled.found
    if settled.valid is None:
        inferred.open.append(
            "the order of appends that nobody read does not follow, and the one that was tried "
            "does not explain the history; a valid one may exist or not"
        )


def _of_registers(history: Transactions, model: Model) -> Found:
    known = registers.infer(history, model)
    inferred, status = known.inferred, history.status
    reasons = Reasons(known.registers)
    search = search_of(history, inferred, model)
    found = Found(inferred, with_other_names(search.cycles, history.key), search.notes, reasons)
    if model.name == "read-uncommitted":
        return found
    if not any(one.type == "fractured-read" for one in found.cycles):
        findings, cycles = atomic.fractured(known.registers)
        inferred.findings += findings
        found.cycles += cycles
    if not model.forbids_type("G-single") or found.breaks(model, status):
        return found
    more = Inferred(inferred.node, registers.assumed(known.registers, model))
    more.blocks.append(known.registers.wr())
    registers.leave_out(known.registers, inferred)
    contradiction = search_of(history, more, model)
    if contradiction.cycles:
        found.cycles += [
            replace(one, type="cyclic-versions", weakest=model.name) for one in contradiction.cycles
        ]
    else:
        _order_versions(known, more, model)
    return found


def _order_versions(known: registers.Known, more: Inferred, model: Model) -> None:
    """Whether the versions of registers have an order that explains everything."""
    open_ = _open_orders(known, more, model)
    if not open_:
        return
    asked = [model, *(one for one in MODELS.values() if model.implies(one) and one is not model)]
    for one in asked:
        if one.forbids_type("G-single"):
            settled = open_orders.of_registers(known, one)
            known.inferred.findings += settled.found
            if settled.valid is False or (settled.valid and one is model):
                return
    known.inferred.open += open_


def search_of(
    history: Transactions,
    inferred: Inferred,
    model: Model,
    rank: Array | None = None,
    budget: int = BUDGET,
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
    return find_cycles(len(history), blocks, begin, end, rank=rank, model=model.name, budget=budget)


def _open_orders(known: registers.Known, more: Inferred, model: Model) -> list[str]:
    """Why registers may hide anomalies: no order of their versions that was tried explains all."""
    mine = known.registers
    if any(not _tried(mine, more, model, place).components for place in _rows(mine, more, model)):
        return []
    turned: set[tuple[int, int]] = set()
    for _ in range(max(1, min(MOST_TRIES, MOST_TRIED // max(1, len(mine.history))))):
        place = completion.order_of(mine, more, model, turned)
        search = _tried(mine, more, model, place)
        if not search.components:
            return []
        again = completion.to_turn(mine, more, search.cycles)
        if again <= turned:
            break
        turned |= again
    why = (
        "the order of the versions of registers does not follow from what was read, and the one "
        "that was tried does not explain the history; a valid one may exist or not"
    )
    return [why]


def _rows(mine: registers.Registers, more: Inferred, model: Model) -> Iterator[Array]:
    """Orders of transactions that may explain a history, the plainest first."""
    in_turn = session_edges(mine.history, mine.node)
    strict = more.blocks if model.level > 1 else [mine.wr(), *registers.assumed(mine, STRICT)]
    asked = [([*strict, in_turn], 0)]
    if model.level < 2:
        asked.append(([*more.blocks, *([in_turn] if model.level else [])], EARLY))
    for blocks, early in asked:
        for apart in (False, True) if _is_snapshot(model) else (False,):
            place = serial.order_of(mine, blocks, apart=apart, early=early)
            if place is not None:
                yield place


def _tried(mine: registers.Registers, more: Inferred, model: Model, place: Array) -> Search:
    """The cycles that there are if versions follow each other as their writers in a row."""
    pairs = completion.all_pairs(mine, place)
    blocks = [mine.wr(), *mine.from_pairs(pairs)]
    rank = np.where(place >= 0, place, len(place))
    return search_of(mine.history, Inferred(more.node, blocks), model, rank, TRY_BUDGET)


def _verdict(
    history: Transactions,
    found: Found,
    words: Words,
    model: Model,
    broken: frozenset[str],
    path: str,
) -> Verdict:
    doubts = list(found.inferred.open)
    findings, cycles = found.inferred.findings, found.cycles
    doubts += _untold(history, found.inferred.node, model)
    doubts += ["not all of the history could be read or understood"] if history.troubles else []
    every: list[Finding | Cycle] = [*findings, *cycles]
    anomalies = [words.finding(one) for one in first_of_each(findings)]
    anomalies += [words.cycle(one) for one in first_of_each(cycles)]
    ruled_out = tuple(
        name
        for name, other in MODELS.items()
        if any(_breaks(one, other, history.status) for one in every)
        or any(other.implies(model_of(one)) for one in broken)
    )
    valid: Answer = model.name not in ruled_out
    if valid and doubts:
        valid = "unknown"
    notes = (*doubts, *found.notes, *told(history.troubles, path))
    return Verdict(
        model.name, valid, tuple(anomalies), tuple(counts_of(every).items()), ruled_out, "", notes
    )


def _untold(history: Transactions, node: Array, model: Model) -> list[str]:
    """What the orders that a model asks for need, and the file does not tell."""
    if model.level == 1 and bool((history.process[node] < -LARGEST).any()):
        return ["some transactions tell no process, so it is not known what came before them"]
    if model.level > 1 and bool((history.begin[node] < 0).any()):
        return ["some transactions have no invocation, so it is not known when they began"]
    return []
