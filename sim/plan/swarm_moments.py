"""The aimed faults of a swarm: each begins at a moment where a rule of the protocol is at stake."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ddlsim.nemesis.one_message import CLIENT_REQUEST, DoubledMessage, LateMessage
from ddlsim.plan.swarm_faults import (
    CLOCKS_MOVE,
    KINDS,
    LEAST_SPARE_MS,
    Surroundings,
    group,
    is_calm,
)
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.plan.swarm_work import is_quiet
from ddlsim.scenario.moments import DELIVERED, SENT
from ddlsim.scenario.vocabulary import message_kinds
from ddlsim.workload.base import Die

Maker = Callable[[Die, Surroundings], list[Table]]

OF_CLIENTS: Final = ("answer", "mismatch", "refusal", CLIENT_REQUEST)
"""How the kinds of messages to and from clients begin."""
POINTS: Final = ("before-commit-ts", "after-commit-ts", "after-commit-check")
ALL_SPARE: Final = 0.9
"""The share of the spare skew that the aimed step may use; no other fault moves a clock then."""

LAGS: Final = 0.4
"""The share of nodes with a larger DD that learn of updates late meanwhile."""
LOOK_MS: Final = 10
"""More than the least time (ms) until a new leader first looks at the leases."""


class Aimed(NamedTuple):
    """Faults that are drawn together: their share of worlds, and their tables."""

    share: float
    make: Maker
    moves_clocks: bool = False


def _when(die: Die, around: Surroundings, moment: str, **more: Any) -> Table:
    """The first few times that a moment comes after a random instant."""
    when: Table = {"moment": moment, **more}
    nth = die.pick((1, 1, 2, 3, 6))
    if nth > 1:
        when["nth"] = nth
    return {"when": when, "from_ms": die.below(around.load_ms * 7 // 10)}


def _stop(die: Die, around: Surroundings, node: str) -> Table:
    """A crash, with or without what was not synced, or a pause; some are short, some long."""
    longest = die.pick((0.5, 2, 2, 6))
    stop: Table = {"node": node, "for_ms": around.delays_ms(die, 0.1, longest)}
    if die.chance(0.4):
        return {"name": "pause", **stop}
    lost = {"lose_unsynced": True, "torn": die.below(3)} if die.chance(0.3) else {}
    return {"name": "crash", **stop, **lost}


def _strike(die: Die, around: Surroundings) -> Table:
    """One message lost, late or doubled."""
    name = die.pick(("lost_message", "late_message", "doubled_message"))
    if name == "lost_message":
        return {"name": name}
    return {"name": name, "delay_ms": around.delays_ms(die, 0.02, die.pick((0.5, 2, 8)))}


# --- the ends of transactions ---------------------------------------------------------------------


def _between_stamp_and_finish(die: Die, around: Surroundings) -> list[Table]:
    return [{**_stop(die, around, "its node"), **_when(die, around, die.pick(POINTS))}]


def _around_the_finish(die: Die, around: Surroundings) -> list[Table]:
    moment = die.pick(("finish sent", "finish delivered", "finished sent", "finished delivered"))
    node = die.pick(("its sender", "its receiver"))
    return [{**_stop(die, around, node), **_when(die, around, moment)}]


def _between_intent_and_cleanup(die: Die, around: Surroundings) -> list[Table]:
    moment = die.pick(("write-executed", "cleanup sent", "after-commit-ts"))
    node = "its receiver" if moment == "cleanup sent" else "its primary"
    return [
        {**_stop(die, around, node), **_when(die, around, moment, plus_ms=die.pick((0, 0, 0.5, 3)))}
    ]


def _cleanup(die: Die, around: Surroundings) -> list[Table]:
    strike = _strike(die, around)
    if die.chance(0.3):
        from_ms = die.between(1, around.load_ms * 7 // 10)
        return [{**strike, "kind": "cleanup", "count": die.between(1, 6), "from_ms": from_ms}]
    return [{**strike, **_when(die, around, "cleanup sent")}]


def _recovery(die: Die, around: Surroundings) -> list[Table]:
    """The end of a transaction without its coordinator is disturbed itself."""
    moment = die.pick(("coordinator-recovery", "cleanup-resumed", "intent-resolved", "failover"))
    again = {**_stop(die, around, "its node"), **_when(die, around, moment)}
    return [*_between_stamp_and_finish(die, around), {**again, "from_ms": 0}]


# --- leases ---------------------------------------------------------------------------------------


def _lease_under_locks(die: Die, around: Surroundings) -> list[Table]:
    """A lease is not renewed while a transaction holds locks; its commit waits beyond the end."""
    lost = {"name": "lease_loss", "place": "its partition", "for_ms": around.delays_ms(die, 4, 20)}
    held: Table = {"name": "pause", "node": "its node", "for_ms": around.delays_ms(die, 1, 16)}
    return [
        {**lost, **_when(die, around, "write-executed")},
        {**held, **_when(die, around, die.pick(POINTS))},
    ]


def _lease_end(die: Die, around: Surroundings) -> list[Table]:
    """At the end of a lease that is not renewed, its primary stops, or lags."""
    when: Table = {"moment": "lease-began", "nth": die.pick((1, 2, 4))}
    end = {
        **when,
        "at": "expiration_ts",
        "plus_ms": die.between(-2 * around.max_clock_skew_ms - 2, 5),
    }
    from_ms = die.below(around.load_ms // 2)
    role = "its primary" if die.chance(0.2) else "its node"
    then = {"name": "pause", "node": role, "for_ms": around.delays_ms(die, 0.1, 4)}
    lost = {"name": "lease_loss", "place": "its partition", "when": when, "from_ms": from_ms}
    return [
        {**lost, "for_ms": 12 * around.delay_duration_ms},
        {**then, "when": end, "from_ms": from_ms},
    ]


def _at_birth(die: Die, around: Surroundings) -> list[Table]:
    """A primary dies and is back before its clock shows when its first lease began."""
    soon_ms = max(around.max_clock_skew_ms // 4, 1)
    table = die.pick(around.tables)
    again: Table = {"name": "crash", "node": f"primary of {table}"}
    return [{**again, "from_ms": die.between(1, soon_ms), "for_ms": die.between(1, soon_ms)}]


def _restart_at_a_read(die: Die, around: Surroundings) -> list[Table]:
    """A primary has answered an operation, mostly a read, and restarts within its lease."""
    again: Table = {"name": "crash", "node": "its sender"}
    again["for_ms"] = around.delays_ms(die, 0.1, 0.5)
    return [{**again, **_when(die, around, f"operated {SENT}")} for _ in range(4)]


def _restarts_twice(die: Die, around: Surroundings) -> list[Table]:
    """A primary restarts, and again once it has a lease of its new life."""
    table, from_ms = die.pick(around.tables), die.between(1, around.load_ms // 2)
    again: Table = {"name": "crash", "for_ms": around.delays_ms(die, 0.1, 1)}
    when: Table = {"moment": "lease-began", "nth": die.pick((1, 1, 2))}
    when["plus_ms"] = around.delays_ms(die, 0.1, die.pick((0.5, 2)))
    return [
        {**again, "node": f"primary of {table}", "from_ms": from_ms},
        {**again, "node": "its node", "from_ms": from_ms + 1, "when": when},
    ]


def _primary_cut_off(die: Die, around: Surroundings) -> list[Table]:
    """A primary is cut off with a write under way, mostly for longer than its lease."""
    shape = die.pick(("one_node", "one_node", "one_way"))
    cut: Table = {"name": "partition", "shape": shape, "node": "its node"}
    cut["for_ms"] = around.delays_ms(die, 2, die.pick((4, 8, 16)))
    moment = die.pick(("write-executed", "partition-submit sent", "partition-raft sent"))
    return [{**cut, **_when(die, around, moment)}]


# --- leaders --------------------------------------------------------------------------------------


def _leader_under_a_command(die: Die, around: Surroundings) -> list[Table]:
    """A group's leader changes between a command's stamp and its commit."""
    fault: Table = {"name": die.pick(("re_election", "leader_transfer"))}
    if die.chance(0.5):
        moment = die.pick(("submit delivered", "append-entries sent", "update-logged"))
        return [{**fault, "group": "meta", **_when(die, around, moment)}]
    moment = die.pick(("write-executed", "finish delivered", "partition-raft sent", *POINTS))
    return [{**fault, "group": "its group", **_when(die, around, moment)}]


def _leader_dies(die: Die, around: Surroundings) -> list[Table]:
    moment, node = die.pick((
        ("submit delivered", "its receiver"), ("submitted sent", "its sender"),
        ("update-logged", "meta storage leader"), ("leader-elected", "its node"),
        ("partition-submit delivered", "its receiver"),
    ))  # fmt: skip
    return [{**_stop(die, around, node), **_when(die, around, moment)}]


def _unsynced(die: Die, around: Surroundings) -> list[Table]:
    """The disks of all voters are slow, and all of them stop soon after something is logged."""
    if not around.voters:
        return []
    from_ms = die.between(1, around.load_ms // 2)
    slow: Table = {"name": "slow_disk", "delay_ms": around.delays_ms(die, 0.5, 4)}
    slow |= {"from_ms": from_ms, "for_ms": around.load_ms // 4}
    crash: Table = {"name": "crash_majority", "nodes": list(around.voters), "lose_unsynced": True}
    crash |= {"torn": die.pick((0, 0, 1)), "for_ms": around.delays_ms(die, 0.1, 2)}
    moment = die.pick(("update-logged", "ddl-installed", "submitted sent"))
    crash["when"] = {"moment": moment, "plus_ms": die.pick((0, 0.2, 1, 4))}
    disks = [{**slow, "node": node} for node in around.voters]
    return [*disks, {**crash, "from_ms": from_ms}]


def _rivals(die: Die, around: Surroundings) -> list[Table]:
    """Two voters stand at once, before the news of a command, or its stamp, has reached both."""
    rivals: Table = {"name": "re_election", "rival": die.pick((1, 2))}
    plus_ms = die.pick((0, 0, 0.1, 1))
    if die.chance(0.5):
        moment = die.pick(("update-logged", "submit delivered", "append-entries sent"))
        rivals["group"] = "meta"
    else:
        moment = die.pick(("write-executed", "partition-raft sent", "finish delivered"))
        rivals["group"] = "its group"
    lag = {"name": "learner_lag", "node": "any voter", "for_ms": around.delays_ms(die, 0.5, 4)}
    made = [{**rivals, **_when(die, around, moment, plus_ms=plus_ms)}]
    if die.chance(0.5):
        made.append({**lag, **_when(die, around, "submit sent")})
    return made


def _leader_at_a_lease(die: Die, around: Surroundings) -> list[Table]:
    """The meta storage's leader changes while leases are being written; applying may be slow."""
    change: Table = {"name": die.pick(("re_election", "leader_transfer")), "group": "meta"}
    plus_ms = die.pick((0, 0, 0, 0.1, 0.5))
    moment = die.pick(("lease-prolonged", "lease-accepted sent", "lease-began"))
    made = [{**change, **_when(die, around, moment, plus_ms=plus_ms)}]
    if die.chance(0.5):
        slow: Table = {"name": "slow_listener", "node": "any voter", "stage": "log"}
        slow["delay_ms"] = around.delays_ms(die, 0.1, 0.5)
        made.append({**slow, "from_ms": 1, "for_ms": around.load_ms - 1})
    return made


def _two_lease_updates(die: Die, around: Surroundings) -> list[Table]:
    """Leases are written, and the next leader looks at them before it has applied that."""
    when: Table = {"when": {"moment": "lease-prolonged"}, "from_ms": die.below(around.load_ms // 2)}
    apply_ms = around.delays_ms(die, 1.5, 3) + LOOK_MS
    slow: Table = {"name": "slow_listener", "stage": "log", "delay_ms": apply_ms}
    slow["for_ms"] = 2 * apply_ms
    change: Table = {"name": "leader_transfer", "group": "meta"}
    return [*({**slow, "node": node, **when} for node in around.voters), {**change, **when}]


def _leader_for_an_instant(die: Die, around: Surroundings) -> list[Table]:
    """A leader of the meta storage is elected and steps down at the same instant."""
    change: Table = {"name": die.pick(("re_election", "leader_transfer")), "group": "meta"}
    first = {**change, "from_ms": die.between(1, around.load_ms * 7 // 10)}
    again: Table = {"name": "re_election", "group": "meta", "rival": die.pick((0, 0, 1, 2))}
    when = {"moment": "leader-elected", "where": {"group": "meta"}}
    return [first, {**again, "when": when}]


def _leader_again(die: Die, around: Surroundings) -> list[Table]:
    """A group elects a leader, which at once stops, or hands over."""
    change: Table = {
        "name": die.pick(("re_election", "leader_transfer")),
        "group": group(die, around),
    }
    first = {**change, "from_ms": die.between(1, around.load_ms * 7 // 10)}
    when: Table = {"moment": "leader-elected", "nth": die.pick((1, 1, 2))}
    if die.chance(0.5):
        return [first, {**_stop(die, around, "its node"), "when": when}]
    return [first, {"name": "leader_transfer", "group": "its group", "when": when}]


def quiet_leaders(knobs: Knobs, around: Surroundings) -> list[Table]:
    """In a quiet world, rivals stand for election soon after a leader has stamped something.

    No clock is handed over then, as it is where a leader transfers its group.
    """
    if not is_quiet(knobs) or is_calm(knobs):
        return []
    die = knobs.die("leaders of a quiet world")
    made: list[Table] = []
    for what, sent in (("meta", "append-entries"), ("its group", "partition-raft")):
        for _ in range(die.between(8, 14)):
            change: Table = {"name": "re_election", "rival": die.pick((1, 2)), "group": what}
            when = {"moment": f"{sent} {SENT}", "nth": die.between(1, 20)}
            when["plus_ms"] = die.pick((0.5, 1, 2, 5))
            made.append({**change, "when": when, "from_ms": die.below(around.load_ms * 9 // 10)})
    return made


# --- schema changes -------------------------------------------------------------------------------


def _ddl_messages(die: Die, around: Surroundings) -> list[Table]:
    moment = die.pick(("submit sent", "submitted sent", "submitted sent", "not-leader sent"))
    return [{**_strike(die, around), **_when(die, around, moment)}]


def _cut_until_activation(die: Die, around: Surroundings) -> list[Table]:
    """A node misses an update until its activation, or a moment earlier or later."""
    skew_ms = around.max_clock_skew_ms
    until = {"at": "activation_ts", "plus_ms": die.pick((-1, 0, 1, skew_ms, skew_ms + 1))}
    node = die.pick(("any node", "any follower", f"primary of {die.pick(around.tables)}"))
    cut: Table = {"name": "learner_lag", "node": node}
    if die.chance(0.3):
        cut = {"name": "partition", "shape": die.pick(("one_node", "one_way")), "node": node}
    return [{**cut, **_when(die, around, "update-logged"), "until": until}]


def _raised_delay(die: Die, around: Surroundings) -> list[Table]:
    """One node has a larger DD for a while: a statement there activates behind a later one.

    It may learn of updates later than they are in force meanwhile.
    """
    load_ms = around.load_ms
    to = around.delay_duration_ms * die.pick((2, 4, 8))
    span: Table = {"from_ms": die.between(1, load_ms // 3)}
    span["for_ms"] = die.between(load_ms // 4, load_ms // 2)
    node = die.pick(("any node", "any node", f"primary of {die.pick(around.tables)}"))
    lags = die.chance(LAGS)
    if lags:
        node = f"primary of {die.pick(around.tables)}"
    raised: Table = {"name": "setting_change", "node": node, "key": "delay_duration_ms", "to": to}
    lag: Table = {"name": "learner_lag", "node": node, "delay_ms": around.delays_ms(die, 1.1, 1.8)}
    return [raised | span, lag | span] if lags else [raised | span]


def _pause_at_activation(die: Die, around: Surroundings) -> list[Table]:
    """A node stands still from before an activation until after it, by any clock."""
    skew_ms = around.max_clock_skew_ms
    plus_ms = die.pick((-skew_ms - 2, -skew_ms, -2, 0))
    node = die.pick(("any node", f"primary of {die.pick(around.tables)}", "meta storage leader"))
    when = _when(die, around, "update-logged", at="activation_ts", plus_ms=plus_ms)
    return [
        {
            "name": "pause",
            "node": node,
            "for_ms": die.between(2, max(2, 2 * skew_ms + around.delay_duration_ms)),
            **when,
        }
    ]


def _lookup(die: Die, around: Surroundings) -> list[Table]:
    """A look-up waits; its node then lags on, into a snapshot, or stops."""
    when = _when(die, around, die.pick(("completeness-wait", "catalog-version-awaited")))
    if die.chance(0.5):
        lag = {"name": "learner_lag", "node": "its node", "for_ms": around.delays_ms(die, 1, 8)}
        return [{**lag, **when}]
    return [{**_stop(die, around, "its node"), **when}]


def _catch_up(die: Die, around: Surroundings) -> list[Table]:
    """A node stops again while it catches up with what it missed."""
    from_ms = die.between(1, around.load_ms // 2)
    first = {**_stop(die, around, "any node"), "from_ms": from_ms}
    first["for_ms"] = min(first["for_ms"], around.load_ms - from_ms)
    moment = die.pick(("node-restarted", "node-restarted", "snapshot-installed"))
    plus_ms = die.pick((0, 1, around.delays_ms(die, 0.2, 2)))
    return [
        first,
        {**_stop(die, around, "its node"), "when": {"moment": moment, "plus_ms": plus_ms}},
    ]


# --- clocks, and messages of every kind -----------------------------------------------------------


def _clock(die: Die, around: Surroundings) -> list[Table]:
    """A clock steps within the bound right before a stamp, or between Tm and Tu."""
    most = max(round(around.spare_skew_ms * ALL_SPARE * 1_000), 1)
    by_ms = die.between(1, most) / 1_000
    step: Table = {"name": "clock_step", "by_ms": -by_ms if die.chance(0.5) else by_ms}
    step["for_ms"] = around.delays_ms(die, 0.2, 8)
    if die.chance(0.5):
        plus_ms = die.below(around.delay_duration_ms + 1)
        node = die.pick(("any node", "meta storage leader"))
        return [{**step, "node": node, **_when(die, around, "update-logged", plus_ms=plus_ms)}]
    moment = die.pick(("before-commit-ts", "submit delivered", "operate delivered"))
    return [{**step, "node": "its node", **_when(die, around, moment)}]


def _any_message(die: Die, around: Surroundings) -> list[Table]:
    kinds = [kind for kind in message_kinds() if not kind.startswith(OF_CLIENTS)]
    kind = die.pick(message_kinds() if die.chance(0.2) else kinds)
    strike = _strike(die, around)
    if strike["name"] == DoubledMessage.name and kind.startswith(CLIENT_REQUEST):
        strike["name"] = LateMessage.name  # a client's request arrives once
    return [{**strike, **_when(die, around, f"{kind} {SENT}")}]


def _stop_at_any_message(die: Die, around: Surroundings) -> list[Table]:
    kind = die.pick([each for each in message_kinds() if not each.startswith(OF_CLIENTS)])
    moment = f"{kind} {die.pick((SENT, DELIVERED))}"
    return [
        {
            **_stop(die, around, die.pick(("its sender", "its receiver"))),
            **_when(die, around, moment),
        }
    ]


AIMED: Final[dict[str, Aimed]] = {
    "coordinator between stamp and finish": Aimed(0.12, _between_stamp_and_finish),
    "stop around the finish": Aimed(0.1, _around_the_finish),
    "primary between intent and clean-up": Aimed(0.12, _between_intent_and_cleanup),
    "clean-up struck": Aimed(0.12, _cleanup),
    "stop in recovery": Aimed(0.1, _recovery),
    "lease under locks": Aimed(0.12, _lease_under_locks),
    "stop at a lease's end": Aimed(0.1, _lease_end),
    "primary cut off": Aimed(0.12, _primary_cut_off),
    "restart at a read": Aimed(0.08, _restart_at_a_read),
    "primary restarts twice": Aimed(0.06, _restarts_twice),
    "restart at birth": Aimed(0.1, _at_birth),
    "leader at a lease": Aimed(0.12, _leader_at_a_lease),
    "leader again": Aimed(0.1, _leader_again),
    "leases written twice": Aimed(0.05, _two_lease_updates),
    "leader for an instant": Aimed(0.05, _leader_for_an_instant),
    "leader under a command": Aimed(0.12, _leader_under_a_command),
    "leader dies": Aimed(0.08, _leader_dies),
    "unsynced entries lost": Aimed(0.05, _unsynced),
    "rivals": Aimed(0.1, _rivals),
    "DDL message struck": Aimed(0.1, _ddl_messages),
    "cut until activation": Aimed(0.12, _cut_until_activation),
    "DD raised on a node": Aimed(0.1, _raised_delay),
    "pause at activation": Aimed(0.1, _pause_at_activation),
    "stop in a look-up": Aimed(0.08, _lookup),
    "stop in catch-up": Aimed(0.08, _catch_up),
    "clock at a stamp": Aimed(0.1, _clock, moves_clocks=True),
    "any message struck": Aimed(0.2, _any_message),
    "stop at any message": Aimed(0.1, _stop_at_any_message),
}
"""By the knob that reports show; each has a random stream of its own."""


def faults(knobs: Knobs, around: Surroundings) -> list[Table]:
    """The aimed faults of a drawn scenario; one without any other fault stays calm."""
    calm = all(knobs.drawn.get(name, OFF) == OFF for name in KINDS)
    clocks_move = any(knobs.drawn.get(name, OFF) != OFF for name in CLOCKS_MOVE)
    no_clock = clocks_move or around.spare_skew_ms < LEAST_SPARE_MS
    made: list[Table] = []
    for name, aimed in AIMED.items():
        die = knobs.die(f"aimed, {name}")
        on = die.chance(aimed.share) and not calm and not (aimed.moves_clocks and no_clock)
        knobs.tell(name, "on" if on else OFF)
        if on:
            made += aimed.make(die, around)
    return made
