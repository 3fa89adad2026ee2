"""An operation fails where its table is missing at op_ts; part of I12 [110.table.exists].

Judged by what the operation itself was shown: its primary looked the table up at op_ts and found
none, and executed it all the same. Whether the look-up was right is another question (I1), and a
transaction that goes on without its table fails at its commit at the latest; so no other checker
need see it.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.operations import AT_THE_PRIMARY
from ddlsim.history.events import ReadExecuted, SchemaResolved, WriteExecuted
from ddlsim.units import show

NEEDED = {"check_exists": "must_exist", "check_operation_when": "ARRIVAL_AND_AFTER_LOCKS"}
"""The rules of a design that what is judged here rests on."""


def missing_tables(case: Case) -> Iterator[Anomaly]:
    """Operations that were executed at the very timestamp at which their table was missing."""
    rules = case.header.design.rules
    if any(rules.get(field) != rule for field, rule in NEEDED.items()):
        return
    missing: dict[tuple[str, str | None, int], SchemaResolved] = {
        (event.node, event.op, event.ts): event
        for _, event in case.of(SchemaResolved)
        if not event.version and event.purpose in AT_THE_PRIMARY
    }
    if not missing:
        return
    for kind in (ReadExecuted, WriteExecuted):
        for _, event in case.of(kind):
            assert isinstance(event, ReadExecuted | WriteExecuted), event
            looked_up = missing.get((event.node, event.op, event.op_ts))
            if looked_up is not None and case.transactions[event.tx].read_ts is None:
                yield Anomaly(
                    "went-on-without-its-table",
                    f"an operation of {event.tx} was executed on node {event.node} at "
                    f"{show(event.op_ts)}, where it was shown that table {event.object_id}, or a "
                    f"view that leads to it, is missing then",
                    (looked_up, event),
                    clauses=("110.table.exists",),
                )
