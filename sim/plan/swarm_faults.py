"""The faults of a swarm: every kind, each in a share of all scenarios, inside the load."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.workload.base import Die


class Surroundings(NamedTuple):
    """What limits the faults of a drawn scenario: its nodes, tables, times and settings."""

    tables: tuple[str, ...]
    client: str | None
    load_ms: int
    delay_duration_ms: int
    max_clock_skew_ms: int
    spare_skew_ms: float
    """How far all faults together may move clocks before the skew bound breaks."""
    voters: tuple[str, ...] = ()
    """The voters of the meta storage; empty where no fault may name them."""

    def delays_ms(self, die: Die, least: float, most: float) -> int:
        """A whole number of ms between these multiples of DD, at least 1."""
        low, high = (max(round(each * self.delay_duration_ms), 1) for each in (least, most))
        return die.between(low, high)


Maker = Callable[[Die, Surroundings], Table]


class Kind(NamedTuple):
    """One kind of fault: its share of scenarios, its longest duration in ms, its keys.

    A `longest` of 0 means that it happens at an instant.
    """

    share: float
    longest: float
    make: Maker


CALM: Final = 0.15
"""The share of worlds without any fault."""


def _role(die: Die, around: Surroundings) -> str:
    """A role that names a node."""
    table = die.pick(around.tables)
    roles = ["any node", "any node", "any follower", "any voter", "meta storage leader"]
    roles += [f"primary of {table}", f"leader of {table}"]
    roles += [f"coordinator of {around.client}"] if around.client else []
    return die.pick(roles)


def group(die: Die, around: Surroundings) -> str:
    """The group of the meta storage, or of a partition."""
    return "meta" if die.chance(0.6) else f"{die.pick(around.tables)}/0"


def _partition(die: Die, around: Surroundings) -> Table:
    shape = die.pick(("halves", "bridge", "one_node", "one_way"))
    return {"shape": shape} if shape == "halves" else {"shape": shape, "node": _role(die, around)}


def _crash(die: Die, around: Surroundings) -> Table:
    return {"node": _role(die, around), **_loss_of_disk(die)}


def _loss_of_disk(die: Die) -> Table:
    if not die.chance(0.4):
        return {}
    return {"lose_unsynced": True, "torn": die.below(3)}


def _majority(die: Die, around: Surroundings) -> Table:
    del around
    return _loss_of_disk(die) if die.chance(0.2) else {}


MOST_OF_A_KIND: Final = 2
CLOCKS_MOVE: Final = ("clock_step", "clock_drift")
EACH: Final = 0.9 / (MOST_OF_A_KIND * len(CLOCKS_MOVE))
"""The share of the spare skew that one fault may use: all that can be drawn use less than all."""


def moves_clocks(faults: list[Table]) -> bool:
    """Whether some of these faults move clocks within the bound."""
    return any(fault.get("name") in CLOCKS_MOVE for fault in faults)


def _step(die: Die, around: Surroundings) -> Table:
    most = max(round(around.spare_skew_ms * EACH * 1_000), 1)
    by_ms = die.between(1, most) / 1_000
    return {"node": _role(die, around), "by_ms": -by_ms if die.chance(0.5) else by_ms}


def _drift(die: Die, around: Surroundings) -> Table:
    """A drift by which the clock stays within the bound until the load ends."""
    most = max(min(round(around.spare_skew_ms * EACH / around.load_ms * 1_000_000), 1_000), 1)
    ppm = die.between(1, most)
    return {"node": _role(die, around), "ppm": -ppm if die.chance(0.5) else ppm}


def _slow_listener(die: Die, around: Surroundings) -> Table:
    stage = die.pick(("listener", "catalog", "log"))
    return {"node": _role(die, around), "stage": stage, "delay_ms": around.delays_ms(die, 0.1, 3)}


def _messages(die: Die, around: Surroundings) -> Table:
    del around
    return {"probability": die.pick((0.02, 0.1, 0.3))}


def _clog(die: Die, around: Surroundings) -> Table:
    keys: Table = {"node": _role(die, around), "delay_ms": around.delays_ms(die, 0.1, 4)}
    return {**keys, "both_ways": True} if die.chance(0.3) else keys


def _setting(die: Die, around: Surroundings) -> Table:
    """Another DD or H. Readers subtract no more than the largest DD at the start [98.x.4]."""
    node, delay_ms = _role(die, around), around.delay_duration_ms
    if die.chance(0.6):
        to = max(round(delay_ms * die.pick((0.25, 0.5, 2, 4, 8))), 1)
        return {"node": node, "key": "delay_duration_ms", "to": to}
    to = max(round(delay_ms * die.pick((0.2, 1, 4))), 1)
    return {"node": node, "key": "safe_time_interval_ms", "to": to}


def _lag(die: Die, around: Surroundings) -> Table:
    lag: Table = {"delay_ms": around.delays_ms(die, 0.3, 6)} if die.chance(0.5) else {}
    return {"node": die.pick(("any follower", f"primary of {die.pick(around.tables)}")), **lag}


KINDS: Final[dict[str, Kind]] = {
    "learner_lag": Kind(0.2, 0.4, _lag),
    "partition": Kind(0.2, 0.3, _partition),
    "swizzle": Kind(0.08, 0.3, lambda die, around: {"every_ms": around.delays_ms(die, 0.2, 2)}),
    "crash": Kind(0.25, 0.3, _crash),
    "crash_majority": Kind(0.05, 0.2, _majority),
    "pause": Kind(0.15, 0.2, lambda die, around: {"node": _role(die, around)}),
    "slow_disk": Kind(
        0.1,
        0.4,
        lambda die, around: {
            "node": _role(die, around),
            "delay_ms": around.delays_ms(die, 0.02, 1),
        },
    ),
    "clock_step": Kind(0.12, 0.4, _step),
    "clock_drift": Kind(0.1, 0.4, _drift),
    "clock_skew_beyond": Kind(
        0.03,
        0.2,
        lambda die, around: {
            "node": _role(die, around),
            "beyond_ms": around.delays_ms(die, 0.1, 2),
        },
    ),
    "slow_listener": Kind(0.2, 0.4, _slow_listener),
    "message_loss": Kind(0.1, 0.3, _messages),
    "message_duplication": Kind(0.1, 0.5, _messages),
    "message_reordering": Kind(0.1, 0.5, _messages),
    "clog": Kind(0.15, 0.3, _clog),
    "leader_transfer": Kind(0.15, 0, lambda die, around: {"group": group(die, around)}),
    "re_election": Kind(
        0.12, 0, lambda die, around: {"group": group(die, around), "rival": die.pick((0, 1, 2))}
    ),
    "lease_loss": Kind(0.12, 0.3, lambda die, around: {"place": f"{die.pick(around.tables)}/0"}),
    "setting_change": Kind(0.18, 0.5, _setting),
}

SLOW_CATALOG: Final = 0.08
"""The share of worlds in which snapshots of partitions meet a catalog that is behind."""


def has_slow_catalog(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    return knobs.on("slow catalog", SLOW_CATALOG, unless=is_calm(knobs))


def slow_catalog(knobs: Knobs, nodes: tuple[str, ...], around: Surroundings) -> list[Table]:
    """A node applies the meta storage late for the whole load, and is cut off or down for a while.

    Its groups have gone on by then, to behind what a snapshot holds.
    """
    if not has_slow_catalog(knobs):
        return []
    die = knobs.die("faults of a slow catalog")
    node, load_ms = die.pick(nodes[1:] or nodes), around.load_ms
    slow: Table = {"name": "slow_listener", "node": node, "stage": die.pick(("log", "catalog"))}
    slow |= {"delay_ms": around.delays_ms(die, 1, 6), "from_ms": 1, "for_ms": load_ms - 1}
    shape: Table = (
        {"name": "partition", "shape": "one_node"} if die.chance(0.5) else {"name": "crash"}
    )
    away = [
        {**shape, "node": node, "from_ms": load_ms * tenths // 10, "for_ms": max(load_ms // 10, 1)}
        for tenths in (2, 5)
    ]
    return [slow, *away]


LATE_COMMANDS: Final = 0.1
"""The share of worlds in which what a primary sends to its group's leader is late."""


def has_late_commands(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    return knobs.on("late commands", LATE_COMMANDS, unless=is_calm(knobs))


def late_commands(knobs: Knobs, around: Surroundings) -> list[Table]:
    """A group is led by another node than its primary, and some commands take long to the leader.

    By then a change may be active, or the lease that they name over.
    """
    if not has_late_commands(knobs):
        return []
    die = knobs.die("faults of late commands")
    group, load_ms = f"{die.pick(around.tables)}/0", around.load_ms
    made: list[Table] = [
        {"name": "leader_transfer", "group": group, "from_ms": die.between(1, load_ms // 3)}
    ]
    for _ in range(die.between(1, 3)):
        late: Table = {"name": "late_message", "count": die.between(1, 4)}
        late["kind"] = die.pick(("partition-submit", "partition-submit", "cleanup"))
        late["delay_ms"] = around.delays_ms(die, 0.5, die.pick((2, 8, 16)))
        made.append({**late, "from_ms": die.between(load_ms // 10, load_ms * 7 // 10)})
    if die.chance(0.4):
        from_ms = die.between(load_ms // 10, load_ms // 2)
        for_ms = die.between(load_ms // 10, load_ms // 3)
        made.append({"name": "lease_loss", "place": group, "from_ms": from_ms, "for_ms": for_ms})
    if die.chance(0.5):  # then a late one is overtaken by those behind it
        apart: Table = {"name": "message_reordering", "kind": "partition-submit"}
        made.append({**apart, "probability": 1.0, "from_ms": 1, "for_ms": load_ms - 1})
    return made


def led_elsewhere(groups: Iterable[str], load_ms: int) -> list[Table]:
    """Each of these groups is led by another node than its primary, from early in the load on."""
    from_ms = max(load_ms // 20, 1)
    return [{"name": "leader_transfer", "group": group, "from_ms": from_ms} for group in groups]


UNREPLICATED: Final = 0.1
"""The share of worlds in which transactions scan rows that they wrote and no majority has yet."""


def has_unreplicated(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    return knobs.on("unreplicated rows", UNREPLICATED, unless=is_calm(knobs))


def unreplicated(knobs: Knobs, nodes: tuple[str, ...], around: Surroundings) -> list[Table]:
    """All disks are slow for the whole load: writes are answered, and replicated later."""
    if not has_unreplicated(knobs):
        return []
    delay_ms = around.delays_ms(knobs.die("disks of unreplicated rows"), 0.1, 0.5)
    slow: Table = {"name": "slow_disk", "delay_ms": delay_ms, "from_ms": 1}
    return [{**slow, "node": node, "for_ms": around.load_ms - 1} for node in nodes]


RESTLESS_LEASES: Final = 0.12
"""The share of worlds in which the lease of a partition goes from replica to replica."""


def has_restless_leases(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    return knobs.on("restless leases", RESTLESS_LEASES, unless=is_calm(knobs))


def restless_leases(knobs: Knobs, around: Surroundings) -> list[Table]:
    """The first holder of a lease is down, later ones lose it, and offers of the next are lost."""
    if not has_restless_leases(knobs):
        return []
    die, load_ms = knobs.die("faults of restless leases"), around.load_ms
    table, from_ms = die.pick(around.tables), die.between(1, max(load_ms // 10, 1))
    made: list[Table] = []
    if die.chance(0.8):
        away: Table = {"name": "crash", "node": f"primary of {table}", "from_ms": from_ms}
        made.append({**away, "for_ms": load_ms - from_ms})
    for part in range(4):
        at_ms = from_ms + (load_ms - from_ms) * part // 4
        lost: Table = {"name": "lease_loss", "place": f"{table}/0", "from_ms": at_ms}
        grant: Table = {"name": "lost_message", "kind": "lease-grant", "count": die.between(1, 2)}
        made.append({**lost, "for_ms": max(load_ms // 5, 1)})
        made.append({**grant, "from_ms": at_ms + die.below(max(load_ms // 5, 1))})
    return made


def needs_replicas(knobs: Knobs) -> bool:
    """Whether what is at stake in the world needs groups of several replicas."""
    return has_late_commands(knobs) or has_unreplicated(knobs) or has_restless_leases(knobs)


LEAST_SPARE_MS: Final = 0.1
"""With less than that to spare no fault moves a clock."""


def is_calm(knobs: Knobs) -> bool:
    """Whether the world has no fault; drawn once."""
    return knobs.on("calm", CALM)


def faults(knobs: Knobs, around: Surroundings) -> list[Table]:
    """The faults of a drawn scenario; each kind has random streams of its own."""
    calm = is_calm(knobs)
    made: list[Table] = []
    for name, kind in KINDS.items():
        die = knobs.die(f"fault {name}")
        count = 0
        if die.chance(kind.share) and not calm:
            count = MOST_OF_A_KIND if die.chance(0.25) else 1
        if name in CLOCKS_MOVE and around.spare_skew_ms < LEAST_SPARE_MS:
            count = 0
        knobs.tell(name, count or OFF)
        made += [_fault(name, kind, die, around) for _ in range(count)]
    return made


def _fault(name: str, kind: Kind, die: Die, around: Surroundings) -> Table:
    """A fault of this kind within the load, healed before it ends."""
    from_ms = die.between(around.load_ms // 20, around.load_ms * 7 // 10)
    table: Table = {"name": name, **kind.make(die, around), "from_ms": from_ms}
    if kind.longest:
        longest_ms = min(round(kind.longest * around.load_ms), around.load_ms - from_ms)
        table["for_ms"] = die.between(min(20, longest_ms), longest_ms)
    return table
