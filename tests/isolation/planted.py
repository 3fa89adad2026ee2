"""Faults planted in the judge, one by one: the comparison with the oracle has to see each.

python -m tests.isolation.planted

tells for each fault the first seed of the default sample that shows it (exit 1 if there is none).
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

import numpy as np

from ddlsim.foreign import jepsen
from ddlsim.foreign.inference import (
    atomic,
    inference,
    list_findings,
    lists,
    open_orders,
    register_findings,
    registers,
    rw_register,
)
from ddlsim.foreign.inference.solver import Answer
from ddlsim.foreign.readers import entries
from ddlsim.foreign.readers.operations import ONE, READ
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.graph import models
from ddlsim.graph.cycles import Search
from ddlsim.graph.edges import PROCESS, RW, WR, Edges, joined
from tests.isolation import agree

SAMPLE: Final = (*range(110), 194, 237, 274)
"""The seeds of the default test: the smallest, and some that show what these do not."""
Fault = Callable[[], Any]


def _ends_as(told: int, type_: int) -> Fault:
    """Entries of one type count as those of another."""
    plain = jepsen.transactions_of

    def fault(table: entries.Table) -> Transactions:
        return plain(replace(table, types=np.where(table.types == told, type_, table.types)))

    return lambda: patch.object(jepsen, "transactions_of", fault)


@contextmanager
def _without(type_: str) -> Iterator[None]:
    """No finding of a type."""
    verdict = jepsen._verdict

    def fault(history: Any, found: inference.Found, *rest: Any) -> Any:
        kept = [one for one in found.findings if one.type != type_]
        found.findings = kept
        return verdict(history, found, *rest)

    with patch.object(jepsen, "_verdict", fault):
        yield


@contextmanager
def _without_edges(kind: int) -> Iterator[None]:
    """No edge of a kind in any graph."""
    plain = inference.find_cycles

    def fault(n: int, blocks: list[Edges], *rest: Any, **more: Any) -> Search:
        kept = [one.take((one.kind & kind) == 0) for one in blocks]
        return plain(n, kept, *rest, **more)

    with patch.object(inference, "find_cycles", fault):
        yield


@contextmanager
def _without_time() -> Iterator[None]:
    plain = inference.find_cycles

    def fault(n: int, blocks: list[Edges], begin: Any, end: Any, **more: Any) -> Search:
        return plain(n, blocks, None, None, **more)

    none = registers.Pairs(*(np.empty(0, np.int64) for _ in range(3)))
    with (
        patch.object(inference, "find_cycles", fault),
        patch.object(registers, "_in_time", lambda *_: none),
        patch.object(open_orders, "_in_time", lambda *_: []),
    ):
        yield


@contextmanager
def _models_swapped(one: str, other: str) -> Iterator[None]:
    both = models.MODELS[one], models.MODELS[other]
    swapped = {
        one: replace(both[0], forbids=both[1].forbids),
        other: replace(both[1], forbids=both[0].forbids),
    }
    with patch.dict(models.MODELS, swapped):
        yield


@contextmanager
def _nil_is_a_value() -> Iterator[None]:
    init = registers.Registers.__init__

    def fault(self: registers.Registers, history: Any) -> None:
        init(self, replace(history, form=np.where(history.kind == READ, history.form, ONE)))

    with patch.object(registers.Registers, "__init__", fault):
        yield


@contextmanager
def _initial_ignored() -> Iterator[None]:
    init = registers.Registers.__init__

    def fault(self: registers.Registers, history: Any) -> None:
        init(self, history)
        reads = self.read[~self.initial[self.version[self.read]]]
        self.read = reads

    with patch.object(registers.Registers, "__init__", fault):
        yield


def _nothing(where: Any, name: str, what: Any) -> Fault:
    return lambda: patch.object(where, name, lambda *_, **__: what)


FAULTS: Final[dict[str, tuple[int, Fault]]] = {
    "an indeterminate transaction has happened": (9, _ends_as(entries.INFO, entries.OK)),
    "an indeterminate transaction has failed": (89, _ends_as(entries.INFO, entries.FAIL)),
    "a failed transaction is indeterminate": (54, _ends_as(entries.FAIL, entries.INFO)),
    "reads of what failed are not seen": (5, lambda: _without("G1a")),
    "reads of intermediate states are not seen": (22, lambda: _without("G1b")),
    "values out of nothing are not seen": (10, lambda: _without("garbage-read")),
    "reads of own later writes are not seen": (45, lambda: _without("future-read")),
    "missed own writes are not seen": (19, lambda: _without("missed-own-write")),
    "contradictions within a transaction are not seen": (35, lambda: _without("internal")),
    "orders of lists that differ are not seen": (1, lambda: _without("incompatible-order")),
    "fractured reads of lists are not seen": (274, _nothing(list_findings, "fractured", [])),
    "fractured reads of registers are not seen": (24, _nothing(atomic, "fractured", ([], []))),
    "sessions have no order": (44, lambda: _without_edges(PROCESS)),
    "real time does not count": (97, _without_time),
    "no anti-dependencies": (21, lambda: _without_edges(RW)),
    "no write-read dependencies": (44, lambda: _without_edges(WR)),
    "no order of appends that nobody read": (64, _nothing(lists.Slots, "unseen", joined([]))),
    "the initial state is not read": (77, _initial_ignored),
    "nil that is written is a value like others": (237, _nil_is_a_value),
    "snapshot isolation is serializable": (
        21, lambda: _models_swapped("snapshot-isolation", "serializable")),
    "read committed is read atomic": (24, lambda: _models_swapped("read-committed", "read-atomic")),
    "transactions of keyword processes are passed over": (
        25, _nothing(entries.Entries, "_is_passed", True)),
    "an order of versions is taken to exist": (194, _nothing(rw_register, "_has_order", True)),
    "no order is sought where some are open": (
        194, _nothing(open_orders.solver, "solve", Answer(valid=True))),
    "dirty reads of registers are not looked for": (5, _nothing(register_findings, "_reads", [])),
    "what began is not known, and that is no doubt": (36, _nothing(jepsen, "_missing", [])),
}  # fmt: skip
"""What is planted, by what it makes of the judge, and a seed of the sample that shows it."""


def shown_by(fault: Fault, seeds: Iterable[int] = SAMPLE) -> int | None:
    """The first seed that shows a fault, by a wrong answer or a needless "unknown"."""
    with fault():
        for seed in seeds:
            found = agree.compared([seed])
            if found.wrong or found.open[False]:
                return seed
    return None


def main() -> int:
    """Plant each."""
    missed = 0
    for name, (_, fault) in FAULTS.items():
        seed = shown_by(fault)
        missed += seed is None
        sys.stdout.write(f"{'MISSED' if seed is None else f'seed {seed}':10}{name}\n")
        sys.stdout.flush()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
