"""What a design costs in one run, measured on the run's own events.

All of it comes from the history of a run that is traced (messages are events then).

*added_us*: of each data operation or commit that succeeded, the time between its invocation and its
success during which some node waited for its metadata to be complete for this operation, or during
which a request of it was on its way that had to be sent again under another schema version, or the
answer that said so. Spans that overlap count once. Zeros count. A transaction that is aborted and
begun anew is not in it: that is the share of schema aborts.
*frozen*: operations and commits in which such a wait lasted `FROZEN_MS` or more; *refused*: those
that failed since metadata was not complete in time.
*messages*: sent between different hosts, clients included, from the beginning of the run to its
end. *received*: by each server from other hosts, while the load is on.
*schema_reads*: answers by which a reader of schemas got one over the network.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from ddlsim.history.events import Failed, Invoked, Ok, SchemaResolved
from ddlsim.history.figures import DATA, Buckets, bucketed
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageDelivered, MessageSent
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.units import US_PER_MS

FROZEN_MS: Final = 100
"""A wait for metadata from which an operation counts as frozen."""
REFUSALS: Final = (Reason.METADATA_LATE.name,)
"""Why an operation fails for want of complete metadata."""
SCHEMA_READS: Final = {"ignite": ("mismatch",)}
"""By data plane, the messages by which a reader gets a schema that it asked for or lacked.

Ignite's nodes have every catalog update pushed to them; a client gets the schema in the answer to a
request under another version."""
REFRESHES: Final = ("mismatch",)
"""Answers after which a client sends its request again under another schema version."""

Span = tuple[int, int]
"""From and to, in microseconds."""


class Prices(Record, frozen=True):
    """The costs of one run; see above. `schema_reads` is None where its plane is not measured."""

    operations: int
    refused: int
    frozen: int
    added_us: Buckets
    messages: int
    received: dict[str, int]
    load_ms: int
    schema_reads: int | None


def prices(history: History) -> Prices:
    """Measure a traced run."""
    calls = Calls(history)
    waits = calls.waits()
    plane = history.header.design.plane
    settings = history.header.settings
    load_us = settings[""]["load_ms"] * US_PER_MS
    sent = [one for one in history.of(MessageSent) if one.sender != one.to]
    received = Counter(
        one.to
        for one in history.of(MessageDelivered)
        if one.sender != one.to and one.to in settings and one.at_us < load_us
    )
    reads = SCHEMA_READS.get(plane)
    return Prices(
        operations=len(calls.ended),
        refused=sum(
            isinstance(end, Failed) and end.reason in REFUSALS for end in calls.ended.values()
        ),
        frozen=sum(
            any(until - since >= FROZEN_MS * US_PER_MS for since, until in waits.get(op, ()))
            for op in calls.ended
        ),
        added_us=bucketed(calls.added_us(waits)),
        messages=len(sent),
        received={name: received[name] for name in sorted(settings) if name},
        load_ms=settings[""]["load_ms"],
        schema_reads=None if reads is None else sum(one.kind in reads for one in sent),
    )


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

    def waits(self) -> dict[str, list[Span]]:
        """The spans in which nodes waited for metadata, by the operation that needed it.

        A look-up at the commit is for the client's commit, or, of an implicit transaction, for its
        only operation.
        """
        found: dict[str, list[Span]] = {}
        only: dict[str, str] = {}
        for event in self._history.of(SchemaResolved):
            if event.op is not None:
                only[event.tx] = event.op
            op = event.op or self._commits.get(event.tx) or only.get(event.tx)
            if event.waited_us and op in self.begun:
                found.setdefault(op, []).append((event.at_us - event.waited_us, event.at_us))
        return found

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
