"""I13: within a session, the schema does not go back, and includes the session's own statements.

For designs whose tokens say which schema a client has seen (the thread's "the most recent version
of the schema that it knows about"): they promise that to a session, and nothing to several.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from ddlsim.checkers.base import BOTH_VOICES, CHECKERS, Anomaly, Severity
from ddlsim.checkers.case.case import Case, Operation
from ddlsim.history.events import AnyEvent, Ok, UpdateLogged
from ddlsim.units import as_ms

TOKEN: Final = "token"
NO_TOKEN: Final = "no_token"
"""The field of designs of layers that says what a token tells, and its rule for: nothing."""


class Seen(NamedTuple):
    """What a session knew of an object from a position of the history on."""

    at: int
    version: int
    how: str
    witness: tuple[AnyEvent, ...]


class SessionSchema:
    """An operation of a session uses no older version of a table than the session has seen.

    Seen is what an answered operation of the session ran under or was shown, and what its
    acknowledged statements installed. A transaction owes what was seen before it began, and one for
    which the client chose a time in the past owes nothing. Operations that failed are judged, too:
    the server should have waited, fetched or refused before it used anything.
    """

    name = "session_schema"
    invariant = "I13"
    severity: Severity = "session"
    summary = "where tokens say which schema a client has seen, a session's schema never goes back"
    voices = BOTH_VOICES

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Each operation of each session against what the session had seen before."""
        if not tells_schemas(case):
            return
        seen = _seen(case)
        for operation in sessions(case):
            assert operation.invoked is not None, operation.name
            for use in case.uses_of.get(operation.name, ()):
                known = seen.get((operation.invoked.client, use.object_id), [])
                since = _since(case, operation)
                before = bisect_left(known, since, key=lambda one: one.at)
                if since < 0 or not before or known[before - 1].version <= use.version:
                    continue
                last = known[before - 1]
                yield Anomaly(
                    "session-went-back",
                    f"client {operation.invoked.client} {last.how} "
                    f"{case.schemas.describe(use.object_id, last.version)}; {operation.name}, "
                    f"invoked later at {as_ms(operation.invoked.at_us)} ms with its token, ran "
                    f"on node {use.event.node} under "
                    f"{case.schemas.describe(use.object_id, use.version)}",
                    (*last.witness, *operation.asked, use.event),
                )
                break


def tells_schemas(case: Case) -> bool:
    """Whether tokens of the design say which schema a client has seen."""
    return case.header.design.rules.get(TOKEN, NO_TOKEN) != NO_TOKEN


def sessions(case: Case) -> list[Operation]:
    """The operations whose clients carry a token."""
    return [
        one for one in case.operations.values() if one.invoked is not None and one.invoked.session
    ]


def _since(case: Case, operation: Operation) -> int:
    """Where what an operation owes had been seen; -1: it owes nothing."""
    txs = [case.transactions[name] for name in operation.txs if name in case.transactions]
    if any(tx.chosen for tx in txs):
        return -1
    assert operation.invoked_at is not None, operation.name
    return min([operation.invoked_at, *(tx.begins_at for tx in txs if tx.begins_at is not None)])


def _seen(case: Case) -> dict[tuple[str, int], list[Seen]]:
    """By client and object, from when on which version at least was known, in order."""
    found: dict[tuple[str, int], list[Seen]] = {}
    for operation in sessions(case):
        asked, ended = operation.invoked, operation.ended
        if asked is None or not isinstance(ended, Ok) or operation.ended_at is None:
            continue
        for use in case.uses_of.get(operation.name, ()):
            one = Seen(operation.ended_at, use.version, f"has used, in {operation.name},",
                       (use.event, ended))  # fmt: skip
            found.setdefault((asked.client, use.object_id), []).append(one)
    for _, update in case.of(UpdateLogged):
        ddl = case.ddls.get(update.op or "")
        if ddl is None:
            continue
        asked, ended = ddl.operation.invoked, ddl.operation.ended
        if asked is None or not asked.session or not isinstance(ended, Ok):
            continue
        at = ddl.operation.ended_at
        for change in update.objects if at is not None else ():
            one = Seen(at or 0, change.version, f"has installed, by {ddl.operation.name},",
                       (update, ended))  # fmt: skip
            found.setdefault((asked.client, change.object_id), []).append(one)
    return {of: _rising(each) for of, each in found.items()}


def _rising(each: list[Seen]) -> list[Seen]:
    """In the order of the history, each with the newest version up to there."""
    ordered = sorted(each, key=lambda one: (one.at, one.version))
    for place in range(1, len(ordered)):
        before, here = ordered[place - 1], ordered[place]
        if before.version > here.version:
            ordered[place] = before._replace(at=here.at)
    return ordered


CHECKERS.add("session_schema", SessionSchema())
