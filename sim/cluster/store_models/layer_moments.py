"""Statements of a layer that overlap, beside a run: each other, transactions, failures, restarts.

Here each comes by itself, behind the moments of transactions: statements whose outcome is unknown
or whose attempts are lost, statements at one process, a statement while a transaction is open or
while its table goes. What becomes of the transactions of one statement is in `job_moments`.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from msgspec.structs import replace

from ddlsim.cluster.store_models.job_moments import INDEX, JobMoments
from ddlsim.cluster.store_models.layer_walk import (
    PATIENCE_MS,
    learns_nothing,
    named,
    statement,
)
from ddlsim.cluster.store_models.shelf import LOG
from ddlsim.cluster.store_models.transaction_moments import (
    CONFLICT,
    DELAY_US,
    FINAL,
    SOON_MS,
    UNKNOWN,
    reason,
)
from ddlsim.fdb.errors import FdbError
from ddlsim.fdb.keys import pack
from ddlsim.history.events import TxBegan
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import INDEXES, SCHEMA
from ddlsim.layer.schema import Update
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import (
    ClientCommit,
    Refusal,
)
from ddlsim.protocol.schema.ddl import Refused
from ddlsim.units import US_PER_MS

LAST_LOST: Final = 3
"""The statement behind which the log cannot be read for longer than it may lose attempts; what
polls reads it, too."""
OF_U: Final = "CREATE INDEX uv ON u (k, v)"
MEANWHILE: Final = "CREATE INDEX mi ON t (v)"
TURNS: Final = 3
"""How often two processes make an index at once, so long after each other as is drawn."""


def is_exact(design: LayerDesign) -> bool:
    """Whether rows and entries follow the schema whatever overlaps: the claim of I7."""
    return any(one.invariant == "I7" for one in design.header.claims) and not learns_nothing(design)


class Moments(JobMoments):
    """The walk's processes and tables, and what overlaps there."""

    def compare(self) -> None:
        """One moment after the other."""
        self._work()
        self.shelf.delay_us = DELAY_US
        moments: list[Callable[[], None]] = [
            self._waits, self._admitted, self._conflict, self._at_once, self._time_is_over,
            self._late_version, self._left_open, self._attempts, self._unknown,
            self._unknown_statement, self._lost_statement, self._in_a_row,
            self._unknown_chunk,
        ]  # fmt: skip
        for moment in moments:
            moment()
            self._rest()
            self._compare_store()
            if self.divergence.is_known:
                return
        if is_exact(self.design):
            self._beside()
            self._made_meanwhile()
        self._begun()
        self._erased()
        for _ in range(TURNS):
            self._at_two_processes()
        self._given_up()
        self._compare_paces()
        self.compare_jobs()
        self._unknown_and_late()
        self._rest()
        self._compare_store()

    # --- statements -------------------------------------------------------------------------------

    def _log(self) -> int:
        return len(self.shelf.under(SCHEMA, "log"))

    def _unknown_statement(self) -> None:
        """An update whose outcome is unknown is made once, and found."""
        one, _ = self._both
        for number, fails in enumerate((0, 1, 2, 0)):
            before = self._log()
            self.strike(LOG, UNKNOWN, fails)
            self.shelf.lost = int(not fails)
            self.shelf.unread = 4 * self._settings.ddl_attempts if number == LAST_LOST else 0
            name = f"l{number}"
            answer = self.asked(one, self._ddl(f"ALTER TABLE t ADD COLUMN {name} INT"))
            self._same("a statement without an answer", reason(answer), None)
            self._same("how many updates it makes", self._log() - before, 1)
            self.tables["t"].add(name, None)
            self._rest()

    def _lost_statement(self) -> None:
        """A statement that loses every attempt is refused, and leaves nothing."""
        one, _ = self._both
        tries, before = self._settings.ddl_attempts, self._log()
        self.strike(LOG, CONFLICT, tries + 5)
        got = reason(self.asked(one, self._ddl("ALTER TABLE t ADD COLUMN never INT")))
        self._same("a statement that always conflicts", got, Reason.DDL_CONFLICT)
        self._same("how often it is tried", tries + 5 - len(self.shelf.fails), tries)
        self.strike(LOG, CONFLICT, tries + 5)
        self.shelf.fails.insert(0, FdbError(UNKNOWN))
        got = reason(self.asked(one, self._ddl("ALTER TABLE t ADD COLUMN never INT")))
        self._same("one that conflicts behind an unknown outcome", got, Reason.DDL_CONFLICT)
        self.shelf.fails = []
        self._same("the updates of it", self._log(), before)
        for code, due in FINAL.items():
            self.strike(LOG, code, 1)
            got = reason(self.asked(one, self._ddl("ALTER TABLE t ADD COLUMN never INT")))
            self._same(f"a statement behind {code}", got, due)

    def _in_a_row(self) -> None:
        """Statements at one process run one after the other, each to its end."""
        one, _ = self._both
        before = self._log()
        texts = ["CREATE INDEX qi ON t (s)"]
        texts += [f"ALTER TABLE t ADD COLUMN q{number} INT" for number in range(2)]
        sent = [self._ddl(text) for text in texts]
        under_way = [self.under_way(one, request) for request in sent]
        until_us = self.loop.now_us + PATIENCE_MS * US_PER_MS
        while not all(under_way) and self.loop.now_us < until_us:
            self._rest(SOON_MS)
        found = [reason(answers[0]) if answers else "none" for answers in under_way]
        self._same("the answers to statements in a row", found, [None] * len(texts))
        self.tables["t"].indexes["qi"] = (("s",), False)
        for number in range(2):
            self.tables["t"].add(f"q{number}", None)
        log = self.shelf.under(SCHEMA, "log")
        ops = [log[key].op for key in sorted(log, key=lambda key: int(str(key[2])))][before:]
        due = [request.op for request in sent]
        self._same("the statements in the log", ops, sorted(ops, key=due.index))
        self._same("what is under way", one.left_open(), [])

    def _unknown_chunk(self) -> None:
        """Entries whose outcome is unknown, and that have not committed, are written again."""
        one, _ = self._both
        self.strike((INDEXES,), UNKNOWN, 2)
        got = reason(self.asked(one, self._ddl("CREATE INDEX ci ON t (v)")))
        self.shelf.fails = []
        self._same("a statement whose entries have no answer", got, None)
        self._same("the steps that an update of the schema does not stop", self.shelf.loose, 0)
        self.tables["t"].indexes["ci"] = (("v",), False)
        self._rest()
        self._compare_store()
        self.asked(one, self._ddl("DROP INDEX ci"))
        self.tables["t"].indexes.pop("ci")

    def _beside(self) -> None:
        """A statement while a transaction is open: whichever comes first, nothing is torn."""
        one, other = self._both
        texts = [INDEX, "ALTER TABLE t ALTER COLUMN q0 SET DATA TYPE VARCHAR(9)"]
        texts += ["DROP INDEX ti", "ALTER TABLE t DROP COLUMN q1", INDEX]
        for number, text in enumerate(texts):
            tx, writes_first = f"beside-{number}", self.draws.below(2)
            first = self._put(tx, 2, 20 + number, begins=True)
            if not writes_first:
                first = self._request("get", tx, 2, begins=True)
            self.asked(other, first)
            until_us = self.loop.now_us + PATIENCE_MS * US_PER_MS
            ddl = self.under_way(one, self._ddl(text))
            for _ in range(3):
                self._rest(self.draws.below(9))
            self.asked(other, self._put(tx, 1, 30 + number))
            if reason(self.asked(other, ClientCommit(tx, tx))) is None:
                self._wrote(1, 30 + number)
                if writes_first:
                    self._wrote(2, 20 + number)
            while not ddl and self.loop.now_us < until_us:
                self._rest()
            self._rest()
            self._ended(ddl, text)
            self._compare_store()
            if self.divergence.is_known:
                return

    def _made_meanwhile(self) -> None:
        """An index that is made behind a transaction's read version has no entries for that."""
        one, other = self._both
        if self.divergence.is_known:
            return
        tx, table = "meanwhile", self.tables["t"]
        if "ti" in table.indexes:
            self.asked(one, self._ddl("DROP INDEX ti"))
            table.indexes.pop("ti")
            self._rest()
        self.asked(other, replace(self._request("scan", tx, None, begins=True), table="u"))
        if reason(self.asked(one, self._ddl(MEANWHILE))) is not None:
            return
        table.indexes["mi"] = (("v",), False)
        for value in {row["v"] for row in table.rows.values() if row["v"] is not None}:
            wanted = {"v": value}
            request = self._request("find", tx, None, values=wanted, index="")
            answer = self.asked(other, request)
            if reason(answer) is None:
                self._compare(request, answer, table.find(wanted))
        self.asked(other, ClientCommit(tx, tx))
        self.asked(one, self._ddl("DROP INDEX mi"))
        table.indexes.pop("mi")
        self._rest()

    def _begun(self) -> None:
        """A statement that has made an update goes on for as long as its attempts are lost."""
        one, _ = self._both
        steps = self.design.plan(statement(OF_U))
        if self.divergence.is_known or isinstance(steps, Refused) or len(steps) == 1:
            return
        request = self._ddl(OF_U)
        under_way = self.under_way(one, request)
        until_us = self.loop.now_us + PATIENCE_MS * US_PER_MS
        while not self._made_by(request) and self.loop.now_us < until_us:
            self._rest(1)
        self.strike(LOG, CONFLICT, self._settings.ddl_attempts + 5)
        until_us = self.loop.now_us + PATIENCE_MS * US_PER_MS
        while not under_way and self.loop.now_us < until_us:
            self._rest(SOON_MS)
        found = reason(under_way[0]) if under_way else "none"
        self._same("the answer to one whose later attempts are lost", found, None)
        self._same("the updates that it makes", self._made_by(request), len(steps))
        self.asked(one, self._ddl("DROP INDEX uv"))
        self._rest()

    def _erased(self) -> None:
        """Entries are removed in one transaction, which looks at no row."""
        one, _ = self._both
        node: Any = one.node
        if self.divergence.is_known or reason(self.asked(one, self._ddl(MEANWHILE))) is not None:
            return
        self._rest()
        node.events.clear()
        request = self._ddl("DROP INDEX mi")
        self._same("the answer to a drop", reason(self.asked(one, request)), None)
        self._rest()
        began = [each.tx.partition("@")[0] for each in node.events if isinstance(each, TxBegan)]
        chunks = [tx for tx in began if "." in tx]
        self._same("the transactions that remove entries", len(chunks), len(set(chunks)))
        self._same("those behind the first", [tx for tx in chunks if not tx.endswith(".1")], [])

    def _at_two_processes(self) -> None:
        """Statements of several updates at two processes: each update waits for what the others'
        demand, too, and not only for those of its own statement."""
        one, other = self._both
        steps = self.design.plan(statement(OF_U))
        if self.divergence.is_known or one is other or isinstance(steps, Refused):
            return
        made = {"mi": MEANWHILE, "uv": OF_U}
        under_way: list[list[Any]] = []
        for process, text in zip(self._both, made.values(), strict=True):
            under_way.append(self.under_way(process, self._ddl(text)))
            self._rest(self.draws.below(3 * self.design.lease_ms // 2))
        until_us = self.loop.now_us + 2 * len(steps) * PATIENCE_MS * US_PER_MS
        while not all(under_way) and self.loop.now_us < until_us:
            self._rest()
        for name, answers in zip(made, under_way, strict=True):
            if answers and reason(answers[0]) is None:
                self.asked(one, self._ddl(f"DROP INDEX {name}"))
                self._rest()

    def _compare_paces(self) -> None:
        """No update of the schema comes before the design lets it, whichever process made it."""
        rule, at_us = named(self.design.pause_before), self.shelf.at_us
        log = sorted(self.shelf.under(SCHEMA, "log").values(), key=lambda one: int(one.number))
        for last, update in pairwise(one for one in log if one.version in at_us):
            what = f"update {update.number} of the schema"
            lasts_us = self.design.lease_ms * US_PER_MS + at_us[last.version]
            if rule == "once_leases_have_ended" and at_us[update.version] < lasts_us:
                self.divergence.found(f"{what} comes while leases on that before the last one last")
            if rule == "once_the_last_is_in_force" and update.version < last.activation:
                self.divergence.found(f"{what} comes before the last one is in force")
            if rule == "older_leases_gone" and self._has_older_lease(update):
                self.divergence.found(f"{what} comes while there is a lease on an older one")

    def _has_older_lease(self, update: Update) -> bool:
        """Whether a process has a lease on a schema before the last one when an update is made."""
        for key in self.shelf.keys.values():
            if key[:2] == (SCHEMA, "lease") and int(str(key[3])) < update.number - 1:
                ends = self.shelf.at(pack(key), update.version)
                if ends is not None and ends > update.version:
                    return True
        return False

    def _given_up(self) -> None:
        """A statement whose table goes before its last step is refused, and leaves nothing."""
        one, other = self._both
        steps = self.design.plan(statement(OF_U))
        if self.divergence.is_known or one is other or isinstance(steps, Refused):
            return
        request = self._ddl(OF_U)
        until_us = self.loop.now_us + PATIENCE_MS * US_PER_MS
        begun = self.under_way(one, request)
        self._rest(1 + self.draws.below(9))
        dropped = self.asked(other, self._ddl("DROP TABLE u"))
        self._same("the answer to a drop beside it", reason(dropped), None)
        self.tables.pop("u")
        while not begun and self.loop.now_us < until_us:
            self._rest()
        done = self._made_by(request)
        is_refused = bool(begun) and isinstance(begun[0], Refusal)
        what = f"whether {OF_U} is refused behind {done} of {len(steps)} steps"
        self._same(what, is_refused, done < len(steps))
        self._rest()
        self._compare_store()

    def _ended(self, ddl: list[Any], text: str) -> None:
        """What a statement has made of the table, if it is in force."""
        if not ddl or reason(ddl[0]) is not None:
            return
        table = self.tables["t"]
        if text == INDEX:
            table.indexes["ti"] = (("v",), False)
        elif text.startswith("DROP"):
            table.indexes.pop("ti", None)
        elif "DROP COLUMN" in text:
            table.drop("q1")
        else:
            table.convert("q0")
