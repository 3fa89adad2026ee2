"""The aimed faults of worlds of the FoundationDB plane: each begins where a rule is at stake.

The controller does not fail: where it would be the one to stop, nothing does.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ddlsim.fdb.config import CONTROLLER
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.scenario.moments import DELIVERED, SENT
from ddlsim.scenario.vocabulary import store_message_types
from ddlsim.workload.base import Die


class Span(NamedTuple):
    """How long the load of a world is, what its durations are multiples of, and its machines."""

    load_ms: int
    scale_ms: int
    machines: tuple[str, ...]

    def all_of(self, role: str) -> tuple[str, ...]:
        """The machines whose names begin with that of a role."""
        return tuple(one for one in self.machines if one.startswith(role))

    def healed(self, faults: list[Table]) -> list[Table]:
        """Faults that begin at an instant, as far as they lie within the load."""
        inside = [one for one in faults if one["from_ms"] < self.load_ms]
        return [
            {**one, "for_ms": min(one["for_ms"], self.load_ms - one["from_ms"])} for one in inside
        ]

    def delays_ms(self, die: Die, least: float, most: float) -> int:
        """A whole number of ms between these multiples of the scale, at least 1."""
        low, high = (max(round(each * self.scale_ms), 1) for each in (least, most))
        return die.between(low, high)


Maker = Callable[[Die, Span], list[Table]]
SENDER, RECEIVER, NODE = "its sender", "its receiver", "its node"
BEATS: Final = ("ping", "pong")
"""Kinds of messages of which there are many, and at which nothing is at stake."""


def _when(die: Die, span: Span, moment: str, **more: Any) -> Table:
    """One of the first few times that a moment comes after a random instant."""
    when: Table = {"moment": moment, **more}
    nth = die.pick((1, 1, 2, 3, 6))
    if nth > 1:
        when["nth"] = nth
    return {"when": when, "from_ms": die.below(max(span.load_ms * 7 // 10, 1))}


def _stop(die: Die, span: Span, node: str) -> Table:
    """A crash, a pause or a cut; some are short, some long."""
    stop: Table = {"node": node, "for_ms": span.delays_ms(die, 0.1, die.pick((0.5, 2, 6)))}
    name = die.pick(("crash", "crash", "pause", "partition"))
    if name == "partition":
        stop["shape"] = die.pick(("one_node", "one_way"))
    return {"name": name, **stop}


def _strike(die: Die, span: Span) -> Table:
    """One message lost, late or doubled."""
    name = die.pick(("lost_message", "late_message", "late_message", "doubled_message"))
    if name == "lost_message":
        return {"name": name}
    return {"name": name, "delay_ms": span.delays_ms(die, 0.02, die.pick((0.5, 2, 6)))}


def _stop_at(die: Die, span: Span, moments: tuple[tuple[str, str], ...]) -> list[Table]:
    """A process stops at one of these moments: (moment, role)."""
    moment, role = die.pick(moments)
    return [{**_stop(die, span, role), **_when(die, span, moment)}]


# --- commits --------------------------------------------------------------------------------------


def _recovery_within_a_commit(die: Die, span: Span) -> list[Table]:
    """The proxy has its commit version, and not the answer of all logs."""
    return _stop_at(
        die,
        span,
        (
            ("versions-granted delivered", RECEIVER),
            ("resolve sent", RECEIVER),
            ("resolved sent", SENDER),
            ("push sent", SENDER),
            ("push sent", RECEIVER),
            ("push delivered", RECEIVER),
            ("logged sent", RECEIVER),
        ),
    )


def _between_commit_and_answer(die: Die, span: Span) -> list[Table]:
    """All logs have the batch, and the client does not know yet."""
    return _stop_at(
        die,
        span,
        (
            ("logged delivered", RECEIVER),
            ("report-committed sent", SENDER),
            ("report-committed sent", RECEIVER),
            ("reported sent", RECEIVER),
            ("committed sent", SENDER),
            ("committed sent", RECEIVER),
        ),
    )


def _unknown_outcome(die: Die, span: Span) -> list[Table]:
    """The answer of a commit is lost, or its request comes late or twice."""
    moment = die.pick(("committed sent", "commit sent"))
    strike = _strike(die, span)
    if moment == "committed sent" and die.chance(0.6):
        strike = {"name": "lost_message"}
    made = [{**strike, **_when(die, span, moment)}]
    if die.chance(0.4):
        made += _stop_at(die, span, (("store-commit-unknown", NODE), ("outcome-looked-up", NODE)))
    return made


def _versions_late(die: Die, span: Span) -> list[Table]:
    """A read version is old when it arrives, or reports of commits overtake each other."""
    moment = die.pick(("read-version sent", "read-version sent", "report-committed sent"))
    delay_ms = span.delays_ms(die, 0.1, die.pick((0.5, 2, 6)))
    return [{"name": "late_message", "delay_ms": delay_ms, **_when(die, span, moment)}]


def _stop_in_recovery(die: Die, span: Span) -> list[Table]:
    """A recovery is disturbed itself, before the next generation serves."""
    first = _recovery_within_a_commit(die, span)
    moment, role = die.pick(
        (
            ("locked sent", SENDER),
            ("recruit delivered", RECEIVER),
            ("recruited sent", SENDER),
        )
    )
    again = {**_stop(die, span, role), **_when(die, span, moment)}
    return [*first, {**again, "from_ms": 0}]


def _logs_part(die: Die, span: Span) -> list[Table]:
    """One log misses batches that another one has, and hands out, and takes to its end."""
    logs = span.all_of("log")
    if len(logs) < 2:
        return []
    behind = die.pick(logs)
    ahead = die.pick([one for one in logs if one != behind])
    from_ms = die.below(max(span.load_ms * 7 // 10, 1))
    lost: Table = {"name": "lost_message", "kind": "push", "to": behind, "from_ms": from_ms}
    when = {"moment": "peeked sent", "node": ahead, "nth": die.pick((1, 2, 4))}
    end = {"name": "crash", "node": ahead, "for_ms": span.delays_ms(die, 2, 10)}
    return [{**lost, "count": die.between(2, 8)}, {**end, "when": when, "from_ms": from_ms}]


def _logs_take_turns(die: Die, span: Span) -> list[Table]:
    """One log is away over a recovery, if there is time for one; it is back as the others go."""
    logs = span.all_of("log")
    if len(logs) < 2:
        return []
    first = die.pick(logs)
    from_ms = die.between(1, max(span.load_ms // 4, 2))
    away_ms = die.between(span.load_ms // 4, span.load_ms // 2)
    back_ms = max(from_ms + away_ms - die.between(0, span.scale_ms // 2), 1)
    away: Table = {"node": first, "from_ms": from_ms, "for_ms": away_ms}
    gone: Table = {"from_ms": back_ms, "for_ms": span.load_ms}
    made = [away, *({"node": one, **gone} for one in logs if one != first)]
    return span.healed([{"name": "crash", **one} for one in made])


def _recoveries_missed(die: Die, span: Span) -> list[Table]:
    """A storage server has what was taken back, and misses that recovery and the next one."""
    parted = _logs_part(die, span)
    if not parted:
        return []
    storage, proxy = die.pick(span.all_of("storage")), die.pick(span.all_of("proxy"))
    from_ms = parted[0]["from_ms"]
    cut: Table = {"name": "partition", "shape": "link", "node": storage, "side": [CONTROLLER]}
    again_ms = from_ms + span.delays_ms(die, 4, 10)
    again: Table = {"name": "crash", "node": proxy, "from_ms": again_ms}
    cut_ms = again_ms - from_ms + span.delays_ms(die, 4, 8)
    timed = [
        {**cut, "from_ms": from_ms, "for_ms": cut_ms},
        {**again, "for_ms": span.delays_ms(die, 2, 4)},
    ]
    return parted + span.healed(timed)


# --- reads and caches -----------------------------------------------------------------------------


def _storage_behind(die: Die, span: Span) -> list[Table]:
    """A storage server gets its entries late, and is asked for a version that it has not."""
    delay_ms = span.delays_ms(die, 0.2, die.pick((1, 4)))
    made: list[Table] = [
        {"name": "late_message", "delay_ms": delay_ms, **_when(die, span, "peeked sent")}
    ]
    if die.chance(0.4):
        made += _stop_at(die, span, (("store-version-awaited", NODE), ("get delivered", RECEIVER)))
    return made


def _watch_late(die: Die, span: Span) -> list[Table]:
    """What tells of a change comes late, or never."""
    delay_ms = span.delays_ms(die, 0.5, die.pick((2, 10)))
    late: Table = {"name": "late_message", "delay_ms": delay_ms}
    strike: Table = {"name": "lost_message"} if die.chance(0.3) else late
    return [{**strike, **_when(die, span, die.pick(("fired sent", "watch-key sent")))}]


def _cache_kept(die: Die, span: Span) -> list[Table]:
    """A process does not learn of an update: it stands still, or reads no schema."""
    for_ms = span.delays_ms(die, 0.2, die.pick((1, 4, 10)))
    moment = die.pick(("update-logged", "update-logged", "ddl-decided"))
    if die.chance(0.5):
        fault: Table = {"name": "pause", "node": "any node"}
    else:
        shape = die.pick(("one_node", "one_way"))
        fault = {"name": "partition", "shape": shape, "node": "meta storage leader"}
    return [{**fault, "for_ms": for_ms, **_when(die, span, moment)}]


def _statement(die: Die, span: Span) -> list[Table]:
    """A process stops within a statement, or in the midst of the entries of an index."""
    moment = die.pick(("index-written", "index-written", "update-logged", "store-conflict"))
    if moment == "store-conflict":
        return [{**_stop(die, span, "any node"), **_when(die, span, moment)}]
    return [{**_stop(die, span, NODE), **_when(die, span, moment)}]


# --- messages of every kind -----------------------------------------------------------------------


def _any_message(die: Die, span: Span) -> list[Table]:
    return [
        {
            **_strike(die, span),
            **_when(die, span, f"{die.pick(list(store_message_types()))} {SENT}"),
        }
    ]


def _stop_at_any_message(die: Die, span: Span) -> list[Table]:
    kind = die.pick([one for one in store_message_types() if one not in BEATS])
    moment = f"{kind} {die.pick((SENT, DELIVERED))}"
    return [{**_stop(die, span, die.pick((SENDER, RECEIVER))), **_when(die, span, moment)}]


AIMED: Final[dict[str, tuple[float, Maker]]] = {
    "recovery within a commit": (0.15, _recovery_within_a_commit),
    "stop between commit and answer": (0.15, _between_commit_and_answer),
    "outcome unknown": (0.15, _unknown_outcome),
    "versions late": (0.1, _versions_late),
    "stop in a recovery": (0.1, _stop_in_recovery),
    "logs part": (0.4, _logs_part),
    "logs take turns": (0.12, _logs_take_turns),
    "recoveries missed": (0.12, _recoveries_missed),
    "storage behind": (0.12, _storage_behind),
    "watch late": (0.1, _watch_late),
    "cache kept": (0.15, _cache_kept),
    "stop in a statement": (0.12, _statement),
    "any message struck": (0.15, _any_message),
    "stop at any message": (0.1, _stop_at_any_message),
}
"""By the knob that reports show, the share of worlds; each has a random stream of its own."""


def faults(knobs: Knobs, span: Span, *, calm: bool) -> list[Table]:
    """The aimed faults of a world; one that is to be calm has none."""
    made: list[Table] = []
    for name, (share, make) in AIMED.items():
        die = knobs.die(f"aimed, {name}")
        on = die.chance(share) and not calm
        knobs.tell(name, "on" if on else OFF)
        if on:
            made += make(die, span)
    return made
