"""A checker: an invariant, judged from the history of a run alone.

`Case` (`ddlsim.checkers.case.case`) gives the events of a history by kind, its transactions and its
DDL statements. A design that does not claim the invariant is judged by it with `--all-claims`.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import CHECKERS, Anomaly, Severity
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import Ok

LIMIT_MS = 10_000


class MyChecker:
    """Every DDL statement that succeeds is acknowledged within `LIMIT_MS`."""

    name = "my_checker"
    invariant = "I100"  # I and a number that no other invariant has
    severity: Severity = "quality"  # safety, session, liveness or quality
    summary = f"a DDL statement is acknowledged within {LIMIT_MS} ms"
    voices: tuple[str, ...] = ("client",)  # what clients saw; "witness": what nodes recorded

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Each statement that took too long."""
        for ddl in case.ddls.values():
            invoked, ended = ddl.operation.invoked, ddl.operation.ended
            if invoked is None or not isinstance(ended, Ok):
                continue
            took_ms = (ended.at_us - invoked.at_us) / 1_000
            if took_ms > LIMIT_MS:
                summary = f"DDL {invoked.op} was acknowledged after {took_ms:g} ms"
                yield Anomaly("ddl-late", summary, witness=(invoked, ended))


CHECKERS.add(MyChecker.name, MyChecker())
