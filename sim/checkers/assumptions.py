"""Which assumptions of its design a run broke, by its true clock skew and delays.

`skew<=CSmax` compares how far back any physical clock ever was behind what any had shown by then,
itself included, with the smallest CSmax that is configured anywhere. At one instant that is the
difference of two clocks. It holds over time because hybrid clocks remember: what was stamped by a
clock that was ahead, or acknowledged because of it, stays when that clock is set back; and a clock
that is set back shows once more what had been past for all. Clocks are straight lines between
`ClockSet` events, and what they have shown never falls, so the largest distance lies at the border
of two pieces or at the end of the run.

`skew<=CSmax between leases` is broken by the same in a run where some partition passed from one
node to another: as long as each stays with its first primary, nothing depends on leases.

`skew<=election timeout` compares it with the smallest election timeout: a new leader that trusts
its own clock then stamps above its predecessor. A fault that makes another member stand at once
breaks it too, whatever the skew: that leader does not follow an election timeout.

`drift<=margin` is broken by a clock whose rate differs from true time by more than the design's
`drift_percent`, and by a step: back, a lease lasts longer than its holder measures; ahead, a wait
for its end is shorter.

`PD+skew<=DD` is broken when a node applies an update for the first time when some node's physical
clock already shows the millisecond of its activation: then PD and skew together were not less than
DD. The initial schema is exempt, it is there before anything can use it.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from ddlsim.checkers.case.case import Case
from ddlsim.history.events import UpdateApplied
from ddlsim.history.world_events import ClockSet, FaultBegan, LeaderElected, LeaseBegan
from ddlsim.model.design import (
    DELAY_BOUNDED,
    ELECTIONS_SLOW,
    LEASES_HOLD,
    RATES_BOUNDED,
    SKEW_BOUNDED,
)
from ddlsim.model.groups import META
from ddlsim.units import US_PER_MS, Timestamp, as_ms, physical_ms

PPM: Final = 1_000_000
RE_ELECTION: Final = "re_election"
"""The fault that makes members stand for election at once."""


class Piece(NamedTuple):
    """A clock from one instant on: `offset_us` from true time, and drifting."""

    from_us: int
    offset_us: int
    drift_ppm: int

    def offset_at(self, at_us: int) -> int:
        """How far the clock is from true time at an instant."""
        return self.offset_us + self.drift_ppm * (at_us - self.from_us) // PPM


class Skew(NamedTuple):
    """The clock of `slow` showed at `at_us` so much less than that of `fast` at `shown_at_us`."""

    us: int
    slow: str
    at_us: int
    fast: str
    shown_at_us: int


TRUE_TIME: Final = Piece(0, 0, 0)


class Clocks:
    """Every node's physical clock during a run."""

    def __init__(self, case: Case) -> None:
        names = [node for node in case.header.settings if node]
        self._pieces: dict[str, list[Piece]] = {name: [TRUE_TIME] for name in names}
        instants: dict[int, None] = {case.history.end_us: None}
        for _, event in case.of(ClockSet):
            self._set(event)
            instants[event.at_us] = None
        self._instants = sorted(instants)

    def _set(self, event: ClockSet) -> None:
        piece = Piece(event.at_us, event.offset_us, event.drift_ppm)
        self._pieces.setdefault(event.node, [TRUE_TIME]).append(piece)

    def offsets(self, at_us: int, *, before: bool = False) -> dict[str, int]:
        """Each clock's distance from true time at an instant, or just before it."""
        return {
            node: _in_force(pieces, at_us, before=before).offset_at(at_us)
            for node, pieces in self._pieces.items()
        }

    def largest_skew(self) -> Skew:
        """The farthest that any clock ever was behind what some clock had shown by then."""
        found = Skew(0, "", 0, "", 0)
        shown_us, shown_by, shown_at = 0, "", 0
        for at_us in self._instants:
            for before in (True, False) if at_us else (False,):
                offsets = self.offsets(at_us, before=before)
                if not offsets:
                    continue
                fast = max(offsets, key=lambda node: offsets[node])
                slow = min(offsets, key=lambda node: offsets[node])
                if not shown_by or at_us + offsets[fast] > shown_us:
                    shown_us, shown_by, shown_at = at_us + offsets[fast], fast, at_us
                skew_us = shown_us - at_us - offsets[slow]
                if skew_us > found.us:
                    found = Skew(skew_us, slow, at_us, shown_by, shown_at)
        return found

    def spread_us(self) -> int:
        """From the slowest that any clock ever was to the fastest, against true time."""
        offsets = [0]
        for at_us in self._instants:
            offsets += self.offsets(at_us).values()
            offsets += self.offsets(at_us, before=at_us > 0).values()
        return max(offsets) - min(offsets)

    def least_ahead_us(self) -> int:
        """The least that the fastest clock ever was ahead of true time; below 0: behind it."""
        found: list[int] = []
        for at_us in (0, *self._instants):
            found.append(max(self.offsets(at_us).values(), default=0))
            found.append(max(self.offsets(at_us, before=at_us > 0).values(), default=0))
        return min(found)

    def furthest_ms(self, at_us: int) -> int:
        """The most milliseconds that any clock can have shown up to an instant."""
        instants = [one for one in self._instants if one < at_us]
        offsets = [*self.offsets(at_us).values(), *self.offsets(at_us, before=True).values()]
        shown = [at_us + offset for offset in offsets]
        for one in instants:
            for before in (True, False):
                shown += [
                    one + off for off in self.offsets(one, before=before and one > 0).values()
                ]
        return max(shown, default=at_us) // US_PER_MS

    def shows_us(self, node: str, shown_ms: int, from_us: int) -> int:
        """From when on, `from_us` or later, a node's physical clock has shown a millisecond."""
        at_us = from_us
        pieces = self._pieces.get(node, [TRUE_TIME])
        ends = [*(piece.from_us for piece in pieces[1:]), None]
        for piece, end_us in zip(pieces, ends, strict=True):
            if end_us is not None and end_us <= at_us:
                continue
            at_us = max(at_us, piece.from_us)
            missing_us = shown_ms * US_PER_MS - at_us - piece.offset_at(at_us)
            if missing_us <= 0:
                return at_us
            at_us += missing_us * PPM // (PPM + piece.drift_ppm) + 1
            if end_us is None or at_us < end_us:
                return at_us
            at_us = end_us
        return at_us


def _in_force(pieces: list[Piece], at_us: int, *, before: bool) -> Piece:
    found = pieces[0]
    for piece in pieces:
        if piece.from_us < at_us or (piece.from_us == at_us and not before):
            found = piece
    return found


def skew_beyond_bound(case: Case) -> str | None:
    """How a clock was behind what had been shown by more than CSmax; None if none was."""
    return _skew_beyond(case, "max_clock_skew_ms", "CSmax")


def skew_beyond_elections(case: Case) -> str | None:
    """How a clock was behind what had been shown by more than an election takes, if one was."""
    return _skew_beyond(case, "election_timeout_ms", "an election timeout")


def elections_too_quick(case: Case) -> str | None:
    """How a new leader may have stamped sooner than an election timeout makes safe; None if none.

    A timeout is shorter than clocks differ, or a fault made a rival stand before its had ended.
    """
    beyond = skew_beyond_elections(case)
    timeout_ms = least_setting(case, "election_timeout_ms")
    stands = [one.at_us for _, one in case.of(FaultBegan) if one.fault == RE_ELECTION]
    if beyond is not None or timeout_ms is None or not stands:
        return beyond
    leader: str | None = None
    for _, elected in case.of(LeaderElected):
        if elected.group != META:
            continue
        since_us = max((at_us for at_us in stands if at_us <= elected.at_us), default=None)
        changed = elected.node != leader
        leader = elected.node
        if changed and since_us is not None and elected.at_us - since_us < timeout_ms * US_PER_MS:
            return (
                f"{elected.node} was elected at {as_ms(elected.at_us)} ms, sooner than an "
                f"election timeout after it was made to stand at {as_ms(since_us)} ms"
            )
    return None


def _skew_beyond(case: Case, setting: str, name: str) -> str | None:
    if case.is_layered:  # no timestamp is taken from a clock
        return None
    bound_ms = least_setting(case, setting)
    skew = case.once(Clocks).largest_skew()
    if bound_ms is None or skew.us <= bound_ms * US_PER_MS:
        return None
    apart = f"{as_ms(skew.us)} ms"
    more = f"more than {name} = {bound_ms} ms"
    if skew.at_us == skew.shown_at_us and skew.slow != skew.fast:
        at = f"at {as_ms(skew.at_us)} ms the clocks of {skew.slow} and {skew.fast}"
        return f"{at} were {apart} apart, {more}"
    whose = "it" if skew.slow == skew.fast else f"that of {skew.fast}"
    return (
        f"at {as_ms(skew.at_us)} ms the clock of {skew.slow} showed {apart} less than "
        f"{whose} had shown at {as_ms(skew.shown_at_us)} ms, {more}"
    )


def least_setting(case: Case, setting: str) -> int | None:
    """The smallest initial value of a setting anywhere in the cluster; None if unknown."""
    return min(case.settings(setting), default=None)


def skew_between_leases(case: Case) -> str | None:
    """How two clocks differed too much in a run where a partition passed to another node."""
    holders: dict[str, str] = {}
    for _, lease in case.of(LeaseBegan):
        if holders.setdefault(lease.group, lease.holder) != lease.holder:
            return skew_beyond_bound(case)
    return None


def delay_beyond_bound(case: Case) -> str | None:
    """How an update reached a node too late for its activation; None if none did.

    That is when a clock shows the millisecond of Tu: a timestamp behind Tu may be taken by then.
    """
    clocks = case.once(Clocks)
    known: dict[tuple[str, int], None] = {}
    for _, applied in case.of(UpdateApplied):
        update = case.schemas.catalog(applied.catalog_version)
        key = (applied.node, applied.catalog_version)
        if key in known or update is None or update.op is None:
            continue
        known[key] = None
        active_ms = physical_ms(Timestamp(applied.activation_ts))
        shown_ms = clocks.furthest_ms(applied.at_us)
        if shown_ms >= active_ms:
            return (
                f"node {applied.node} applied catalog version {applied.catalog_version} when a "
                f"clock had already shown {shown_ms} ms, and it was active from {active_ms} ms on"
            )
    return None


def rates_beyond_margin(case: Case) -> str | None:
    """How a clock went too fast or too slow, or stepped; None if none did.

    Leases that are measured by the clocks of different machines rest on that (strategies.md, C5).
    """
    allowed = case.header.design.rules.get("drift_percent")
    margin = None if allowed is None else int(allowed)
    last: dict[str, Piece] = {}
    for _, event in case.of(ClockSet):
        if event.node not in case.header.settings:
            continue  # a process of the store: no lease is measured by its clock
        before = last.get(event.node, TRUE_TIME)
        last[event.node] = Piece(event.at_us, event.offset_us, event.drift_ppm)
        when = f"at {as_ms(event.at_us)} ms the clock of {event.node}"
        if event.at_us and abs(event.offset_us - before.offset_at(event.at_us)) > US_PER_MS:
            return f"{when} stepped"
        if margin is not None and abs(event.drift_ppm) * 100 > margin * PPM:
            return f"{when} began to drift by {event.drift_ppm} ppm, more than {margin} %"
    return None


BROKEN_BY: Final[dict[str, Callable[[Case], str | None]]] = {
    SKEW_BOUNDED: skew_beyond_bound,
    LEASES_HOLD: skew_between_leases,
    ELECTIONS_SLOW: elections_too_quick,
    DELAY_BOUNDED: delay_beyond_bound,
    RATES_BOUNDED: rates_beyond_margin,
}
"""For each assumption, a function that says how a run broke it, or returns None."""
