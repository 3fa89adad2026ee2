"""An operation runs at the op_ts of its last check, if that allowed it; part of I12.

[110.valid.2] [110.x.1] [110.table.exists]

Judged by what the operation itself was shown: its primary looks the table up at op_ts. It executes
nothing where it found none, nor another version than it runs under, nor at a timestamp of which it
has looked up nothing: so it does where it waits behind its check and goes on. Whether the look-up
was right is another question (I1), and what such an operation leads to is a compatible change
passed over, perhaps, which no graph shows; so no other checker need see it.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.operations import AT_THE_PRIMARY
from ddlsim.history.events import ReadExecuted, SchemaResolved, WriteExecuted
from ddlsim.units import show

NEEDED = {"check_exists": "must_exist", "check_operation_when": "ARRIVAL_AND_AFTER_LOCKS"}
"""The rules of a design that what is judged here rests on."""
OF_VERSIONS = {"check_operation": "must_be_same_schema", "run_version": "under_initial"}
"""Those besides by which the version found is the one that the operation runs under."""

Executed = ReadExecuted | WriteExecuted


def operation_checks(case: Case) -> Iterator[Anomaly]:
    """Operations that were executed at a timestamp at which their check did not allow it."""
    rules = case.header.design.rules
    if any(rules.get(field) != rule for field, rule in NEEDED.items()):
        return
    shown = _Shown(case)
    for kind in (ReadExecuted, WriteExecuted):
        for _, ran in case.of(kind):
            assert isinstance(ran, ReadExecuted | WriteExecuted), ran
            if case.transactions[ran.tx].read_ts is None:
                yield from shown.judged(ran)


class _Shown:
    """What primaries were shown of the schemas of operations."""

    def __init__(self, case: Case) -> None:
        rules = case.header.design.rules
        self._case = case
        self._same = all(rules.get(field) == rule for field, rule in OF_VERSIONS.items())
        self._missing: dict[tuple[str, str | None, int], SchemaResolved] = {}
        self._found: dict[tuple[str, str | None, int, int], SchemaResolved] = {}
        for _, event in case.of(SchemaResolved):
            if event.purpose in AT_THE_PRIMARY:
                self._found[event.node, event.op, event.ts, event.object_id] = event
                if not event.version:
                    self._missing[event.node, event.op, event.ts] = event

    def judged(self, ran: Executed) -> Iterator[Anomaly]:
        """Why an operation must not have been executed at its op_ts."""
        at = (ran.node, ran.op, ran.op_ts)
        looked_up = self._found.get((*at, ran.object_id))
        if at in self._missing:
            yield _without_table(self._case, self._missing[at], ran)
        elif looked_up is None:
            yield _unchecked(self._case, ran)
        elif self._same and looked_up.version != ran.version:
            yield _under_another(self._case, looked_up, ran)


def _table(case: Case, ran: Executed) -> str:
    return case.schemas.name(ran.object_id)


def _without_table(case: Case, looked_up: SchemaResolved, ran: Executed) -> Anomaly:
    return Anomaly(
        "went-on-without-its-table",
        f"{_operation(ran)}, where it was shown that {_table(case, ran)}, or a view that "
        "leads to it, is missing then",
        (looked_up, ran),
        clauses=("110.table.exists",),
    )


def _unchecked(case: Case, ran: Executed) -> Anomaly:
    return Anomaly(
        "ran-unchecked",
        f"{_operation(ran)}, of which it had not looked up {_table(case, ran)}",
        (ran,),
        clauses=("110.valid.2", "110.x.1"),
    )


def _under_another(case: Case, looked_up: SchemaResolved, ran: Executed) -> Anomaly:
    return Anomaly(
        "ran-under-another-version",
        f"{_operation(ran)} under version {ran.version} of {_table(case, ran)}, where it was "
        f"shown version {looked_up.version}",
        (looked_up, ran),
        clauses=("110.valid.2",),
    )


def _operation(ran: Executed) -> str:
    return f"an operation of {ran.tx} was executed on node {ran.node} at {show(ran.op_ts)}"
