"""What a register history shows under a model.

That it shows no anomaly does not make it valid: orders of versions that are not known hide cycles.
So an order that explains everything is sought: by executions (`serial`), and in small histories
among all orders (`open_orders`).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from ddlsim.foreign.inference import atomic, open_orders, register_findings, serial
from ddlsim.foreign.inference.inference import (
    Found,
    is_snapshot,
    search_of,
    session_edges,
    weaker_than,
)
from ddlsim.foreign.inference.reasons import Reasons
from ddlsim.foreign.inference.registers import Registers, assumed, in_row, known_order
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.graph.cycles import Search
from ddlsim.graph.edges import Edges
from ddlsim.graph.history import COMMITTED, Array
from ddlsim.graph.models import DEFAULT, MODELS, Model

STRICT: Final = MODELS[DEFAULT]
EARLY: Final = 100
"""How many entries of the history a transaction may read in the past, in executions tried."""
TRY_BUDGET: Final = 5_000
"""Edges visited in one component of an order that is tried: any cycle will do."""


def found(history: Transactions, model: Model) -> Found:
    """Its findings and cycles, and what remains open."""
    registers = Registers(history)
    shown = _inferred(registers, model)
    shown.because = Reasons(registers).of
    shown.search(history, model)
    if model.name == "read-uncommitted":
        return shown
    if not any(one.type == "fractured-read" for one in shown.cycles):
        findings, cycles = atomic.fractured(registers)
        shown.findings += findings
        shown.cycles += cycles
    if not model.forbids_type("G-single") or shown.breaks(model, history.status):
        return shown
    blocks = [*assumed(registers, model), registers.wr()]
    _leave_out(registers, shown)
    contradiction = search_of(history, registers.node, blocks, model)
    if contradiction.cycles:
        shown.cycles += [
            replace(one, type="cyclic-versions", weakest=model.name) for one in contradiction.cycles
        ]
    elif not _has_order(registers, blocks, model):
        _search_all_orders(registers, shown, model)
    return shown


def _inferred(registers: Registers, model: Model) -> Found:
    """Edges and findings, as far as they are facts."""
    history = registers.history
    uncommitted = model.name == "read-uncommitted"
    shown = Found(history.status == COMMITTED if uncommitted else registers.node)
    if len(registers.twice):
        op = int(registers.twice[0])
        shown.open.append(
            f"{len(registers.twice)} writes of a value that its key had before, the "
            f"first one {history.value_text(op)} to key "
            f"{history.key_text(op)} by {history.name(int(history.tx[op]))}: "
            "whose value was read is not certain"
        )
    if not uncommitted:
        shown.blocks = [registers.wr()]
    if model.forbids_type("G-single"):
        shown.blocks.append(registers.overwritten(known_order(registers, model)))
    register_findings.find(registers, shown)
    _leave_out(registers, shown)
    return shown


def _leave_out(registers: Registers, shown: Found) -> None:
    """Say of which keys not every pair was compared."""
    shown.leave_out(map(registers.key_name, registers.dropped))
    registers.dropped.clear()


def _search_all_orders(registers: Registers, shown: Found, model: Model) -> None:
    """Whether any order of versions explains everything, under the model and weaker ones.

    Adds a finding for each model under which none does; else says that it was not decided.
    """
    for one in (model, *weaker_than(model)):
        if one.forbids_type("G-single"):
            settled = open_orders.of_registers(registers, one)
            shown.findings += settled.found
            if settled.valid is False or (settled.valid and one is model):
                return
    shown.open.append(
        "the order of the versions of registers does not follow from what was read, and the one "
        "that was tried does not explain the history; a valid one may exist or not"
    )


def _has_order(registers: Registers, blocks: list[Edges], model: Model) -> bool:
    """Whether one of the orders of versions that are tried explains everything."""
    rows = _rows(registers, blocks, model)
    return any(not _tried(registers, model, place).components for place in rows)


def _rows(registers: Registers, blocks: list[Edges], model: Model) -> Iterator[Array]:
    """Orders of transactions that may explain a history, the plainest first."""
    in_turn = session_edges(registers.history, registers.node)
    strict = blocks if model.level > 1 else [registers.wr(), *assumed(registers, STRICT)]
    tried = [([*strict, in_turn], 0)]
    if model.level < 2:
        tried.append(([*blocks, *([in_turn] if model.level else [])], EARLY))
    for known, early in tried:
        for apart in (False, True) if is_snapshot(model) else (False,):
            place = serial.order_of(registers, known, apart=apart, early=early)
            if place is not None:
                yield place


def _tried(registers: Registers, model: Model, place: Array) -> Search:
    """The cycles that there are if versions follow each other as their writers in a row."""
    pairs = in_row(registers, place)
    blocks = [registers.wr(), *registers.from_pairs(pairs)]
    rank = np.where(place >= 0, place, len(place))
    return search_of(registers.history, registers.node, blocks, model, rank, TRY_BUDGET)
