"""A recording from its beginning to its end: tables, clients, limits in time, and a tally."""

import threading
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Final

from ddlsim import __version__
from ddlsim.history.recording import FORMAT, Closed, Recording
from ddlsim.record.client import Client, Tally, left_out
from ddlsim.record.dialects.base import Database, Facts
from ddlsim.record.faults import base as fault
from ddlsim.record.journal import CLOCK, Journal, now
from ddlsim.record.maker import Maker
from ddlsim.record.shape import TABLES, InUse, name_of, shape_of
from ddlsim.record.threads import Threads
from ddlsim.record.workloads.base import WORKLOADS, Ground, dice

LONGEST_S: Final = 600.0
"""A recording of so many transactions ends after this time, too."""
GRACE_S: Final = 15.0
"""How long clients may take to end what they do."""
TICK_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to record: so many transactions, or for so many seconds, or both."""

    workload: str
    clients: int
    isolation: str
    seed: int
    ddl_per_s: float
    seconds: float
    transactions: int | None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a recording came to."""

    facts: Facts
    says: str
    promise: str
    tally: Tally
    seconds: float
    silent: int
    """Clients that did not come to an end in time."""
    notes: list[str]


def record(database: Database, wanted: Wanted, folder: Path) -> Recorded:
    """Record into a folder; raises `RefusedError`, in one line, where the database cannot be.

    Whatever ends it, clients and what the recorder made outside of a file are ended first.
    """
    database.check_clients(wanted.clients)
    level = database.levels[wanted.isolation]
    workload = WORKLOADS.get(wanted.workload)
    shape = shape_of(wanted.clients, wanted.transactions, wanted.seconds, workload.spare)
    in_use = InUse(shape)
    with database.ground():
        facts, says = looked_at(database, wanted.isolation)
        head = Recording(
            FORMAT, f"ddlsim {__version__}", database.name, facts.server, facts.driver,
            facts.settings, wanted.isolation, says, level.promise, CLOCK, wanted.workload,
            wanted.seed, wanted.clients, wanted.ddl_per_s, database.prepared,
            workload.copies, tuple(name_of(table) for table in range(TABLES)),
        )  # fmt: skip
        journal = Journal(folder, head)
        try:
            crew = _Crew(database, wanted, journal, in_use)
            began = time.monotonic()
            crew.work()
            seconds = time.monotonic() - began
        except BaseException:
            journal.close()
            raise
        journal.close(Closed(now()))
    return Recorded(facts, says, level.promise, crew.tally, seconds, crew.silent, crew.notes)


def looked_at(database: Database, isolation: str) -> tuple[Facts, str]:
    """What the database says of itself; `RefusedError` where it cannot be reached."""
    with (
        database.refusing(lambda problem: f"no connection ({problem.text})"),
        closing(database.connect(isolation)) as connection,
    ):
        facts, says = database.facts(connection), database.says(connection)
    return facts._replace(driver=f"{facts.driver}, by SQLAlchemy {version('sqlalchemy')}"), says


class _Crew:
    """The clients, a thread each; the last one changes tables. With them a thread that makes tables
    once those in use are used up; the first tables are there when this is made.
    """

    def __init__(self, database: Database, wanted: Wanted, journal: Journal, in_use: InUse) -> None:
        self.tally = Tally()
        self.silent = 0
        self.notes: list[str] = []
        self._threads = Threads()
        stop = self._threads.stop
        maker = Maker(database, wanted.isolation, journal, wanted.clients + 1, in_use)
        maker.begin(stop)
        self._until = time.monotonic() + wanted.seconds
        workload = WORKLOADS.get(wanted.workload)
        ground = Ground(in_use, wanted.ddl_per_s, database.transactional_ddl,
                        database.online_indexes)  # fmt: skip
        self._clients = clients = list[Client]()
        self._rows: list[threading.Thread] = []
        for number in range(wanted.clients + 1):
            changes = number == wanted.clients
            plan = workload.tables if changes else workload.rows
            programs = plan(dice(wanted.seed, number), ground, number)
            if not changes and wanted.transactions is not None:
                share = _share(wanted.transactions, wanted.clients, number)
                programs = islice(programs, share)
            client = Client(
                database, wanted.isolation, journal, self.tally, number, wanted.clients + 2
            )
            clients.append(client)
            made = self._threads.add(partial(client.work, programs, stop), f"client-{number}")
            self._rows += [] if changes else [made]
        self._threads.add(partial(maker.renew, stop), "maker")
        disturbed = fault.Ground(database, clients, in_use, stop)
        faults = [fault.FAULTS.get(name) for name in wanted.faults]
        stream = dice(wanted.seed, wanted.clients + 1)
        self._threads.add(partial(fault.disturb, disturbed, faults, stream, journal), "faults")

    def work(self) -> None:
        """Run the clients until they are done, or the time is over; raises what one of them has."""
        threads = self._threads
        try:
            threads.start()
            while any(one.is_alive() for one in self._rows) and not threads.stop.is_set():
                if time.monotonic() >= self._until:
                    break
                threads.stop.wait(TICK_S)  # an interrupted join() takes its thread for ended
        finally:
            self.silent = threads.end(GRACE_S)
        threads.check()
        self.notes = left_out(self._clients)


def _share(total: int, clients: int, number: int) -> int:
    """The transactions of one client."""
    return total // clients + (number < total % clients)
