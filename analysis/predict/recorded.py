"""What a recording says of locks on tables: what held one, how long, and what DDL waited for.

A transaction holds a lock on a table from its first statement on it until its end: so do PostgreSQL
(ACCESS SHARE and stronger) and MariaDB (metadata locks). Times are milliseconds of the recording's
clock. Of a recording that was cut short the transactions that have ended count.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from ddlsim.analysis.tune.goals import TuneError
from ddlsim.files import HISTORY_MOST, unfit
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.foreign.recording.sent import head_at
from ddlsim.history.recording import (
    STATEMENTS,
    AnyLine,
    Begun,
    Ended,
    Recording,
    Renewed,
    Statement,
    record_of,
)

NS_PER_MS: Final = 1_000_000
DDL: Final = re.compile(r"\s*(ALTER|CREATE|DROP|TRUNCATE|RENAME)\b", re.IGNORECASE)
LOCK_SETTINGS: Final = {"postgresql": "lock_timeout", "mariadb": "lock_wait_timeout"}
"""The databases that lock a table against DDL until its users are gone, and what ends a wait."""
UNITS: Final = {"ms": 1.0, "s": 1_000.0, "min": 60_000.0, "": 1_000.0}
CONTROL: Final = re.compile(r"\s*(BEGIN|START|COMMIT|ROLLBACK|SET)\b", re.IGNORECASE)
LOCK: Final = "lock-timeout"


@dataclass(frozen=True, slots=True)
class Sent:
    """A statement on a table, and how long its answer took; `first` of its transaction there."""

    table: str
    at: float
    until: float
    ddl: bool
    first: bool
    timed_out: bool

    @property
    def took(self) -> float:
        return self.until - self.at


@dataclass(slots=True)
class Tx:
    """A transaction of a client that has ended."""

    client: int
    began: float
    sent: list[Sent] = field(default_factory=list)
    ended: float = 0.0
    outcome: str = ""
    why: str = ""

    @property
    def holds(self) -> list[tuple[str, float, float]]:
        """The locks on tables: (table, from, until)."""
        return [(one.table, one.at, self.ended) for one in self.sent if one.first]

    @property
    def ddl(self) -> Sent | None:
        """Its first statement that changes a table."""
        return next((one for one in self.sent if one.ddl), None)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording: `clients` are transactions that only read and write, `changes` those with DDL.

    Both in the order of their ends.
    """

    folder: str
    head: Recording
    clients: list[Tx]
    changes: list[Tx]

    @property
    def lock_ms(self) -> float:
        """How long a statement may wait for a lock; `TuneError` of a database without such a lock.

        PostgreSQL shows the unit; MariaDB means seconds.
        """
        setting = LOCK_SETTINGS.get(self.head.database)
        if setting is None:
            known = " and ".join(sorted(LOCK_SETTINGS))
            raise TuneError(
                f"{self.folder}: {self.head.database} has no lock on tables that DDL waits for; "
                f"{known} have"
            )
        told = re.fullmatch(r"([0-9.]+)(\D*)", self.head.settings.get(setting, ""))
        if told is None or told[2] not in UNITS or not float(told[1]):
            raise TuneError(f"{self.folder}: it does not tell {setting}; record it anew")
        return float(told[1]) * UNITS[told[2]]

    @property
    def span(self) -> tuple[float, float]:
        """From the first transaction of a client to the end of the last one."""
        return min(tx.began for tx in self.clients), max(tx.ended for tx in self.clients)


def read(folder: str) -> Recorded:
    """The recording in a folder; `TuneError` where there is none, or nothing in it."""
    file = Path(folder) / STATEMENTS
    try:
        head = head_at(str(file))
    except ForeignError as error:
        raise TuneError(f"{folder}: {error}") from None
    clients: list[Tx] = []
    changes: list[Tx] = []
    changer = head.clients
    for tx in _transactions(file, head):
        if tx.client == changer:
            changes += [tx] if tx.ddl is not None else []
        elif tx.client < changer:
            clients.append(tx)
    if not clients:
        raise TuneError(f"{folder}: no transaction of a client has ended in it; record for longer")
    return Recorded(folder, head, clients, changes)


def _transactions(file: Path, head: Recording) -> Iterator[Tx]:
    names = list(head.tables)
    table_of = _any_of(names)
    open_: dict[int, Tx] = {}
    used: dict[int, set[str]] = defaultdict(set)
    for line in _lines(file):
        if isinstance(line, Renewed):
            names += line.names
            table_of = _any_of(names)
        elif isinstance(line, Begun):
            open_[line.tx] = Tx(line.process % (head.clients + 2), line.at / NS_PER_MS)
        elif isinstance(line, Statement) and line.tx in open_:
            found = None if CONTROL.match(line.sql) else table_of.search(line.sql)
            if found is not None:
                table = found[1]
                open_[line.tx].sent.append(_sent(line, table, first=table not in used[line.tx]))
                used[line.tx].add(table)
        elif isinstance(line, Ended) and line.tx in open_:
            tx = open_.pop(line.tx)
            used.pop(line.tx, None)
            tx.ended, tx.outcome, tx.why = line.at / NS_PER_MS, line.outcome, line.why
            yield tx


def _any_of(tables: list[str]) -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(map(re.escape, tables))})\b")


def _sent(line: Statement, table: str, *, first: bool) -> Sent:
    timed_out = line.problem is not None and line.problem[1] == LOCK
    ddl = DDL.match(line.sql) is not None
    return Sent(table, line.at / NS_PER_MS, line.until / NS_PER_MS, ddl, first, timed_out)


def _lines(file: Path) -> Iterator[AnyLine]:
    if (why := unfit(file, HISTORY_MOST)) is not None:
        raise TuneError(f"{file}: {why}")
    with file.open("rb") as lines:
        for line in lines:
            try:
                yield record_of(line)
            except msgspec.DecodeError:
                continue  # a line that was cut when the recorder was killed
