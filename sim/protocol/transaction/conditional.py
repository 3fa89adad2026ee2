"""Writes in two phases, and those among them that look at the row first.

Insert, replace and update do. Each reads its key at the primary as a get does, under the lock of a
write: so that a row of a newer schema ends its transaction [110.back], and the row that was found
is in the history. Then it writes or does not, and says which. An update keeps what it does not set,
as the row shows under the version that the operation runs under [110.fwd.2]. The row that is
written obeys the constraints.
"""

from typing import Final

from msgspec.structs import replace

from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.partition.replica_manager import LocalReplica
from ddlsim.protocol.transaction.execution import Executor, stored_ts
from ddlsim.protocol.transaction.row_constraints import RowConstraints, updated_row
from ddlsim.units import Timestamp

CONDITIONAL: Final = ("insert", "replace", "update")


def execute(
    executor: Executor,
    constraints: RowConstraints,
    coordinator: str,
    request: Operate,
    local: LocalReplica,
    op_ts: Timestamp,
    table: Table,
) -> Operated:
    """Write; an insert only where there is no row, a replace or update only where there is one."""
    if request.action in CONDITIONAL:
        return _execute_conditional(
            executor, constraints, coordinator, request, local, op_ts, table
        )
    refused = constraints.refusal(request, local, op_ts, table)
    return refused or executor.write(coordinator, request, local, op_ts, table)


def _execute_conditional(
    executor: Executor,
    constraints: RowConstraints,
    coordinator: str,
    request: Operate,
    local: LocalReplica,
    op_ts: Timestamp,
    table: Table,
) -> Operated:
    found = executor.read(replace(request, action="get"), local, op_ts, table)
    if found.reason is not None:
        return found
    row = dict(found.rows[0][1]) if found.rows else None
    if (row is None) != (request.action == "insert"):
        reason = Reason.KEY_EXISTS if request.strict else None
        return Operated(executor.node.clock.now(), op_ts, reason, done=False)
    if request.action == "update":
        assert row is not None, request
        request = replace(request, row=updated_row(request, table, row))
    refused = constraints.refusal(request, local, op_ts, table)
    return refused or executor.write(coordinator, request, local, op_ts, table)


def repeated_answer(
    executor: Executor, request: Operate, local: LocalReplica, op_ts: Timestamp
) -> Operated:
    """The answer to a copy of the message: written if the intent is stored or on its way."""
    if request.action not in CONDITIONAL:
        answered = executor.repeated_answer(request, local, op_ts)
        assert answered is not None, f"{request.op} is no one-phase write"
        return answered
    stored = request.op in local.machine.ops_of(request.tx)
    pending = local.pending.get(request.key)
    on_its_way = pending is not None and pending.op == request.op
    done = stored or on_its_way
    sent_ts = stored_ts(executor.node, local) if stored else executor.node.clock.now()
    return Operated(sent_ts, op_ts, None, (), replicated=not on_its_way, done=done)
