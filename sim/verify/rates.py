"""What closed forms multiply, counted on the events of one run.

*readers*: transactions for which a schema was looked up; *first_looks*: how often at an enlistment,
which comes at any time. *changes*: schema updates of statements, and *changes_of* by the object
that they changed; *in_load*: those that came into force while the load was on, and
*crossed* by the object that was there before, as transactions that use it may be; *met*:
those of which a committed transaction of a client used what they made of a table, or a later
version of it, or after which an operation did not find what they dropped. *users*: committed
transactions of clients that used any table, and *span_us*, the sum of their longest uses, as
*lost_span_us* is that of the longest uses of aborted ones; *uses* has those by table, and
*outdated* and *lost*, in which no table need stand, of those that the schema aborted, and of other
aborted ones; all while the load was on, as changes are. *holds*: by table, from the enlistment of
each transaction of a client to its end, in simulated time, aborted ones too.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ddlsim.history.events import (
    Enlisted,
    Failed,
    Invoked,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    UpdateLogged,
)
from ddlsim.history.figures import Buckets, bucketed
from ddlsim.history.history import History
from ddlsim.history.uses import lost_uses, uses
from ddlsim.model.ddl import ObjectChange, ObjectCreated
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.units import Timestamp, physical_ms


class Used(NamedTuple):
    """Of one table: committed transactions, their time of use, from that to the commit, and of it
    that up to the last write of a row, us."""

    transactions: int
    using_us: int
    tail_us: int
    writing_us: int


class Lost(NamedTuple):
    """Of one table, in us: how long transactions used it that aborted for the schema, or for
    another reason: until their abort, and up to their last operation there, or write of a row."""

    whole_us: int
    using_us: int
    writing_us: int


class Crossed(NamedTuple):
    """Of one table: its changes, those that are not forward-compatible, and the same two as Apache
    Ignite 3 counts table versions and judges steps."""

    every: int
    incompatible: int
    every_shipped: int
    incompatible_shipped: int


class Rates(Record, frozen=True):
    """The counts of one run; see above."""

    readers: int
    first_looks: int
    changes: int
    changes_of: dict[int, int]
    in_load: int
    crossed: dict[int, Crossed]
    met: int
    users: int
    span_us: int
    lost_span_us: int
    uses: dict[int, Used]
    outdated: dict[int, Lost]
    lost: dict[int, Lost]
    holds: dict[int, Buckets]


def rates(history: History) -> Rates:
    """Count."""
    looked = history.of(SchemaResolved)
    updates = {one.index: one for one in history.of(UpdateLogged) if one.op is not None}
    changes_of: dict[int, int] = {}
    for update in updates.values():
        for object_id in {change.object_id for change in update.objects}:
            changes_of[object_id] = changes_of.get(object_id, 0) + 1
    load_ms = history.header.settings[""]["load_ms"]
    in_load = [
        one for one in updates.values() if physical_ms(Timestamp(one.activation_ts)) < load_ms
    ]
    of: dict[int, Used] = {}
    longest: dict[str, int] = {}
    for one in uses(history):
        longest[one.tx] = max(longest.get(one.tx, 0), one.using_us + one.tail_us)
    wasted: dict[str, int] = {}
    for each in lost_uses(history):
        wasted[each.tx] = max(wasted.get(each.tx, 0), each.whole_us)
    for one in uses(history, load_ms):
        before = of.get(one.object_id, Used(0, 0, 0, 0))
        own = (1, one.using_us, one.tail_us, one.writing_us)
        of[one.object_id] = Used(*map(sum, zip(before, own, strict=True)))
    outdated: dict[int, Lost] = {}
    lost: dict[int, Lost] = {}
    for each in lost_uses(history, load_ms):
        mine = outdated if Reason[each.reason].is_schema else lost
        times = (each.whole_us, each.using_us, each.writing_us)
        sums = mine.get(each.object_id, Lost(0, 0, 0))
        mine[each.object_id] = Lost(*map(sum, zip(sums, times, strict=True)))
    return Rates(
        readers=len({one.tx for one in looked}),
        first_looks=sum(one.purpose == "enlist" for one in looked),
        changes=len(updates),
        changes_of=dict(sorted(changes_of.items())),
        in_load=len(in_load),
        crossed=_crossed(step for one in in_load for step in one.objects),
        met=_met(history, updates.values()),
        users=len(longest),
        span_us=sum(longest.values()),
        lost_span_us=sum(wasted.values()),
        uses=dict(sorted(of.items())),
        outdated=dict(sorted(outdated.items())),
        lost=dict(sorted(lost.items())),
        holds=_holds(history),
    )


def _crossed(steps: Iterable[ObjectChange]) -> dict[int, Crossed]:
    # imported here, as `check` needs none of the protocol
    from ddlsim.protocol.design.as_shipped import is_table_version
    from ddlsim.protocol.schema.compatibility import IGNITE3, is_forward_compatible

    found: dict[int, Crossed] = {}
    for step in steps:
        if any(isinstance(change, ObjectCreated) for change in step.changes):
            continue
        kinds = (
            True,
            not is_forward_compatible(step),
            is_table_version(step),
            not is_forward_compatible(step, IGNITE3),
        )
        before = found.get(step.object_id, Crossed(0, 0, 0, 0))
        found[step.object_id] = Crossed(*map(sum, zip(before, kinds, strict=True)))
    return dict(sorted(found.items()))


def _met(history: History, updates: Iterable[UpdateLogged]) -> int:
    """How many changes clients met, each in one of its objects at least."""
    clients = {event.tx for event in history.of(TxBegan)}
    newest: dict[int, int] = {}
    for event in history.of(TxCommitted):
        for object_id, version, _ in event.tables if event.tx in clients else ():
            newest[object_id] = max(version, newest.get(object_id, 0))
    asked = {event.op: event.table for event in history.of(Invoked)}
    gone: dict[str | None, int] = {}
    for failed in history.of(Failed):
        if failed.reason == Reason.TABLE_NOT_FOUND.name:
            gone[asked.get(failed.op)] = failed.at_us
    return sum(
        any(
            gone.get(one.name, -1) >= update.at_us
            if one.definition is None
            else newest.get(one.object_id, 0) >= one.version
            for one in update.objects
        )
        for update in updates
    )


def _holds(history: History) -> dict[int, Buckets]:
    open_since: dict[str, dict[int, int]] = {event.tx: {} for event in history.of(TxBegan)}
    taken: dict[int, list[int]] = {}
    for event in history.of(Enlisted, TxCommitted, TxAborted):
        if isinstance(event, Enlisted):
            if event.tx in open_since:
                open_since[event.tx].setdefault(event.object_id, event.at_us)
        elif isinstance(event, TxCommitted | TxAborted):
            for object_id, since in open_since.pop(event.tx, {}).items():
                taken.setdefault(object_id, []).append(event.at_us - since)
    return {object_id: bucketed(many) for object_id, many in sorted(taken.items())}
