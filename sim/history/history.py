"""A history: the append-only record of one run, with the header that lets anyone repeat it."""

import hashlib
from collections import Counter, defaultdict
from operator import itemgetter
from typing import Any, Final

import msgspec

from ddlsim.history.events import AnyEvent
from ddlsim.model.design import DesignHeader
from ddlsim.model.records import Record

FORMAT: Final = 1
"""The format number of all JSON output."""
HISTORY_FORMAT: Final = 2
"""The format number of stored histories; 2 has a digest over everything in the End record."""

FINGERPRINT_DIGITS: Final = 16


class Header(Record, frozen=True, tag_field="event", tag="Header"):
    """The first record of a history: what ran, under which design, and how to repeat it.

    `scenario_text` is the scenario file's whole text and `overrides` what was set over it, so that
    a history can be run again without the file. `settings` are the resolved numbers per node name
    (and `""` for the cluster), in milliseconds: `max_clock_skew_ms`, `delay_duration_ms`, …; of
    the cluster also how many nodes are `voters`, whether it is `calm`, and more
    (`facts_for_judges` of sim/cluster/run.py).
    `reaches` are the probes that the scenario says must be reached, `never_reaches` those that must
    not be; `strict` judges by the strict
    graph, in which every use of a schema version counts; `all_claims` by every invariant, whatever
    the design claims.
    """

    format: int
    program: str
    scenario: str
    scenario_text: str
    overrides: dict[str, Any]
    seed: int
    design: DesignHeader
    mutant: str | None
    expect: Any
    reaches: tuple[str, ...]
    settings: dict[str, dict[str, int]]
    voices: tuple[str, ...] = ("client", "witness")
    strict: bool = False
    all_claims: bool = False
    never_reaches: tuple[str, ...] = ()


class History:
    """The events of one run in their order, and how often each probe was reached.

    `events` is a plain list; appending to it is all that recording costs, and all that is done with
    it: events are not changed once they were asked for by kind. `end_us` is the simulated instant
    at which the run ended.
    """

    def __init__(self, header: Header) -> None:
        self.header = header
        self.events: list[AnyEvent] = []
        self.probes: Counter[str] = Counter()
        self.end_us = 0
        self.executed_events = 0
        self._by_kind: dict[type, list[tuple[int, Any]]] = {}
        self._sorted_in: tuple[list[AnyEvent], int] = (self.events, 0)

    def fingerprint(self) -> str:
        """SHA-256 over every event's JSON, in order: equal for equal runs, on any machine."""
        encoder = msgspec.json.Encoder()
        digest = hashlib.sha256()
        for event in self.events:
            digest.update(encoder.encode(event))
        return digest.hexdigest()[:FINGERPRINT_DIGITS]

    def by_kind(self) -> dict[type, list[tuple[int, Any]]]:
        """The events of each kind with their positions, in order; not to be changed."""
        source, count = self._sorted_in
        if source is not self.events or count > len(self.events):
            self._by_kind, count = {}, 0
        if count < len(self.events):
            found: dict[type, list[tuple[int, Any]]] = defaultdict(list, self._by_kind)
            for placed in enumerate(self.events[count:] if count else self.events, count):
                found[type(placed[1])].append(placed)
            self._by_kind = dict(found)
        self._sorted_in = (self.events, len(self.events))
        return self._by_kind

    def of(self, *kinds: type) -> list[Any]:
        """The events of these kinds, in order."""
        by_kind = self.by_kind()
        if len(kinds) == 1:
            return [event for _, event in by_kind.get(kinds[0], ())]
        placed = [each for kind in {*kinds} for each in by_kind.get(kind, ())]
        placed.sort(key=itemgetter(0))
        return [event for _, event in placed]
