"""I2: all participants of a committed transaction used one version per table.  [98.one]"""

from collections.abc import Iterator

from ddlsim.checkers.base import CHECKERS, WITNESS, Anomaly, Severity
from ddlsim.checkers.by_name import is_compatible_by_name
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.writes import the_row
from ddlsim.checkers.forward_compatible import first_incompatible
from ddlsim.history.events import (
    ReadExecuted,
    RowFinal,
    TxCommitted,
    WriteExecuted,
)
from ddlsim.units import MIN_TIMESTAMP, show


class UniformCommit:
    """One version of each table on whatever nodes, and rows that may exist at commit_ts.

    A row is consistent with the schema at its commit_ts if it was written under that version, or
    under one from which every step to it is forward-compatible [98.one] [110.valid.1]. What a
    transaction only read is not judged here but in I8. All participants commit at one commit_ts, as
    the rows at the end of the run show it: only this checker sees a participant that chooses its
    own, and a commit that was judged by other tables than those that it used. I5 and I8 see the
    other breaches too.
    """

    name = "uniform_commit"
    invariant = "I2"
    severity: Severity = "safety"
    summary = "participants of a committed transaction used one version per table"
    voices = WITNESS

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Transactions on several versions, rows of no use at commit_ts, several commit_ts."""
        for tx in case.committed:
            yield from _several_versions(case, tx)
            yield from _rows(case, tx)
            yield from _tables(case, tx)
        yield from _several_timestamps(case)


def _several_versions(case: Case, tx: Transaction) -> Iterator[Anomaly]:
    first: dict[int, ReadExecuted | WriteExecuted] = {}
    reported: dict[int, None] = {}
    for object_id, version, _, event in tx.uses():
        if not isinstance(event, ReadExecuted | WriteExecuted):
            continue
        before = first.setdefault(object_id, event)
        if before.version == version or object_id in reported:
            continue
        reported[object_id] = None
        assert tx.committed is not None, tx.name
        yield Anomaly(
            "mixed-commit",
            f"{tx.name} committed at {show(tx.committed.commit_ts)} with "
            f"{case.schemas.describe(object_id, before.version)} on node {before.node} (at "
            f"{show(before.op_ts)}) and version {version} on node {event.node} (at "
            f"{show(event.op_ts)})",
            (before, event, tx.committed),
            clauses=("98.one",),
        )


def _tables(case: Case, tx: Transaction) -> Iterator[Anomaly]:
    """What a commit is judged by: it names each table that was used, with that version."""
    assert tx.committed is not None, tx.name
    named = {object_id: initial for object_id, initial, _ in tx.committed.tables}
    used: dict[int, list[int]] = {}
    first: dict[int, ReadExecuted | WriteExecuted] = {}
    for object_id, version, _, event in tx.uses():
        if isinstance(event, ReadExecuted | WriteExecuted):
            used.setdefault(object_id, []).append(version)
            first.setdefault(object_id, event)
    for object_id, versions in used.items():
        if named.get(object_id) not in versions:
            yield Anomaly(
                "tables-not-as-used",
                f"{tx.name} used {case.schemas.describe(object_id, versions[0])}, and its commit "
                f"names {'another version' if object_id in named else 'no version of it'}",
                (first[object_id], tx.committed),
                clauses=("98.one",),
            )


def _rows(case: Case, tx: Transaction) -> Iterator[Anomaly]:
    assert tx.committed is not None, tx.name
    commit_ts = tx.committed.commit_ts
    reported: dict[tuple[int, int], None] = {}
    for _, write in tx.writes:
        known = (write.object_id, write.version)
        if known in reported:
            continue
        reported[known] = None
        target = case.schemas.effective(write.object_id, commit_ts)
        upto = 0 if target is None else target.version
        found = _inconsistent(case, write, upto, commit_ts)
        if found is not None:
            why, clauses = found
            row = the_row(case, write.object_id, write.key, write.version)
            yield Anomaly(
                "inconsistent-row",
                f"{tx.name} wrote {row} on node {write.node} and "
                f"committed it at {show(commit_ts)}, where version {upto} is the "
                f"schema: {why}",
                (write, tx.committed),
                clauses=clauses,
            )


def _inconsistent(
    case: Case, write: WriteExecuted, upto: int, commit_ts: int
) -> tuple[str, tuple[str, ...]] | None:
    """Why, and the clauses: another one where columns compared by name would do."""
    if write.version > upto:
        return "the row is of a version that was not active yet", ("98.one", "110.fwd.1")
    found = first_incompatible(case, write.object_id, write.version, commit_ts)
    if found is None:
        return None
    step, ruling = found
    by_name = is_compatible_by_name(case.schemas, step)
    clauses = ("98.one", "110.compat.id" if by_name else "110.fwd.1")
    return f"the step to version {step.version} is not forward-compatible: {ruling.reason}", clauses


def _several_timestamps(case: Case) -> Iterator[Anomaly]:
    """A commit stored twice, or kept by a participant, with another commit_ts than the first."""
    stamped: list[tuple[str, int, TxCommitted | RowFinal]] = [
        (event.tx, event.commit_ts, event) for _, event in case.of(TxCommitted)
    ]
    stamped += [
        (event.writer, event.commit_ts, event)
        for _, event in case.of(RowFinal)
        if event.commit_ts != MIN_TIMESTAMP  # a server that lags does not tell
    ]
    for name, commit_ts, event in stamped:
        tx = case.transactions.get(name)
        first = None if tx is None else tx.committed
        if first is not None and first.commit_ts != commit_ts:
            yield Anomaly(
                "several-commit-timestamps",
                f"{name} committed at {show(first.commit_ts)} on node {first.node}, and "
                f"at {show(commit_ts)} on node {event.node}",
                (first, event),
                clauses=("98.one",),
            )


CHECKERS.add("uniform_commit", UniformCommit())
