"""What a scan has read, part of I12: every partition of its table, and every row once.

A partition of a table is known by the writes into it, since a table has the same ones for all its
life. A scan that is answered with success was executed in each of them; each execution shows a key
once. Serializability cannot tell: a row that a scan leaves out is not in its read, and what was not
read depends on nothing.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.operations import Operation
from ddlsim.history.events import Ok, ReadExecuted, WriteExecuted


def scan_rules(case: Case) -> Iterator[Anomaly]:
    """Each execution of a scan, then each scan that succeeded."""
    executed: dict[str, list[ReadExecuted]] = {}
    for _, read in case.of(ReadExecuted):
        if read.predicate:
            executed.setdefault(read.op, []).append(read)
            yield from _twice(case, read)
    if not executed:
        return
    partitions: dict[int, dict[int, None]] = {}
    for _, write in case.of(WriteExecuted):
        partitions.setdefault(write.object_id, {})[write.partition] = None
    for op, reads in executed.items():
        operation = case.operations.get(op)
        if operation is None or operation.invoked is None or not isinstance(operation.ended, Ok):
            continue
        if operation.invoked.kind == "scan":
            yield from _missed(case, _answered(case, operation, reads), partitions)


def _answered(case: Case, operation: Operation, reads: list[ReadExecuted]) -> list[ReadExecuted]:
    """Those of the transaction that its answer is about: an implicit one may have been tried."""
    assert operation.invoked is not None, operation.name
    if operation.invoked.tx is not None:
        return reads
    return [read for read in reads if case.transactions[read.tx].committed is not None]


def _twice(case: Case, read: ReadExecuted) -> Iterator[Anomaly]:
    keys = [tuple(row.key) if isinstance(row.key, list) else row.key for row in read.rows]
    if len({*keys}) < len(keys):
        key = next(key for at, key in enumerate(keys) if key in keys[:at])
        yield Anomaly(
            "row-shown-twice",
            f"{read.op} scanned partition {read.partition} of {case.schemas.name(read.object_id)} "
            f"on node {read.node}, and was shown row {key!r} twice",
            (read,),
        )


def _missed(
    case: Case, reads: list[ReadExecuted], partitions: dict[int, dict[int, None]]
) -> Iterator[Anomaly]:
    for object_id in {read.object_id: None for read in reads}:
        of_table = [read for read in reads if read.object_id == object_id]
        scanned = {read.partition for read in of_table}
        missing = [number for number in partitions.get(object_id, ()) if number not in scanned]
        if missing:
            yield Anomaly(
                "partition-not-scanned",
                f"{of_table[0].op} scanned {case.schemas.name(object_id)} and was not executed in "
                f"partition {missing[0]}",
                tuple(of_table),
            )
