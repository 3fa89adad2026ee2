"""What a process of a layer must record of a client's transaction, by what it has answered."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.store_models.sheets import Shown
from ddlsim.history.events import (
    Enlisted,
    ReadExecuted,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    WriteExecuted,
)
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import ClientOperation

READS: Final = ("get", "scan", "find")
READ_FIRST: Final = ("insert", "replace", "update")
"""Writes that depend on the row that there is."""


def compare_record(
    divergence: Divergence,
    events: Sequence[Any],
    sent: Sequence[tuple[ClientOperation, Shown | Reason]],
    committed: str | None,
) -> None:
    """Compare the events of a transaction; `committed` is its name, None where it has not."""
    same = divergence.compare
    done = [one.tx for one in events if isinstance(one, TxCommitted)]
    same("the transactions that are recorded as committed", done, [committed] if committed else [])
    began = {one.tx for one in events if isinstance(one, TxBegan)}
    ended = {one.tx for one in events if isinstance(one, TxAborted | TxCommitted)}
    same("the transactions that have begun and ended", began, ended)
    if committed is None:
        return
    mine = [one for one in events if getattr(one, "tx", "") == committed]
    reads = Counter(one.op for one in mine if isinstance(one, ReadExecuted))
    writes = Counter(one.op for one in mine if isinstance(one, WriteExecuted))
    for request, answer in sent:
        read = request.action in (*READS, *READ_FIRST)
        same(f"the reads recorded of {request}", reads[request.op], int(read))
        wrote = request.action not in READS and isinstance(answer, Shown) and answer.done
        same(f"the writes recorded of {request}", writes[request.op], int(wrote))
        rows = [
            row.key
            for one in mine
            if isinstance(one, ReadExecuted) and one.op == request.op
            for row in one.rows
            if row.row is not None
        ]
        if request.action in ("get", "scan") and isinstance(answer, Shown):
            same(f"the rows recorded of {request}", set(rows), set(answer.rows))
    resolved = [one for one in mine if isinstance(one, SchemaResolved) and one.purpose == "commit"]
    used = {one.object_id for one in mine if isinstance(one, Enlisted)}
    due = sorted(used if writes else ())
    same("the schemas recorded at the commit", sorted(one.object_id for one in resolved), due)
    tables = Counter(one.name for one in mine if isinstance(one, Enlisted))
    same("the tables that are enlisted", tables, Counter({one.table for one, _ in sent}))
