"""What overlaps in a layer, beside a run: failures, time limits, operations at once.

In a run these come together as they may. Here each comes by itself, on two processes of the run's
design and a store whose answers take a while: two transactions that conflict, operations of one
transaction that are sent at once, one that is too late, commits whose outcome is unknown.
"""

from dataclasses import replace as replace_rule
from typing import Any, Final

from ddlsim.cluster.store_models.layer_walk import (
    OUTCOME,
    LayerWalk,
    named,
    statement,
)
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.history.events import SchemaResolved, TxBegan
from ddlsim.layer.design import LayerPart
from ddlsim.layer.keyspace import OUTCOMES
from ddlsim.layer.process import LayerProcess
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import (
    Answer,
    ClientBegin,
    ClientCommit,
    ClientDdl,
    ClientOperation,
    ClientRollback,
    Refusal,
)
from ddlsim.units import US_PER_MS, Micros

DELAY_US: Final = 200
"""How long the store takes for an answer."""
ATTEMPTS: Final = 10
"""How often a transaction of one operation is tried."""
CONFLICT: Final = ErrorCode.NOT_COMMITTED
UNKNOWN: Final = ErrorCode.COMMIT_UNKNOWN_RESULT
FINAL: Final[dict[ErrorCode, Reason]] = {
    ErrorCode.TRANSACTION_TOO_LARGE: Reason.TX_TOO_LARGE,
    ErrorCode.KEY_TOO_LARGE: Reason.TX_TOO_LARGE,
    ErrorCode.VALUE_TOO_LARGE: Reason.TX_TOO_LARGE,
}
"""Errors behind which a transaction is not tried again."""
SOON_MS: Final = 30
LONG_US: Final = Micros(3 * US_PER_MS)
"""What the rule `admit` takes, longer than the store."""
NOT_ADMITTED: Final = Reason.NODE_UNREACHABLE
TOLD_WITH_THE_VERSION: Final = ("metadata_version", "metadata_version_at_snapshot")
"""Rules to which the read version says whether the schema that is kept is current."""


def reason(answer: object) -> Reason | None:
    """Why a request is refused; None of an answer."""
    return answer.reason if isinstance(answer, Refusal) else None


class TransactionMoments(LayerWalk):
    """The walk's processes and tables, and what overlaps of transactions there."""

    # --- requests ---------------------------------------------------------------------------------

    def _request(self, action: str, tx: str | None, key: Any, **more: Any) -> ClientOperation:
        self._ops += 1
        op = f"o{self._ops}"
        begins = more.pop("begins", False) and tx is not None
        return ClientOperation(
            op, tx or op, action, "t", key, None, 0, implicit=tx is None, begins=begins, **more
        )

    def _put(self, tx: str | None, key: int, v: int, **more: Any) -> ClientOperation:
        return self._request("put", tx, key, values={"v": v, "s": "x"}, **more)

    def _wrote(self, key: int, v: int) -> None:
        """The row that a put leaves."""
        self.tables["t"].write("put", key, {"v": v, "s": "x"}, strict=False)

    @property
    def _both(self) -> tuple[LayerProcess, LayerProcess]:
        return self.processes[0], self.processes[-1]

    def _ddl(self, text: str) -> ClientDdl:
        self._ops += 1
        return ClientDdl(f"d{self._ops}", statement(text))

    # --- transactions -----------------------------------------------------------------------------

    def _waits(self) -> None:
        """What a schema that is kept costs is the read version, and no wait for a schema."""
        one, _ = self._both
        node: Any = one.node
        if named(self.design.read_schema) not in TOLD_WITH_THE_VERSION:
            return
        for _ in range(2):
            node.events.clear()
            self.asked(one, self._request("get", None, 1))
        self._same("the waits for a schema that is kept", self._waited_us(one), [0])

    def _waited_us(self, process: LayerProcess) -> list[int]:
        """How long its last operations waited for a schema."""
        node: Any = process.node
        found = [each for each in node.events if isinstance(each, SchemaResolved)]
        return [each.waited_us for each in found if each.purpose == "enlist"]

    def _admitted(self) -> None:
        """What the rule `admit` refuses goes no further; its time is a wait for a schema."""
        one, _ = self._both
        node: Any = one.node
        design = one.design

        async def refuses(*_: object) -> Reason:
            return NOT_ADMITTED

        async def takes_long(part: LayerPart, *given: Any) -> Reason | None:
            await part.node.sleep(LONG_US)
            return await design.admit(part, *given)

        one.design = replace_rule(design, admit=refuses)
        got = reason(self.asked(one, self._request("get", "refused", 1, begins=True)))
        self._same("the answer to what is not admitted", got, NOT_ADMITTED)
        one.design = replace_rule(design, admit=takes_long)
        node.events.clear()
        self.asked(one, self._request("get", "late", 1, begins=True))
        self.asked(one, ClientRollback("late", "late"))
        waits = self._waited_us(one)
        self._same("whether that is a wait", [wait >= LONG_US for wait in waits], [True])
        one.design = design

    def _conflict(self) -> None:
        """What a transaction has read is written by another one: it fails, and writes nothing."""
        one, other = self._both
        for reads in ("get", "scan", "insert"):
            tx = f"conflict-{reads}"
            more = {"values": {"v": 3}} if reads == "insert" else {}
            key = 9 if reads == "insert" else 1
            self.asked(one, self._request(reads, tx, key, begins=True, **more))
            self._same("a put beside it", type(self.asked(other, self._put(None, key, 5))), Answer)
            self._wrote(key, 5)
            self.asked(one, self._put(tx, 2, 6))
            self._rest(1)
            got = reason(self.asked(one, ClientCommit(tx, tx)))
            self._same(f"the commit behind a conflict with a {reads}", got, Reason.TX_CONFLICT)

    def _at_once(self) -> None:
        """Operations that are sent at once run in their order, and the commit behind them."""
        one, _ = self._both
        sent = [self._put("p", 1, 7, begins=True), self._request("get", "p", 1)]
        sent += [self._put("p", 1, 8), self._request("get", "p", 1)]
        under_way = [self.under_way(one, each) for each in sent]
        end = self.under_way(one, ClientCommit("p", "p"))
        self._rest(SOON_MS)
        for _ in range(6):
            self._rest(SOON_MS)
        found = [answers[0] if answers else None for answers in (*under_way, end)]
        self._same("what is answered at once", [type(each) for each in found], [Answer] * 5)
        if self.divergence.is_known:
            return
        seen = [each.rows[0][1][1][1] for each in found[1:4:2] if isinstance(each, Answer)]
        self._same("what they read of each other", seen, [7, 8])
        self._wrote(1, 8)

    def _time_is_over(self) -> None:
        """A transaction that is open for too long is rolled back, and says so."""
        one, _ = self._both
        limit_ms = self._settings.tx_timeout_ms
        for begins in (True, False):
            for late in (ClientCommit, ClientRollback, None):
                tx = f"late-{begins}-{late}"
                if not begins:
                    self.asked(one, ClientBegin(tx, tx, None))
                self.asked(one, self._put(tx, 1, 77, begins=begins))
                self._rest(limit_ms - 20)
                self._same("what is open before its limit", list(one.transactions), [tx])
                self._rest(40)
                self._same("what is open behind its limit", list(one.transactions), [])
                request = self._request("get", tx, 1) if late is None else late(tx, tx)
                got = reason(self.asked(one, request))
                due = None if late is ClientRollback else Reason.TX_TIMED_OUT
                self._same(f"the answer to {request} behind the limit", got, due)

    def _late_version(self) -> None:
        """One that is over before its read version comes is not in the history."""
        one, _ = self._both
        node: Any = one.node
        node.events.clear()
        limit_ms = self._settings.tx_timeout_ms
        self.shelf.delay_us = 2 * limit_ms * US_PER_MS
        self.under_way(one, self._request("get", "slow", 1, begins=True))
        for _ in range(4):
            self._rest(limit_ms)
        self.shelf.delay_us = DELAY_US
        began = [each.tx for each in node.events if isinstance(each, TxBegan)]
        self._same("the transactions that begin behind their end", began, [])

    def _left_open(self) -> None:
        """A transaction that ends in time is not ended again."""
        one, _ = self._both
        self.asked(one, self._put("ends", 1, 9, begins=True))
        self._same("a commit", reason(self.asked(one, ClientCommit("ends", "ends"))), None)
        self._wrote(1, 9)
        again = self.asked(one, ClientCommit("ends", "ends"))
        self._same("a second commit", reason(again), Reason.TX_FINISHED)
        unknown = self.asked(one, self._request("get", "never", 1))
        self._same("a transaction that never began", reason(unknown), Reason.TX_FINISHED)
        self.asked(one, ClientBegin("empty", "empty", None))
        nothing = self.asked(one, ClientCommit("empty", "empty"))
        self._same("the commit of nothing", reason(nothing), None)
        self.asked(one, ClientBegin("reads", "reads", None, read_only=True))
        refused = self.asked(one, self._put("reads", 1, 10))
        self._same("a write of one that reads", reason(refused), Reason.READ_ONLY)

    def _attempts(self) -> None:
        """An operation alone is tried again so many times, and not behind a final error."""
        one, _ = self._both
        self.strike(OUTCOME, CONFLICT, 2 * ATTEMPTS)
        got = reason(self.asked(one, self._put(None, 1, 88)))
        self._same("an operation that always conflicts", got, Reason.TX_CONFLICT)
        self._same("how often it is tried", 2 * ATTEMPTS - len(self.shelf.fails), ATTEMPTS)
        for code, due in FINAL.items():
            self.strike(OUTCOME, code, 2)
            self._same(
                f"an operation behind {code}", reason(self.asked(one, self._put(None, 1, 89))), due
            )
            self._same("how often it is tried", 2 - len(self.shelf.fails), 1)
        self.shelf.fails = []

    def _unknown(self) -> None:
        """A commit whose outcome is unknown counts if it has come about, and never otherwise."""
        one, _ = self._both
        for tx in (None, "lost"):
            self.shelf.struck, self.shelf.lost = OUTCOME, 1
            answer = self.asked(one, self._put(tx, 1, 11, begins=True))
            if tx is not None:
                answer = self.asked(one, ClientCommit(tx, tx))
            self._same("a commit without an answer", type(answer), Answer)
            self._same("the answers that are lost", self.shelf.lost, 0)
            self._wrote(1, 11)
        self.asked(one, self._put("failed", 1, 12, begins=True))
        self.shelf.fails = [FdbError(UNKNOWN), FdbError(CONFLICT)]
        got = reason(self.asked(one, ClientCommit("failed", "failed")))
        self._same("a commit that has not come about", got, Reason.NODE_UNREACHABLE)
        versions = [one[0] for one in self.shelf.under(OUTCOMES, "failed").values()]
        self._same("its outcome", versions, [0])

    def _unknown_and_late(self) -> None:
        """It counts as well if it comes about while its outcome is looked up, behind that read."""
        one, _ = self._both
        self.asked(one, self._put("late", 1, 13, begins=True))
        self.shelf.struck, self.shelf.late = OUTCOME, True
        answer = self.asked(one, ClientCommit("late", "late"))
        self._same("a commit that comes while it is looked up", type(answer), Answer)
        self._wrote(1, 13)
