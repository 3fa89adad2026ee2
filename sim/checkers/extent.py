"""How much of a history each checker had to judge: an "ok" over nothing proves nothing.

For each checker, in the order of the invariants, what it judges and how many there were of it in
this history. A checker of a plug-in that is not listed here has no numbers.
"""

from collections.abc import Callable, Iterator
from typing import Final

from ddlsim.checkers.base import in_order
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.forward_compatible import is_crossing, judged, versions_used
from ddlsim.checkers.index_contents import indexes
from ddlsim.checkers.judge import Claims
from ddlsim.checkers.needless.grounds import undecided
from ddlsim.checkers.needless.waits import judges_waits
from ddlsim.checkers.session_schema import sessions, tells_schemas
from ddlsim.history.events import (
    DdlDecided,
    Failed,
    Invoked,
    LockWaited,
    Ok,
    RowFinal,
    SafeTimeAdvanced,
    SchemaResolved,
    Unknown,
    UpdateApplied,
)
from ddlsim.history.index_events import (
    IndexFilled,
    IndexFinal,
    IndexPartRead,
    IndexRead,
    IndexWritten,
)
from ddlsim.history.world_events import CommandLogged, LeaderElected, LeaseBegan, NodeCrashed
from ddlsim.model.records import Record

Amounts = dict[str, int]


class Extent(Record, frozen=True):
    """What one checker looked at: `amounts` by what they are; the first is what it judges.

    `claimed`: whether the design claims the invariant; `judged`: whether the history has the events
    that the checker needs.
    """

    invariant: str
    checker: str
    claimed: bool
    judged: bool
    amounts: Amounts

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing that could have broken the invariant."""
        return bool(self.amounts) and not next(iter(self.amounts.values()))


def extents(case: Case, *, all_claims: bool = False) -> Iterator[Extent]:
    """What each checker had before it."""
    claims = Claims(case, strict=False, all_claims=all_claims, findings=())
    for checker in in_order():
        judged = all(voice in case.header.voices for voice in checker.voices)
        count = AMOUNTS.get(checker.name)
        yield Extent(
            checker.invariant,
            checker.name,
            claims.claimed(checker),
            judged,
            count(case) if judged and count is not None else {},
        )


def _atomicity(case: Case) -> Amounts:
    looked = [event for _, event in case.of(SchemaResolved)]
    return {
        "look-ups of a schema": len(looked),
        "nodes": len({event.node for event in looked}),
        "applied updates": len(case.of(UpdateApplied)),
    }


def _uniform_commit(case: Case) -> Amounts:
    places = [len({(one.object_id, one.partition) for one in tx.accesses}) for tx in case.committed]
    return {
        "committed transactions": len(places),
        "on two partitions or more": sum(count > 1 for count in places),
    }


def _serializability(case: Case) -> Amounts:
    """A statement that changes nothing has read the catalog, so it is in the graph, too."""
    installed = sum(ddl.logged is not None for ddl in case.ddls.values())
    return {
        "committed transactions and DDL statements": len(case.committed) + len(case.ddls),
        "committed transactions": len(case.committed),
        "schema updates": installed,
    }


def _own_ddl(case: Case) -> Amounts:
    """Operations that were asked for after some statement was acknowledged."""
    decided = {event.op for _, event in case.of(DdlDecided)}
    answered = [at for at, event in case.of(Ok) if event.op in decided]
    since = min(answered, default=None)
    later = 0 if since is None else sum(at > since for at, _ in case.of(Invoked))
    return {"operations after an acknowledged DDL": later, "acknowledged DDL": len(answered)}


def _single_schema(case: Case) -> Amounts:
    used = [tx for tx in case.transactions.values() if tx.uses()]
    tables = [len({use.object_id for use in tx.uses()}) for tx in used]
    return {
        "transactions that used a table": len(used),
        "with several operations": sum(len(tx.uses()) > 1 for tx in used),
        "with several tables": sum(count > 1 for count in tables),
    }


def _data(case: Case) -> Amounts:
    txs = case.transactions.values()
    read = sum(len(event.rows) for tx in txs for _, event in tx.reads)
    written = sum(len(tx.writes) for tx in txs)
    return {
        "rows read or written": read + written,
        "rows read": read,
        "rows written": written,
        "rows kept at the end": len(case.of(RowFinal)),
    }


def _entries(case: Case) -> Amounts:
    """A row that is written is what lacks its entry, or leaves one behind."""
    kept = {one.object_id for one in case.schemas.all_steps() if indexes(case, one.object_id)}
    written = [event for tx in case.committed for _, event in tx.writes]
    return {
        "rows written in tables with an index": sum(one.object_id in kept for one in written)
        if case.keeps_entries
        else 0,
        "entries written or removed": len(case.of(IndexWritten)) + len(case.of(IndexFilled)),
        "queries by an index": len(case.of(IndexRead)) + len(case.of(IndexPartRead)),
        "entries kept at the end": len(case.of(IndexFinal)),
    }


def _two_versions(case: Case) -> Amounts:
    """Uses of a version of a table by transactions that committed."""
    used = [len({(use.object_id, use.version) for use in tx.uses()}) for tx in case.committed]
    return {"committed transactions": len(used), "versions of tables that they used": sum(used)}


def _forward(case: Case) -> Amounts:
    """By the complete log: the commit's own record is what the validator took for in force."""
    crossed = sum(
        any(is_crossing(case, tx, *used) for used in versions_used(case, tx)) for tx in judged(case)
    )
    return {"commits across a change of a table": crossed, "commits": len(case.committed)}


def _liveness(case: Case) -> Amounts:
    ended = sum(len(case.of(kind)) for kind in (Ok, Failed, Unknown))
    return {
        "operations": len(case.of(Invoked)),
        "that ended": ended,
        "beginnings and ends of faults": len(case.faults),
    }


def _opacity(case: Case) -> Amounts:
    """On plane `fdb` a transaction that has written nothing is a read-only one."""
    txs = list(case.transactions.values())
    return {
        "aborted or read-only transactions that read": sum(
            bool(tx.reads)
            and (
                tx.committed is None
                or tx.read_ts is not None
                or (case.is_layered and not tx.writes)
            )
            for tx in txs
        ),
        "transactions": len(txs),
    }


def _precision(case: Case) -> Amounts:
    aborted = [tx for tx in case.transactions.values() if tx.aborted is not None]
    waits = len(case.of(SchemaResolved)) + len(case.of(DdlDecided)) if judges_waits(case) else 0
    return {
        "aborts, look-ups and acknowledgements": len(aborted) + waits,
        "aborted transactions": len(aborted),
        "of them not judged": undecided(case),
        "transactions": len(case.transactions),
        "waits for a lock": len(case.of(LockWaited)),
    }


def _machinery(case: Case) -> Amounts:
    return {
        "applied commands": len(case.of(CommandLogged)),
        "elections": len(case.of(LeaderElected)),
        "leases": len(case.of(LeaseBegan)),
        "safe times": len(case.of(SafeTimeAdvanced)),
        "crashes": len(case.of(NodeCrashed)),
    }


def _sessions(case: Case) -> Amounts:
    found = sessions(case) if tells_schemas(case) else []
    return {
        "operations with a token that tells a schema": len(found),
        "sessions": len({one.invoked.client for one in found if one.invoked is not None}),
    }


AMOUNTS: Final[dict[str, Callable[[Case], Amounts]]] = {
    "atomicity": _atomicity,
    "uniform_commit": _uniform_commit,
    "serializability": _serializability,
    "own_ddl": _own_ddl,
    "single_schema": _single_schema,
    "data_matches_schema": _data,
    "index_contents": _entries,
    "two_versions": _two_versions,
    "forward_compatible": _forward,
    "liveness": _liveness,
    "opacity": _opacity,
    "precision": _precision,
    "machinery": _machinery,
    "session_schema": _sessions,
}
"""What each checker judges, by its name."""
