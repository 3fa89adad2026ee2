"""The user's migration, statement by statement in one session, and looks at what it waits for."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ddlsim.record.dialects.base import Connection, Problem, RefusedError
from ddlsim.record.journal import Journal, now
from ddlsim.record.rehearsal.stages.base import Limits, Stage, run

LOOK_S: Final = 0.01
"""The time between two looks at the sessions of the server."""
EXTRA_S: Final = 5.0
"""How much longer a statement may take than its limit until it is interrupted."""
OPENS: Final = ("BEGIN", "START TRANSACTION")
BLOCK: Final = ("NOT", "ATOMIC")
"""Behind BEGIN they are of a block, which is a statement (MariaDB)."""
ENDS: Final = ("COMMIT", "END", "ROLLBACK", "ABORT")
ALONE: Final = ("PRAGMA", "VACUUM", "ATTACH", "DETACH", "SAVEPOINT", "RELEASE", "SELECT", "EXPLAIN")
"""What is not sent in a transaction of its own."""
BACK: Final = "TO"
"""A word of ROLLBACK TO SAVEPOINT, which ends no transaction."""


class Order(NamedTuple):
    """A statement of a file: its text, its line, its words in capitals, those before a dot, and the
    words of statements that may be within it.
    """

    sql: str
    line: int
    words: tuple[str, ...]
    qualifiers: frozenset[str]
    inner: tuple[tuple[str, ...], ...] = ()

    def begins(self, *words: str) -> bool:
        """Whether it begins with one of these words, or pairs of words."""
        return _begin(self.words, words)

    @property
    def opens(self) -> bool:
        """Whether it opens a transaction in any database."""
        return self.begins(*OPENS) and self.words[1:3] != BLOCK

    @property
    def ends(self) -> bool:
        """Whether it ends a transaction."""
        return self.begins(*ENDS) and BACK not in self.words


def _begin(said: Sequence[str], words: Sequence[str]) -> bool:
    first = " ".join(said[:2])
    return any(f"{first} ".startswith(f"{one} ") for one in words)


@dataclass(slots=True)
class Mark:
    """The outcome of a statement; times are nanoseconds of the recording's clock.

    `waited_ms` is None where the database tells of no waits. `behind` is the largest number of
    clients that were seen to wait meanwhile. `effect` is the end of the transaction that it is in.
    """

    order: Order
    at: int = 0
    until: int = 0
    effect: int = 0
    waited_ms: float | None = None
    behind: int = 0
    holders: dict[str, None] = field(default_factory=dict)
    problem: Problem | None = None

    @property
    def has_run(self) -> bool:
        """Whether it was sent."""
        return self.until > 0


def check_orders(stage: Stage, connection: Connection, file: str, orders: Sequence[Order]) -> None:
    """Refuse statements that reach what is not of the copy; raises `RefusedError`."""
    if stage.in_place:
        return
    others = stage.others(connection)
    for order in orders:
        said = reaching(stage, order)
        if not said and (reached := sorted(order.qualifiers & others)):
            said = f"{reached[0]}.…"
        if said:
            text = f"{said} reaches beyond the copy; leave it out, or rehearse with --in-place"
            raise RefusedError(f"{file}:{order.line}: {text}")


def reaching(stage: Stage, order: Order) -> str:
    """The first words of the statement, or of one within it, that may not be run on a copy."""
    for words in (order.words, *order.inner):
        if _begin(words, stage.outside) or stage.reaches_out(words):
            return " ".join(words[:2])
    return ""


class Migration:
    """Runs the statements; after one that fails it goes no further."""

    def __init__(
        self, stage: Stage, connection: Connection, orders: Sequence[Order], journal: Journal,
        process: int, limits: Limits, pause_s: float,
    ) -> None:  # fmt: skip
        self.marks = [Mark(one) for one in orders]
        self.current: Mark | None = None
        self._stage, self._connection, self._journal = stage, connection, journal
        self._process, self._limits, self._pause_s = process, limits, pause_s
        self.left_open = False
        """Whether its last statement left a transaction open, which was rolled back."""
        self._tx = -1
        self._open: list[Mark] = []
        self._savepoint = ""
        """The name of the savepoint that has opened the transaction, where one did."""

    def work(self, stop: threading.Event) -> None:
        """Send one after the other, with a pause after each that leaves no transaction open."""
        for number, mark in enumerate(self.marks):
            if number and not self._open and stop.wait(self._pause_s):
                break
            if stop.is_set() or not self._run(mark):
                break
        if self._open:
            self.left_open = all(mark.has_run and mark.problem is None for mark in self.marks)
            self._sent("ROLLBACK", self._open[-1])
            self._end("fail")

    def _run(self, mark: Mark) -> bool:
        """Send a statement; whether it succeeded."""
        order = mark.order
        inside = bool(self._open)
        if not inside:
            self._tx = self._journal.begin(self._process, "")
        self._open.append(mark)
        mark.at = now()
        self.current = mark
        done = self._guarded(mark) if self._wraps(order, inside=inside) else self._sent(None, mark)
        self.current = None
        mark.until = now()
        if not self._is_open(order, inside=inside) or (not done and not inside):
            self._end("ok" if done else "fail", mark.problem)
        return done

    def _is_open(self, order: Order, *, inside: bool) -> bool:
        """Whether a transaction is open behind a statement that has succeeded."""
        name = order.words[-1] if order.words else ""  # a string or a number alone has none
        if not inside and self._stage.opens_by_savepoint and order.begins("SAVEPOINT"):
            self._savepoint = name
            return True
        if order.ends or (order.begins("RELEASE") and name == self._savepoint):
            self._savepoint = ""
            return False
        return inside or order.opens

    def _wraps(self, order: Order, *, inside: bool) -> bool:
        alone = order.begins(*OPENS, *ENDS, *ALONE)
        return self._stage.prepares and not inside and not alone

    def _guarded(self, mark: Mark) -> bool:
        """Send it within a transaction of its own, whose begin waits until others have ended."""
        began = now()
        done = self._sent(self._stage.begin(writes=True), mark)
        mark.waited_ms = (now() - began) / 1e6
        if not done:
            return False
        done = self._sent(None, mark)
        return self._sent("COMMIT" if done else "ROLLBACK", mark) and done

    def _sent(self, sql: str | None, mark: Mark) -> bool:
        """Send the statement of a mark, or another one for it; whether it succeeded."""
        text, begins = sql or mark.order.sql, now()
        limit = threading.Timer(
            self._limits.statement_ms / 1000 + EXTRA_S, self._stage.interrupt, (self._connection,)
        )
        limit.start()
        try:
            run(self._connection, text)
        except Exception as error:
            problem = self._stage.problem(error)
            if problem is None:
                raise
            mark.problem = mark.problem or problem
            self._journal.statement(self._tx, begins, text, problem=problem)
            return False
        finally:
            limit.cancel()
        self._journal.statement(self._tx, begins, text)
        return True

    def _end(self, outcome: str, problem: Problem | None = None) -> None:
        self._journal.end(
            self._tx, self._process, outcome, "", "" if problem is None else problem.kind
        )
        at = now()
        for mark in self._open:
            mark.effect = at
        self._open.clear()


def look_on(
    stage: Stage, connection: Connection, session: int, migration: Migration, stop: threading.Event
) -> None:
    """Look at the sessions while a statement runs, and add what is found to its mark."""
    last = now()
    while not stop.wait(LOOK_S):
        mark = migration.current
        if mark is None:
            last = now()
            continue
        try:
            seen = stage.look(connection, session)
        except Exception as error:
            if stage.problem(error) is None:
                raise
            return
        at = now()
        if migration.current is mark:
            waited = (at - max(last, mark.at)) / 1e6 if seen.waits else 0.0
            mark.waited_ms = (mark.waited_ms or 0.0) + waited
            mark.holders |= dict.fromkeys(seen.holders)
            mark.behind = max(mark.behind, seen.behind)
        last = at
