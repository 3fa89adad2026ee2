"""The transactions of one statement, beside a run: each may have no answer, or be the last one.

An index is made and dropped in several transactions, and an index over equal values taken away
again. Whatever became of the commits, and wherever a process has stopped and started again, the
store has in the end what it has without that.
"""

from typing import Any, Final

from ddlsim.cluster.store_models.layer_walk import (
    KEYS,
    PATIENCE_MS,
    REST_MS,
    named,
    statement,
)
from ddlsim.cluster.store_models.shelf import Shelf
from ddlsim.cluster.store_models.transaction_moments import TransactionMoments, reason
from ddlsim.fdb.keys import pack
from ddlsim.history.events import TxBegan
from ddlsim.layer.keyspace import JOBS, ROWS, SCHEMA, rows_of
from ddlsim.layer.process import LayerProcess
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import ClientDdl
from ddlsim.protocol.schema.ddl import Refused
from ddlsim.units import US_PER_MS

INDEX: Final = "CREATE INDEX ti ON t (v)"
GONE: Final = "DROP INDEX ti"
UNIQUE: Final = "CREATE UNIQUE INDEX di ON t (v)"
"""Over rows with equal values: it is taken away again."""
ENDS: Final[tuple[bool | None, ...]] = (None, None, False, False, True)
"""What may become of a commit: it is answered, has not come about, or has."""
COMMITS: Final = 16
"""More transactions than a statement has."""

LATE: Final = 3
"""The last transactions of a statement, among them the one that erases."""


class JobMoments(TransactionMoments):
    """The walk's processes and tables, and what becomes of the transactions of a statement."""

    def compare_jobs(self) -> None:
        """Disturb what statements do, and stop and start within them; the last of all moments."""
        self._disturbed()
        self._goes_on()

    def _made_by(self, request: ClientDdl) -> int:
        """How many updates of a statement are in the log."""
        return sum(one.op == request.op for one in self.shelf.under(SCHEMA, "log").values())

    def _is_long(self, text: str) -> bool:
        """Whether a statement takes several transactions."""
        steps = self.design.plan(statement(text))
        return not isinstance(steps, Refused) and (len(steps) > 1 or steps[0].after)

    def _done(self, text: str) -> None:
        """Run a statement to its end; its answer, and what clients see behind it."""
        one, _ = self._both
        refused = Reason.UNIQUE_VIOLATED if text == UNIQUE else None
        self._same(f"the answer to {text}", reason(self.asked(one, self._ddl(text))), refused)
        self._compare_settled(one, text)
        self._ended_by(text)

    def _ended_by(self, text: str) -> None:
        indexes = self.tables["t"].indexes
        if text == INDEX:
            indexes["ti"] = (("v",), False)
        elif text == GONE:
            indexes.pop("ti", None)

    def _repeated(self) -> None:
        """There is no index `ti`, and the last two rows have the same value, no others."""
        one, _ = self._both
        if "ti" in self.tables["t"].indexes:
            self._done(GONE)
            self._rest()
        keys = sorted({*KEYS["t"], *self.tables["t"].rows})
        for place, key in enumerate(keys):
            value = min(place, len(keys) - 2)
            self.asked(one, self._put(None, key, value))
            self._wrote(key, value)

    # --- commits without an answer ----------------------------------------------------------------

    def _disturbed(self) -> None:
        """Commits of a statement's transactions have no answer, whether they come about or not."""
        if self.divergence.is_known:
            return
        self._repeated()
        for text in (INDEX, GONE, UNIQUE):
            if self._is_long(text):
                self.shelf.struck = (JOBS,)
                self.shelf.unknown = [self.draws.pick(ENDS) for _ in range(COMMITS)]
                self._done(text)
                self.shelf.unknown = []
                self._rest()
                self._compare_store()
            if self.divergence.is_known:
                return

    # --- another incarnation ----------------------------------------------------------------------

    def _goes_on(self) -> None:
        """A process that starts again goes on with its statements, from each of their steps."""
        if self.divergence.is_known:
            return
        found: list[tuple[str, Shelf]] = []
        for text in (INDEX, GONE, UNIQUE):
            found += [(text, shelf) for shelf in self._stopped(text)]
        one, _ = self._both
        for text, shelf in found:
            self.shelf = shelf
            self._ended_by(text)
            self._again(one.node.name, text)
            if self.divergence.is_known:
                return

    def _stopped(self, text: str) -> list[Shelf]:
        """The store as a process may leave it within a statement: at some of its transactions."""
        shelf = self.shelf
        shelf.keeps_copies, shelf.copies = True, []
        self._done(text)
        self._rest()
        shelf.keeps_copies = False
        kept = shelf.copies[:-1]  # the last one has forgotten it
        if not self._is_long(text):
            return []
        amidst = [one for one in kept if self._rows_left(one) is not None]
        if text == INDEX:
            is_long = len(self.tables["t"].rows) >= self.design.chunk_rows
            self._same("whether it says how far it is", bool(amidst), is_long)
        if text != INDEX:
            return [self.draws.pick(kept[-LATE:])]
        some = [kept[0], self.draws.pick(kept), kept[-1]]
        some += [self.draws.pick(amidst)] if amidst else []
        return list({id(one): one for one in some}.values())

    def _again(self, name: str, text: str) -> None:
        """A process starts on the store as another one has left it, and comes to the same end."""
        left, started_us = self._rows_left(self.shelf), self.loop.now_us
        process = self._started(name, restarted=True)
        self.processes = [process]
        for _ in range(PATIENCE_MS // REST_MS):  # writes may end many windows behind a switch
            if self.shelf.under(JOBS):
                self._rest()
        self._rest()
        self._compare_store()
        self._compare_wait(process, text, started_us)
        if left is not None and text == INDEX:
            self._compare_chunks(process, *left)

    def _compare_wait(self, process: LayerProcess, text: str, started_us: int) -> None:
        """A step that is gone on with waits again: how long it did so before is not known."""
        node: Any = process.node
        began = [each.tx.partition("@") for each in node.events if isinstance(each, TxBegan)]
        chunks_us = [int(us) for chunk, _, us in began if "." in chunk]
        if named(self.design.settle) == "leases_end" and chunks_us:
            waited_us = min(chunks_us) - started_us
            is_early = waited_us < self.design.lease_ms * US_PER_MS
            self._same(f"work on entries of {text} within a lease", is_early, expected=False)

    def _rows_left(self, shelf: Shelf) -> tuple[str, int] | None:
        """The step that has begun with some rows, and how many it has left; None: none has."""
        for (*_, op), (_, step, begin) in shelf.under(JOBS).items():
            if begin is not None:
                first, end = pack(begin), pack(rows_of(begin[1])[1])
                rows = [key for key in shelf.under(ROWS, begin[1]) if first <= pack(key) < end]
                return f"{op!s}/{step}.", len(rows)
        return None

    def _compare_chunks(self, process: LayerProcess, step: str, left: int) -> None:
        """A step goes on behind the rows that it has done, some rows at a time."""
        node: Any = process.node
        began = [each.tx for each in node.events if isinstance(each, TxBegan)]
        due = left // self.design.chunk_rows + 1
        self._same(
            f"the transactions of the {left} rows that {step} has left",
            sum(tx.startswith(step) for tx in began),
            due,
        )
