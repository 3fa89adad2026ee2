"""What a workload is: programs for clients, and programs for the one client that changes tables."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from ddlsim.record.programs import Program
from ddlsim.record.shape import InUse
from ddlsim.registry import Registry


@dataclass(frozen=True, slots=True)
class Ground:
    """What a workload plans on: the tables in use, DDL statements a second, whether the database
    has them inside of transactions, and whether it has indexes without a lock on writers.
    """

    in_use: InUse
    ddl_per_s: float
    transactional_ddl: bool
    online_indexes: bool = False


Plan = Callable[[Random, Ground, int], Iterator[Program]]
"""The programs of a client, without end; its number makes its values unlike all others'."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload: its name, what it is for, and the programs of both kinds of clients.

    `copies`: its DDL reads all rows of a table and writes them back, so that it must be in a
    transaction. `spare`: so many rows of each window are left for its clients to insert.
    """

    name: str
    summary: str
    rows: Plan
    tables: Plan
    copies: bool = False
    spare: int = 0


WORKLOADS: Final[Registry[Workload]] = Registry("recorded workload", "ddlsim.record.workloads")


PAUSE_MS: Final = (1.0, 25.0)
"""The least and the longest time that a client takes between two statements."""
LONG: Final = 8
"""Statements of a long transaction."""
LONG_SHARE: Final = 0.02
"""How many of all transactions are long."""
FRESH: Final = 0.01
"""How many of all transactions have a new connection."""


def many(dice: Random, usual: Sequence[int]) -> int:
    """How many statements a transaction has: one of the usual numbers, at times far more."""
    return LONG if dice.random() < LONG_SHARE else dice.choice(usual)


def value(client: int, number: int, ground: Ground) -> int:
    """The value of a client's append of this number, from 0: no other client has it, nor 0."""
    return number * (ground.in_use.shape.clients + 1) + client + 1


def dice(seed: int, client: int) -> Random:
    """The stream of one client."""
    return Random(f"{seed}/{client}")
