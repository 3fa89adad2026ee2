"""What a design costs in one run, measured on the run's own events.

All of it comes from the history of a run that is traced (messages are events then).

*added_us*: of each data operation or commit that succeeded, the time between its invocation and its
success during which some node waited for its metadata to be complete for this operation or read the
schema for it (the read version apart, which a transaction of a store needs in any case), or during
which a request of it was on its way that had to be sent again under another schema version, or the
answer that said so. Spans that overlap count once. Zeros count. A transaction that is aborted and
begun anew is not in it: that is the share of schema aborts. *looks*: the look-ups for these
operations, and *first_looks* those at an enlistment among them.
*frozen*: operations and commits in which such a wait lasted `FROZEN_MS` or more; *refused*: those
that failed since metadata was not complete in time.
*messages*: sent between different hosts, clients included, from the beginning of the run to its
end. *received*: by each server from other hosts, while the load is on.
*schema_reads*: by which a reader of schemas got one over the network: on the Ignite plane, where
every catalog update is pushed to all nodes, the answers that send a client's request back; on the
FoundationDB plane reads from the storage servers that hold the schema and nothing else.
*schema_hottest*: of the latter, those that the server got which got most, while the load is on.

What the history of a plane does not show is None: where the schema shares its storage servers with
rows, its reads are not told.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from typing import Any, Final

from ddlsim.history.events import Failed, Invoked, Ok, SchemaResolved
from ddlsim.history.figures import DATA, Buckets, bucketed
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageDelivered, MessageSent
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.units import US_PER_MS
from ddlsim.verify.rates import Rates, rates

FROZEN_MS: Final = 100
"""A wait for metadata from which an operation counts as frozen."""
REFUSALS: Final = (Reason.METADATA_LATE.name,)
"""Why an operation fails for want of complete metadata."""
SCHEMA_READS: Final = {"ignite": ("mismatch",), "fdb": ("get", "get-range")}
"""By data plane, the messages that are counted as reads of the schema: all of them, or, in a store,
those to servers that hold nothing else."""
IN_A_STORE: Final = ("fdb",)
"""The planes whose schema lies where all data lies."""
REFRESHES: Final = ("mismatch",)
"""Answers after which a client sends its request again under another schema version."""

Span = tuple[int, int]
"""From and to, in microseconds."""


class Prices(Record, frozen=True):
    """The costs of one run; see above. What its plane does not show is None."""

    operations: int
    refused: int
    frozen: int
    added_us: Buckets
    looks: int
    first_looks: int
    messages: int
    received: dict[str, int]
    load_ms: int
    schema_reads: int | None
    schema_hottest: int | None
    rates: Rates


def prices(history: History, schema_servers: Container[str] = ()) -> Prices:
    """Measure a traced run; `schema_servers` hold the schema and nothing else."""
    calls = Calls(history)
    waits = calls.waits()
    looks = calls.looks()
    return Prices(
        operations=len(calls.ended),
        refused=sum(
            isinstance(end, Failed) and end.reason in REFUSALS for end in calls.ended.values()
        ),
        frozen=calls.frozen(waits),
        added_us=bucketed(calls.added_us(waits)),
        looks=len(looks),
        first_looks=sum(one.purpose == "enlist" for one in looks),
        load_ms=history.header.settings[""]["load_ms"],
        rates=rates(history),
        **_traffic(history, schema_servers),
    )


def _traffic(history: History, schema_servers: Container[str]) -> dict[str, Any]:
    """What is counted of messages between hosts."""
    plane = history.header.design.plane
    clients = {one.client for one in history.of(Invoked)}
    until_us = history.header.settings[""]["load_ms"] * US_PER_MS
    sent = [one for one in history.of(MessageSent) if one.sender != one.to]
    servers = {name for one in sent for name in (one.sender, one.to)} - clients
    received = Counter(
        one.to
        for one in history.of(MessageDelivered)
        if one.sender != one.to and one.to in servers and one.at_us < until_us
    )
    reads = [one for one in sent if one.kind in SCHEMA_READS.get(plane, ())]
    told: int | None = len(reads)
    hottest: int | None = None
    if plane in IN_A_STORE:
        apart = any(name in schema_servers for name in servers)
        own = [one for one in reads if one.to in schema_servers]
        told = len(own) if apart else None
        each = Counter(one.to for one in own if one.at_us < until_us)
        hottest = max(each.values(), default=0) if apart else None
    return {
        "messages": len(sent),
        "received": {name: received[name] for name in sorted(servers)},
        "schema_reads": told,
        "schema_hottest": hottest,
    }


class Calls:
    """The data operations and commits of a run's clients, and what each of them waited for."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.begun: dict[str, Invoked] = {}
        self.ended: dict[str, Ok | Failed] = {}
        self._commits: dict[str, str] = {}
        for event in history.of(Invoked, Ok, Failed):
            if type(event) is not Invoked:
                if event.op in self.begun:
                    self.ended[event.op] = event
            elif event.kind in DATA or event.kind == "commit":
                self.begun[event.op] = event
                if event.kind == "commit" and event.tx is not None:
                    self._commits[event.tx] = event.op

    def _looked(self) -> Iterator[tuple[str, SchemaResolved]]:
        """The look-ups with the operations that needed them.

        A look-up at the commit is for the client's commit, or, of an implicit transaction, for its
        only operation.
        """
        only: dict[str, str] = {}
        for event in self._history.of(SchemaResolved):
            if event.op is not None:
                only[event.tx] = event.op
            op = event.op or self._commits.get(event.tx) or only.get(event.tx)
            if op is not None and op in self.begun:
                yield op, event

    def waits(self) -> dict[str, list[Span]]:
        """The spans in which nodes waited for metadata, by the operation that needed it."""
        found: dict[str, list[Span]] = {}
        for op, event in self._looked():
            if event.waited_us:
                found.setdefault(op, []).append((event.at_us - event.waited_us, event.at_us))
        return found

    def looks(self) -> list[SchemaResolved]:
        """The look-ups for operations that succeeded."""
        return [event for op, event in self._looked() if isinstance(self.ended.get(op), Ok)]

    def frozen(self, waits: dict[str, list[Span]]) -> int:
        """How many waited at least so long that they count as frozen."""
        return sum(
            any(until - since >= FROZEN_MS * US_PER_MS for since, until in waits.get(op, ()))
            for op in self.ended
        )

    def refreshes(self) -> dict[str, list[Span]]:
        """The ways of a request and of the answer that it must be sent again, by operation."""
        found: dict[str, list[Span]] = {}
        latest: dict[str, str] = {}
        of: dict[tuple[str, int], str] = {}
        ways: dict[tuple[str, int], Span] = {}
        for event in self._history.of(Invoked, MessageSent, MessageDelivered):
            if type(event) is Invoked:
                latest[event.client] = event.op
            elif type(event) is MessageSent and event.sender in latest:
                before = of.get((event.sender, event.label - 1))
                of.setdefault((event.sender, event.label), before or latest[event.sender])
            elif type(event) is MessageDelivered and event.sender in latest:
                ways.setdefault((event.sender, event.label), (event.sent_us, event.at_us))
            elif type(event) is MessageDelivered and event.kind in REFRESHES:
                request = (event.to, event.label)
                if of.get(request) in self.begun:
                    spans = (ways[request], (event.sent_us, event.at_us))
                    found.setdefault(of[request], []).extend(spans)
        return found

    def added_us(self, waits: dict[str, list[Span]]) -> list[int]:
        """The time that the schema took of every operation that succeeded, in their order."""
        again = self.refreshes()
        found = []
        for op, end in self.ended.items():
            if isinstance(end, Ok):
                since = self.begun[op].at_us
                spans = (*waits.get(op, ()), *again.get(op, ()))
                found.append(covered_us(spans, since, end.at_us))
        return found


def covered_us(spans: Iterable[Span], since_us: int, until_us: int) -> int:
    """How much of the time from `since_us` to `until_us` lies in some span."""
    covered, reached = 0, since_us
    for begin, end in sorted(spans):
        left, right = max(begin, reached), min(end, until_us)
        if right > left:
            covered += right - left
            reached = right
    return covered
