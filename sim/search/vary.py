"""Changes to a drawn world, as a fuzzer changes an input: small ones, and parts of other worlds.

A `World` is a scenario's data and the seed of its run. Every operator takes a world, a donor
(another world of the corpus or a newly drawn one) and a die, and returns a changed copy, or None
where it does not apply. What it returns may be no scenario: `varied` tries again until one can be
planned.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final, NamedTuple

from ddlsim.cluster.designs import check_design
from ddlsim.plan.plan import plan
from ddlsim.plan.swarm_fdb import fitted
from ddlsim.problems import BadInputError
from ddlsim.scenario.scenario import Scenario, read
from ddlsim.scenario.tomltext import toml_text
from ddlsim.workload.base import Die

Data = dict[str, Any]
Table = dict[str, Any]

NAME: Final = "hunt"
SEEDS: Final = 1 << 40
"""New seeds lie below this."""
PARTS: Final = ("clients", "faults", "clocks", "network")
"""The parts of a run that may have a seed of their own."""
SETTINGS: Final = ("protocol", "fdb", "strategy")
"""The tables whose settings are varied one by one; only worlds of a layer have the last two."""
MOST_FAULTS: Final = 12
CHANGES: Final = (1, 1, 1, 2, 2, 4)
"""How many operators are applied to a world."""
TRIES: Final = 8
"""How often a change is tried until it gives a scenario."""
OFFSETS: Final = (-1.0, -0.1, 0.0, 0.0, 0.1, 1.0)
"""By how many milliseconds what is moved to an instant misses it."""


class World(NamedTuple):
    """A scenario's data, the seed of its run, and instants (ms) that mattered in that run."""

    data: Data
    seed: int
    instants_ms: tuple[float, ...] = ()


class Change(NamedTuple):
    """An operator by name; `weight` says how often it is chosen."""

    name: str
    weight: int
    apply: Callable[[World, World, Die], World | None]


def scenario_of(world: World, overrides: dict[str, Any]) -> Scenario:
    """The scenario of a world; raises `BadInputError` if it is none, or cannot be planned, or its
    design does not fit."""
    scenario = read(toml_text(world.data), NAME, overrides=overrides)
    check_design(plan(scenario, world.seed))
    return scenario


def fits(world: World, overrides: dict[str, Any]) -> bool:
    """Whether a world can be run under these settings: others may be of another plane."""
    try:
        scenario_of(world, overrides)
    except BadInputError:
        return False
    return True


def varied(world: World, donor: World, die: Die, overrides: dict[str, Any]) -> World | None:
    """A world changed by a few operators, which can be planned; None if no try gives one."""
    choices = [one for one in CHANGES_OF_WORLDS for _ in range(one.weight)]
    for _ in range(TRIES):
        changed = world
        for _ in range(die.pick(CHANGES)):
            changed = die.pick(choices).apply(changed, donor, die) or changed
        if changed != world and fits(changed, overrides):
            return changed
    return None


# --- seeds ---------------------------------------------------------------------------------------


def _reseed(world: World, donor: World, die: Die) -> World:
    """Another seed for the whole run."""
    del donor
    return world._replace(seed=die.below(SEEDS))


def _reseed_part(world: World, donor: World, die: Die) -> World:
    """Another seed for one part of the run; the others stay as they were."""
    del donor
    seeds = {**world.data.get("seeds", {}), die.pick(PARTS): die.below(SEEDS)}
    return world._replace(data={**world.data, "seeds": seeds})


# --- knobs ---------------------------------------------------------------------------------------


def _knob(world: World, donor: World, die: Die) -> World | None:
    """One setting of the protocol, as the donor has it; of the layer's store or design, too."""
    keys = [
        (name, key)
        for name in SETTINGS
        for key, value in sorted(world.data.get(name, {}).items())
        if key in donor.data.get(name, {}) and value != donor.data[name][key]
        if not isinstance(value, dict)
    ]
    if not keys:
        return None
    name, key = die.pick(keys)
    table = {**world.data[name], key: donor.data[name][key]}
    return _fitted(world._replace(data={**world.data, name: table}))


def _fitted(world: World) -> World:
    """The world with a store, if it has one, that has the time its latencies ask for."""
    return world._replace(data=fitted(world.data)) if "fdb" in world.data else world


def _table(world: World, donor: World, die: Die) -> World:
    """The network or the clocks of the donor, whole."""
    name = die.pick(("network", "clocks"))
    return _fitted(world._replace(data={**world.data, name: deepcopy(donor.data[name])}))


def _network_key(world: World, donor: World, die: Die) -> World | None:
    """One key of the donor's network, such as its schedule or loss; or the key is dropped."""
    own, others = dict(world.data["network"]), donor.data["network"]
    keys = sorted({*own, *others} - {"links"})
    key = die.pick(keys)
    if key in others:
        own[key] = deepcopy(others[key])
    else:
        own.pop(key)
    return _fitted(world._replace(data={**world.data, "network": own}))


def _workload_key(world: World, donor: World, die: Die) -> World | None:
    """One key of a workload, as the donor has it for the same workload."""
    pairs = [
        (at, key, other[key])
        for at, own in enumerate(world.data.get("workload", []))
        for other in donor.data.get("workload", [])
        if own["name"] == other["name"]
        for key in sorted(own)
        if key in other and own[key] != other[key]
    ]
    if not pairs:
        return None
    at, key, value = die.pick(pairs)
    loads = deepcopy(world.data["workload"])
    loads[at][key] = deepcopy(value)
    return world._replace(data={**world.data, "workload": loads})


# --- faults --------------------------------------------------------------------------------------


def _with_faults(world: World, faults: list[Table]) -> World:
    data = {key: value for key, value in world.data.items() if key != "faults"}
    return world._replace(data={**data, "faults": faults} if faults else data)


def _add_fault(world: World, donor: World, die: Die) -> World | None:
    """One more fault, of the donor."""
    own, others = world.data.get("faults", []), donor.data.get("faults", [])
    if not others or len(own) >= MOST_FAULTS:
        return None
    fault = deepcopy(die.pick(others))
    return _with_faults(world, [*own, _within(fault, world)])


def _within(fault: Table, world: World) -> Table:
    """A fault of another world, within the load of this one."""
    load_ms = world.data["run"]["load_ms"]
    if isinstance(fault.get("from_ms"), int | float):
        fault["from_ms"] = fault["from_ms"] % load_ms
        if isinstance(fault.get("for_ms"), int | float):
            fault["for_ms"] = min(fault["for_ms"], load_ms - fault["from_ms"])
    return fault


def _drop_fault(world: World, donor: World, die: Die) -> World | None:
    """One fault less."""
    del donor
    own = list(world.data.get("faults", []))
    if not own:
        return None
    own.pop(die.below(len(own)))
    return _with_faults(world, own)


def _change_fault(world: World, donor: World, die: Die) -> World | None:
    """A fault with one key as the donor has it for a fault of this kind."""
    own = deepcopy(world.data.get("faults", []))
    pairs = [
        (at, key, other[key])
        for at, fault in enumerate(own)
        for other in donor.data.get("faults", [])
        if fault["name"] == other["name"]
        for key in sorted({*fault, *other} - {"name", "from_ms"})
        if key in other and fault.get(key) != other[key]
    ]
    if not pairs:
        return None
    at, key, value = die.pick(pairs)
    own[at][key] = deepcopy(value)
    return _with_faults(world, own)


def _timed(world: World, key: str) -> list[int]:
    """The places of the faults that have a time of this name, as a number."""
    faults = world.data.get("faults", [])
    return [at for at, fault in enumerate(faults) if isinstance(fault.get(key), int | float)]


def _move_fault(world: World, donor: World, die: Die) -> World | None:
    """A fault that begins somewhere else within the load."""
    del donor
    places = _timed(world, "from_ms")
    if not places:
        return None
    return _moved(
        world, die.pick(places), die.below(round(world.data["run"]["load_ms"] * 1_000)) / 1_000
    )


def _move_to_instant(world: World, donor: World, die: Die) -> World | None:
    """A fault that begins at, or just beside, an instant that mattered in this world's run."""
    del donor
    places = _timed(world, "from_ms")
    if not places or not world.instants_ms:
        return None
    return _moved(world, die.pick(places), die.pick(world.instants_ms) + die.pick(OFFSETS))


def _moved(world: World, place: int, from_ms: float) -> World:
    own = deepcopy(world.data["faults"])
    load_ms = world.data["run"]["load_ms"]
    own[place]["from_ms"] = round(min(max(from_ms, 0), load_ms), 3)
    own[place] = _within(own[place], world)
    return _with_faults(world, own)


def _stretch_fault(world: World, donor: World, die: Die) -> World | None:
    """A fault that lasts longer or shorter, or just until an instant that mattered."""
    del donor
    places = _timed(world, "for_ms")
    if not places:
        return None
    own = deepcopy(world.data["faults"])
    fault = own[die.pick(places)]
    later = [at for at in world.instants_ms if at > fault.get("from_ms", 0)]
    if later and die.chance(0.5):
        lasts_ms = die.pick(later) - fault.get("from_ms", 0) + die.pick(OFFSETS)
    else:
        lasts_ms = fault["for_ms"] * die.pick((0.25, 0.5, 2, 4))
    fault["for_ms"] = round(max(lasts_ms, 0.001), 3)
    return _with_faults(world, [_within(one, world) for one in own])


def _splice_faults(world: World, donor: World, die: Die) -> World | None:
    """The donor's faults from a drawn instant on, the own ones before it."""
    own, others = world.data.get("faults", []), donor.data.get("faults", [])
    if not others:
        return None
    cut_ms = die.below(max(round(world.data["run"]["load_ms"]), 1))
    moved = [_within(deepcopy(fault), world) for fault in others]
    late = [fault for fault in moved if fault.get("from_ms", cut_ms) >= cut_ms]
    early = [fault for fault in own if fault.get("from_ms", 0) < cut_ms]
    return _with_faults(world, [*early, *late][:MOST_FAULTS])


# --- work ----------------------------------------------------------------------------------------


def _splice_work(world: World, donor: World, die: Die) -> World:
    """The schema, migrations and clients of the donor, under the own cluster and faults."""
    del die
    names = ("schema", "migration", "workload")
    data = {key: value for key, value in world.data.items() if key not in names}
    data |= {key: deepcopy(donor.data[key]) for key in names if key in donor.data}
    return world._replace(data=data)


def _splice_workload(world: World, donor: World, die: Die) -> World | None:
    """One workload more, of the donor, or one of its instead of the own."""
    others = donor.data.get("workload", [])
    if not others:
        return None
    new = deepcopy(die.pick(others))
    own = [load for load in world.data.get("workload", []) if load["name"] != new["name"]]
    return world._replace(data={**world.data, "workload": [*own, new]})


def _move_migration(world: World, donor: World, die: Die) -> World | None:
    """A migration that begins at another instant."""
    del donor
    own = deepcopy(world.data.get("migration", []))
    if not own:
        return None
    load_ms = world.data["run"]["load_ms"]
    at_ms = die.pick(world.instants_ms) if world.instants_ms else die.below(round(load_ms))
    die.pick(own)["at_ms"] = round(min(max(at_ms + die.pick(OFFSETS), 0), load_ms), 3)
    return world._replace(data={**world.data, "migration": own})


CHANGES_OF_WORLDS: Final = (
    Change("seed", 3, _reseed),
    Change("seed of a part", 3, _reseed_part),
    Change("setting", 2, _knob),
    Change("network or clocks", 1, _table),
    Change("key of the network", 2, _network_key),
    Change("key of a workload", 2, _workload_key),
    Change("fault more", 3, _add_fault),
    Change("fault less", 1, _drop_fault),
    Change("fault changed", 2, _change_fault),
    Change("fault moved", 1, _move_fault),
    Change("fault moved to an instant", 4, _move_to_instant),
    Change("fault stretched", 2, _stretch_fault),
    Change("faults spliced", 1, _splice_faults),
    Change("work spliced", 1, _splice_work),
    Change("workload spliced", 1, _splice_workload),
    Change("migration moved", 1, _move_migration),
)
"""The operators."""
