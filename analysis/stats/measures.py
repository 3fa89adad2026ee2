"""Measures of a history that `sim/history/figures.py` lacks: waits per operation, metadata writes.

*operation wait*: the schema wait of one operation or commit of a client, all its look-ups together.
The second look-up of an operation seldom waits. An operation outside of a transaction has no commit
of its own: what its implicit transactions wait for, their commits included, is its wait.
*first wait*: the wait of a transaction's look-up of a table at its coordinator. It does not follow
another wait, so it comes at any time, as the closed forms assume.
*using*, *tail*: of each committed explicit transaction and table, the time from the enlistment to
its last operation there, and from that to the commit: section 6.3 multiplies them with the rate of
DDL.
*staleness*: of each committed transaction, how long before its commit a schema that it used had
been replaced by the next version, 1 us at least; 0 where none had.
*metadata commands* are all entries of the meta storage's log, *metadata writes* those that are not
idle safe-time commands: catalog updates, prolonged leases, and updates that lost a compare-and-set
(every node sees those, so their number is divided by that of the nodes). The rate of the writes is
the mu of the closed forms. A history of one node has no events of the log: each command moved the
node's safe time.
"""

from collections.abc import Iterator

from ddlsim.history.events import (
    SafeTimeAdvanced,
    SchemaResolved,
    TxBegan,
    TxCommitted,
    UpdateLogged,
)
from ddlsim.history.history import History
from ddlsim.history.uses import apart_us, uses
from ddlsim.history.world_events import CommandLogged, LeaseBegan
from ddlsim.model.groups import META
from ddlsim.model.records import Record


class Metadata(Record, frozen=True):
    """How often the meta storage was written to in a run."""

    commands: int
    writes: int
    schema_updates: int


def operation_waits(history: History) -> Iterator[int]:
    """The schema wait of every operation and commit in microseconds, zeros included."""
    implicit = {event.tx for event in history.of(TxBegan) if event.implicit}
    op_of: dict[str, str] = {}
    waits: dict[tuple[str, str], int] = {}
    for event in history.of(SchemaResolved):
        op = event.op
        if event.tx in implicit:
            op = op_of.setdefault(event.tx, event.purpose if op is None else op)
        of = (event.tx, event.purpose) if op is None else ("", op)
        waits[of] = waits.get(of, 0) + event.waited_us
    return iter(waits.values())


def first_waits(history: History) -> Iterator[int]:
    """The schema wait of every enlistment in microseconds, zeros included."""
    looked = history.of(SchemaResolved)
    return (event.waited_us for event in looked if event.purpose == "enlist")


def spans(history: History) -> tuple[list[int], list[int]]:
    """Using and tail of every committed explicit transaction and table, in us of whole ms."""
    found = [one for one in uses(history) if not one.implicit]
    return [one.using_us for one in found], [one.tail_us for one in found]


def staleness(history: History) -> Iterator[int]:
    """How stale the schema of every committed transaction was at its commit, in us of whole ms."""
    since: dict[int, list[tuple[int, int]]] = {}
    for event in history.of(UpdateLogged):
        for change in event.objects:
            since.setdefault(change.object_id, []).append((change.version, event.activation_ts))
    for event in history.of(TxCommitted):
        ages = [
            max(apart_us(activation_ts, event.commit_ts), 1)
            for object_id, used, _ in event.tables
            for version, activation_ts in since.get(object_id, ())
            if version > used and activation_ts <= event.commit_ts
        ]
        yield max(ages, default=0)


def metadata(history: History) -> Metadata:
    """Count the entries of the meta storage's log."""
    indices = {event.index for event in history.of(CommandLogged) if event.group == META}
    nodes = max(len(history.header.settings) - 1, 1)
    if nodes == 1:
        indices = {event.safe_ts for event in history.of(SafeTimeAdvanced) if event.at_us}
    updates = {event.index for event in history.of(UpdateLogged) if event.op is not None}
    leases = {event.at_us for event in history.of(LeaseBegan) if event.at_us}
    lost = round(history.probes["catalog-cas-lost"] / nodes)
    return Metadata(len(indices), len(updates) + lost + len(leases), len(updates))
