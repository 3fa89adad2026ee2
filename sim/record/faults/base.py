"""What a fault is, and the thread that brings faults about at instants drawn from the seed."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from ddlsim.record.client import Client
from ddlsim.record.dialects.base import Connection, Database
from ddlsim.record.journal import Journal
from ddlsim.record.shape import InUse
from ddlsim.registry import Registry

GAP_S: Final = 0.5
"""The mean time between two faults."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a fault may touch: the clients, the tables in use, and the end of the recording."""

    database: Database
    clients: Sequence[Client]
    in_use: InUse
    stop: threading.Event

    def connected(self, dice: Random) -> Connection | None:
        """A client's connection; None while it has none."""
        return dice.choice(self.clients).connection


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: `strike` returns what it did, or nothing where there was nothing to do."""

    name: str
    summary: str
    strike: Callable[[Ground, Random], str]


FAULTS: Final[Registry[Fault]] = Registry("recorded fault", "ddlsim.record.faults")


def disturb(ground: Ground, faults: Sequence[Fault], dice: Random, journal: Journal) -> None:
    """Bring about one fault after the other until the recording ends, and write each down.

    What the database refuses, since a connection was gone by then, is no fault.
    """
    while faults and not ground.stop.wait(dice.expovariate(1 / GAP_S)):
        try:
            what = dice.choice(faults).strike(ground, dice)
        except Exception as error:
            if ground.database.problem(error) is None:
                raise
            continue
        if what:
            journal.disturbed(what)
