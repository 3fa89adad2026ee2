"""For any requests and ends: no two incompatible holders, no circle of waits, nothing left behind.

The model is as naive as can be: it holds sets of modes, asks every pair of transactions, and keeps
the order in which requests came.
"""

from collections import deque
from itertools import combinations
from typing import Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ddlsim.kernel.engine import Future
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.transaction.locks import IX, LockTable, Resource, S, X
from ddlsim.units import Timestamp

TXS = [
    TxId(Timestamp(begin), ordinal, f"{begin}.{ordinal}")
    for begin in (1, 2, 3)
    for ordinal in (0, 1)
]
RESOURCES: list[Resource] = [(1, 0, None), (1, 0, 7), (1, 0, 8)]


def together(one: int, other: int) -> bool:
    """Whether two transactions can hold these modes at the same time."""
    return {one, other} in ({S}, {IX})


class Wanted(NamedTuple):
    """A request that waits, and what it will be told."""

    tx: TxId
    mode: int
    told: Future[bool]


class Model:
    """One resource."""

    def __init__(self) -> None:
        self.held: dict[TxId, set[int]] = {}
        self.queue: list[Wanted] = []

    def conflicting(self, tx: TxId, mode: int) -> list[TxId]:
        """Who holds what cannot be held together with it."""
        return [
            other
            for other, modes in self.held.items()
            if other != tx and not all(together(held, mode) for held in modes)
        ]

    def ahead(self, tx: TxId, mode: int, before: list[Wanted]) -> list[TxId]:
        """Who waits before it for what cannot be held together with it."""
        return [one.tx for one in before if one.tx != tx and not together(one.mode, mode)]


class Locking(RuleBasedStateMachine):
    """Six transactions, two of each age, and three resources."""

    def __init__(self) -> None:
        super().__init__()
        self.locks = LockTable(lambda: Future(deque()))
        self.models = {resource: Model() for resource in RESOURCES}

    @rule(
        tx=st.sampled_from(TXS),
        resource=st.sampled_from(RESOURCES),
        mode=st.sampled_from([S, X, IX]),
    )
    def acquire(self, tx: TxId, resource: Resource, mode: int) -> None:
        model = self.models[resource]
        answer: Any = self.locks.acquire(tx, resource, mode)
        held = model.held.get(tx, set())
        if mode in held or X in held:
            assert answer is True
            return
        blockers = model.conflicting(tx, mode)
        if not held:
            blockers += model.ahead(tx, mode, model.queue)
        if not blockers:
            assert answer is True
            model.held.setdefault(tx, set()).add(mode)
        elif any(other < tx for other in blockers):
            assert answer is False
        else:
            assert not isinstance(answer, bool)
            assert not answer.done
            place = 0 if held else len(model.queue)
            model.queue.insert(place, Wanted(tx, mode, answer))

    @rule(tx=st.sampled_from(TXS))
    def end(self, tx: TxId) -> None:
        self.locks.release_all(tx)
        for model in self.models.values():
            mine = [one for one in model.queue if one.tx == tx]
            model.queue = [one for one in model.queue if one.tx != tx]
            model.held.pop(tx, None)
            assert all(one.told.done and not one.told.value for one in mine)
            while model.queue and not model.conflicting(*model.queue[0][:2]):
                first = model.queue.pop(0)
                model.held.setdefault(first.tx, set()).add(first.mode)
                assert first.told.done
                assert first.told.value

    @invariant()
    def the_table_holds_what_the_model_holds(self) -> None:
        """Every mode of everyone, nothing more, and nobody is told too early."""
        for resource, model in self.models.items():
            for tx in TXS:
                assert self.locks.holds(tx, resource) == sum(model.held.get(tx, set()))
            assert not any(one.told.done for one in model.queue)
        anything = any(model.held or model.queue for model in self.models.values())
        assert self.locks.any_held == anything

    @invariant()
    def no_two_incompatible_holders(self) -> None:
        for resource in RESOURCES:
            for one, other in combinations(TXS, 2):
                modes = [
                    {mode for mode in (S, X, IX) if self.locks.holds(tx, resource) & mode}
                    for tx in (one, other)
                ]
                assert all(together(a, b) for a in modes[0] for b in modes[1])

    @invariant()
    def everybody_waits_for_younger_ones_only(self) -> None:
        """So there is never a circle: neither by holders nor by those ahead in the queue."""
        for model in self.models.values():
            for place, one in enumerate(model.queue):
                awaited = model.conflicting(one.tx, one.mode)
                awaited += model.ahead(one.tx, one.mode, model.queue[:place])
                assert all(other > one.tx for other in awaited), (one, awaited)
                assert awaited or place, f"{one} waits for nobody"

    def teardown(self) -> None:
        """The youngest ends first, as waits demand: then nothing is left."""
        for tx in sorted(TXS, reverse=True):
            self.end(tx)
        assert not self.locks.any_held
        for resource in RESOURCES:
            assert self.locks.acquire(TXS[-1], resource, X) is True


Locking.TestCase.settings = settings(stateful_step_count=60)
TestLocking = Locking.TestCase
