"""What an operation that never completed waits for, as far as the history shows."""

from ddlsim.checkers.case.case import Case
from ddlsim.history.event import Event
from ddlsim.history.events import DdlDecided, LockWaited, SafeTimeAdvanced
from ddlsim.history.world_events import NeverCompleted
from ddlsim.units import as_ms, show


def waiting(case: Case, event: NeverCompleted) -> str:
    """The operation, its last event, and the state of the node of that event."""
    sentence = f"{event.op} of {event.client} never ended: it waits for {event.waits_for}"
    operation = case.operations.get(event.op)
    if operation is None or operation.invoked is None:
        return sentence
    last = _last_seen(case, operation.invoked.tx or event.op, event.op)
    if last is not None:
        what, node, at_us = last
        sentence += f"; last, at {as_ms(at_us)} ms, {what} on {node}"
    node = operation.invoked.node if last is None else last[1]
    state = _state(case, node)
    return f"{sentence}; {state}" if state else sentence


def _last_seen(case: Case, tx_name: str, op: str) -> tuple[str, str, int] | None:
    """The latest event of the operation, or of its transaction: what, node, instant."""
    seen: list[tuple[int, str, str, int]] = []
    tx = case.transactions.get(tx_name)
    if tx is not None:
        seen += [
            (at, f"it looked up a schema ({e.purpose})", e.node, e.at_us) for at, e in tx.resolved
        ]
        seen += [(at, "it read", e.node, e.at_us) for at, e in tx.reads]
        seen += [(at, f"it wrote {e.key!r}", e.node, e.at_us) for at, e in tx.writes]
    seen += [
        (at, "it got a lock" if e.granted else "it was refused a lock", e.node, e.at_us)
        for at, e in case.of(LockWaited)
        if e.op == op
    ]
    ddl = case.ddls.get(op)
    if ddl is not None and ddl.logged is not None:
        seen.append((ddl.logged_at, "it was logged", ddl.logged.node, ddl.logged.at_us))
    seen += [
        (at, f"it waited for {show(e.acknowledge_ts)} on the clock", e.node, e.at_us)
        for at, e in case.of(DdlDecided)
        if e.op == op
    ]
    return max(seen)[1:] if seen else None


def _state(case: Case, node: str) -> str:
    """Whether a node lives, and what its schema safe time is, which no process of a store has."""
    if node in case.dead:
        return f"{node} is dead"
    if case.is_layered:
        return ""
    last: Event | None = None
    safe = "has published no safe time"
    for _, event in case.of(SafeTimeAdvanced):
        if event.node == node:
            last, safe = event, f"has stood at safe time {show(event.safe_ts)}"
    return f"{node} {safe}" + ("" if last is None else f" since {as_ms(last.at_us)} ms")
