"""What a recording tells of time: how long changes of tables took, and what statements beside them
had to wait.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from ddlsim.files import HISTORY_MOST, unfit
from ddlsim.history.recording import AnyLine, Begun, Ended, Recording, Statement, record_of

DDL: Final = ("ALTER", "CREATE", "DROP", "TRUNCATE", "RENAME")
MS: Final = 1e6
"""Nanoseconds of a millisecond."""
BEFORE_MS, AFTER_MS, BIN_MS = -100, 400, 20
"""The time around the beginning of a change that is looked at, and its steps."""


@dataclass(slots=True)
class Timeline:
    """Intervals in nanoseconds: transactions that change a table, and statements of the clients
    that do not. `changed` and `ended` count outcomes, an error by its class.
    """

    changes: list[tuple[int, int]] = field(default_factory=list)
    statements: list[tuple[int, int]] = field(default_factory=list)
    changed: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)


def read(path: Path) -> Timeline:
    """The timeline of a recording; raises `OSError` where it is not there."""
    if (why := unfit(path, HISTORY_MOST)) is not None:
        raise OSError(f"{path} {why}")
    look = _Look()
    with path.open("rb") as file:
        for record in map(record_of, file):
            look.take(record)
    return look.made


class _Look:
    """Takes the lines of a recording one by one."""

    def __init__(self) -> None:
        self.made = Timeline()
        self._clients = 0
        self._begun: dict[int, Begun] = {}
        self._changing: set[int] = set()

    def take(self, record: AnyLine) -> None:
        """One more line."""
        if isinstance(record, Recording):
            self._clients = record.clients
        elif isinstance(record, Begun):
            self._begun[record.tx] = record
        elif isinstance(record, Statement):
            self._statement(record)
        elif isinstance(record, Ended):
            self._ended(record)

    def _client(self, tx: int) -> int:
        """The number of a client: the one behind the others changes tables."""
        return self._begun[tx].process % (self._clients + 2)

    def _statement(self, record: Statement) -> None:
        client = self._client(record.tx)
        if client < self._clients:
            self.made.statements.append((record.at, record.until))
        elif client == self._clients and record.sql.startswith(DDL):
            self._changing.add(record.tx)

    def _ended(self, record: Ended) -> None:
        word = record.why or record.outcome
        if self._client(record.tx) < self._clients:
            self.made.ended[word] += 1
        elif record.tx in self._changing:
            self.made.changed[word] += 1
            self.made.changes.append((self._begun[record.tx].at, record.at))


def figures(timelines: Sequence[Timeline]) -> dict[str, Any]:
    """The numbers of a cell over its recordings; times are milliseconds."""
    changed = sum((one.changed for one in timelines), Counter[str]())
    ended = sum((one.ended for one in timelines), Counter[str]())
    took = [(end - begin) / MS for one in timelines for begin, end in one.changes]
    beside, apart, longest = _beside(timelines)
    return {
        "ddl": {"ended": dict(sorted(changed.items())), "ms": _spread(took)},
        "dml": {
            "ended": dict(sorted(ended.items())),
            "apart_ms": _spread(apart),
            "beside_ms": _spread(beside),
            "stall_ms": _spread(longest),
        },
        "around": _around(timelines),
    }


def _beside(timelines: Sequence[Timeline]) -> tuple[list[float], list[float], list[float]]:
    """How long statements took that overlap a change, and others; and of each change the longest
    time from where it or the statement began, the later of both, to the statement's end.
    """
    beside: list[float] = []
    apart: list[float] = []
    longest: list[float] = []
    for one in timelines:
        begin, end = _columns(one.statements)
        took = (end - begin) / MS
        over = np.zeros(len(took), bool)
        for first, last in one.changes:
            met = (begin < last) & (end > first)
            over |= met
            waited = end[met] - np.maximum(begin[met], first)
            longest.append(float(waited.max(initial=0)) / MS)
        beside += took[over].tolist()
        apart += took[~over].tolist()
    return beside, apart, longest


def _around(timelines: Sequence[Timeline]) -> dict[str, list[float | None]]:
    """By the time since the beginning of a change: statements that ended, each second, and how long
    those took that began then.
    """
    edges = np.arange(BEFORE_MS, AFTER_MS + BIN_MS, BIN_MS)
    changes = sum(len(one.changes) for one in timelines)
    done = np.zeros(len(edges) - 1)
    took: list[list[float]] = [[] for _ in done]
    for one in timelines:
        begin, end = _columns(one.statements)
        long = (end - begin) / MS
        for first, _ in one.changes:
            done += np.histogram((end - first) / MS, edges)[0]
            place = np.digitize((begin - first) / MS, edges) - 1
            for at in np.flatnonzero((place >= 0) & (place < len(done))).tolist():
                took[place[at]].append(float(long[at]))
    per_s = done / max(changes, 1) / (BIN_MS / 1000)
    return {
        "from_ms": [float(edge) for edge in edges[:-1]],
        "per_s": [round(float(one), 1) for one in per_s],
        "p50_ms": [_at(one, 50) for one in took],
        "p99_ms": [_at(one, 99) for one in took],
    }


def _columns(pairs: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
    table = np.asarray(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _spread(values: Sequence[float]) -> dict[str, float | int | None]:
    return {
        "n": len(values), "p50": _at(values, 50), "p99": _at(values, 99),
        "max": round(max(values), 2) if values else None,
    }  # fmt: skip


def _at(values: Sequence[float], percent: float) -> float | None:
    return round(float(np.percentile(values, percent)), 2) if len(values) else None
