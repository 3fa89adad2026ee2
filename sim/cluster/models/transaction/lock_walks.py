"""A lock table beside a run, driven through an arbitrary order of requests and ends.

In a run few transactions wait for one lock at a time, and seldom does one give up that others wait
behind. So beside each run a table of its own is asked for a few locks by a few transactions, in an
order that follows from the run's seed. It is compared with its model at each call.
"""

from collections import deque
from typing import Final

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.transaction.locks import ModelledLocks
from ddlsim.kernel.engine import Future
from ddlsim.kernel.rng import mix
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.transaction.locks import IX, Resource, S, X
from ddlsim.units import Timestamp

STEPS: Final = 200
"""How many calls a table takes beside a run."""
TRANSACTIONS: Final = tuple(TxId(Timestamp(number), 0, f"T{number}") for number in range(1, 7))
RESOURCES: Final[tuple[Resource, ...]] = ((1, 0, (7,)), (1, 1, None))
MODES: Final = (S, S, X, IX)


def walk_locks(models: Models, seed: int) -> None:
    """Compare a lock table beside the run of this seed."""
    own = Models(models.record, models.loop)
    own.starting = "walk, locks"
    kind: type[ModelledLocks] = type("Locks", (ModelledLocks,), {"models": own})
    locks = kind(lambda: Future[bool](deque()))
    for step in range(STEPS):
        number = mix(mix(seed, 4), step)
        tx = TRANSACTIONS[number % len(TRANSACTIONS)]
        number //= len(TRANSACTIONS)
        resource = RESOURCES[number % len(RESOURCES)]
        number //= len(RESOURCES)
        what = number % 40
        if what < 30:
            locks.acquire(tx, resource, MODES[what % len(MODES)])
        elif what < 39:
            locks.release_all(tx)
        else:
            locks.release_place(*resource[:2])
        for each in TRANSACTIONS:
            locks.holds(each, resource)
