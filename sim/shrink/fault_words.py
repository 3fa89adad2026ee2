"""A fault of a shrunk scenario in words: when it begins, what it does, and what it struck."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from ddlsim.history.events import UpdateLogged
from ddlsim.history.history import History
from ddlsim.history.world_events import (
    FaultBegan,
    FaultHealed,
    LeaderElected,
    LeaseBegan,
    NodeCrashed,
    NodeRestarted,
    NothingMatched,
)
from ddlsim.model.groups import META
from ddlsim.nemesis.base import FAULTS, Fault
from ddlsim.nemesis.one_message import OneMessage
from ddlsim.nemesis.roles import DRAWN, place_of
from ddlsim.scenario.moments import moments
from ddlsim.scenario.tomltext import toml_value
from ddlsim.shrink.data import Table
from ddlsim.units import as_ms, ms

STAMPS: Final = {"message_ts": "Tm", "activation_ts": "Tu"}
"""Timestamps of moments that documents have a name for."""
MESSAGE: Final = ("sent", "delivered")
"""The sources of moments whose names say all."""


def fault_words(history: History, faults: list[Table], table: Table) -> str:
    """One of the faults as a sentence, with what it struck, if it struck anything."""
    kind = FAULTS.get(table["name"])
    begins = f"From {table.get('from_ms', 0)} ms"
    if "when" in table:
        since = f", {begins.lower()} on" if table.get("from_ms") else ""
        begins = f"At the moment {moment_words(table['when'])}{since}"
    elif kind.instant:
        begins = f"At {table.get('from_ms', 0)} ms"
    begun = begun_of(history, faults, table)
    struck = ", ".join(_struck(history, begun, kind, table))
    seen = f" ({struck})" if struck else ""
    missed = _missed(history, faults, table)
    return (
        f"{begins}{_lasts(history, begun, kind, table)}: {_made(kind, table).told}{seen}{missed}."
    )


def _made(kind: type[Fault], table: Table) -> Fault:
    """The fault as its table gives it."""
    own = {one.name for one in fields(kind)}
    given = {key: value for key, value in table.items() if key in own}
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items()})


def _lasts(history: History, begun: FaultBegan | None, kind: type[Fault], table: Table) -> str:
    """How long a fault lasts; nothing of one that ends by itself."""
    if "for_ms" in table:
        return f" for {table['for_ms']} ms"
    if "until" in table:
        return f" until {_end_words(table['until'])}"
    if kind.instant or issubclass(kind, OneMessage):
        return ""
    healed = [
        one.at_us
        for one in history.of(FaultHealed)
        if begun is not None and (one.fault, one.nodes) == (begun.fault, begun.nodes)
    ]
    return " until the load ends" + (f", at {as_ms(max(healed))} ms" if healed else "")


def _missed(history: History, faults: list[Table], table: Table) -> str:
    """Why a fault met nothing, if it met nothing."""
    number = next((at for at, one in enumerate(faults) if one is table), None)
    mine = f"faults[{number}] "
    found = [one.what for one in history.of(NothingMatched)]
    return "".join(f"; it {one.partition(') ')[2]}" for one in found if one.startswith(mine))


# --- what it struck ------------------------------------------------------------------------------


def begun_of(history: History, faults: list[Table], table: Table) -> FaultBegan | None:
    """The beginning of a fault in its run; None where there is none, or it may be another's.

    What can only be of one fault is no other's.
    """
    may_be = {
        at: [number for number, one in enumerate(faults) if _may_be(event, one)]
        for at, event in enumerate(history.of(FaultBegan))
    }
    placed: dict[int, int] = {}
    while sure := {at: left[0] for at, left in may_be.items() if len(left) == 1}:
        placed |= {number: at for at, number in sure.items()}
        left_over = {at: numbers for at, numbers in may_be.items() if at not in sure}
        may_be = {at: [one for one in few if one not in placed] for at, few in left_over.items()}
    mine = next((number for number, one in enumerate(faults) if one is table), None)
    if mine not in placed:
        return None
    found: FaultBegan = history.of(FaultBegan)[placed[mine]]
    return found


def _may_be(event: FaultBegan, table: Table) -> bool:
    """Whether an event may be the beginning of a fault: by its kind, its node and its time."""
    if event.fault != table["name"]:
        return False
    named = [table[one] for one in FAULTS.get(event.fault).targets if one in table]
    fits = event.node is None or event.node in named or not set(named).isdisjoint(DRAWN)
    from_us = ms(table.get("from_ms", 0))
    return fits and (event.at_us >= from_us if "when" in table else event.at_us == from_us)


def _struck(
    history: History, begun: FaultBegan | None, kind: type[Fault], table: Table
) -> Iterator[str]:
    """The nodes that a fault struck where its table names none, its instant, what came of it."""
    if begun is None:
        return
    if "crash" in table["name"]:
        yield from _crashes(history, begun)
        return
    if kind.groups or kind.places:
        yield from _in_group(history, begun, str(table.get("group", table.get("place", META))))
    elif _made(kind, table).of_its_moment:
        if len(begun.nodes) == 2:
            yield f"from {begun.nodes[0]} to {begun.nodes[1]}"
    elif _are_chosen(history, begun, kind, table):
        yield from begun.nodes
    if "when" in table:
        yield f"at {as_ms(begun.at_us)} ms"


def _are_chosen(history: History, begun: FaultBegan, kind: type[Fault], table: Table) -> bool:
    """Whether a role or a die has chosen the nodes of a fault: not all of them, nor those named."""
    known = sum(bool(node) for node in history.header.settings)
    given = any(one in table for one in kind.targets)
    return not {*begun.nodes} <= {*_texts(table)} and (given or len(begun.nodes) < known)


def _texts(value: Any) -> Iterator[str]:
    inner = value.values() if isinstance(value, dict) else value
    for one in inner:
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            yield from _texts(one)


def _crashes(history: History, begun: FaultBegan) -> Iterator[str]:
    for event in history.of(NodeCrashed, NodeRestarted):
        if event.node in begun.nodes and event.at_us >= begun.at_us:
            what = "crashes" if isinstance(event, NodeCrashed) else "is back"
            yield f"{event.node} {what} at {as_ms(event.at_us)} ms"


def _in_group(history: History, begun: FaultBegan, group: str) -> Iterator[str]:
    """The next leader of a group, or the next lease of a partition."""
    name = _group_name(history, group)
    leases = [one for one in history.of(LeaseBegan) if one.group == name]
    held_ts = max((one.start_ts for one in leases if one.at_us <= begun.at_us), default=0)
    for event in history.of(LeaderElected, LeaseBegan):
        if event.group != name or event.at_us < begun.at_us:
            continue
        if isinstance(event, LeaseBegan) and begun.fault == "lease_loss":
            if event.start_ts > held_ts:
                yield f"{event.holder} is primary from {as_ms(event.at_us)} ms on"
                return
        elif isinstance(event, LeaderElected) and begun.fault != "lease_loss":
            yield f"{event.node} leads from {as_ms(event.at_us)} ms on"
            return


def _group_name(history: History, group: str) -> str:
    """A group as events name it: a table's by the table's number."""
    place = place_of(group)
    if place is None:
        return group
    for event in history.of(UpdateLogged):
        for one in event.objects:
            if one.kind == "table" and one.name == place[0]:
                return f"{one.object_id}/{place[1]}"
    return group


# --- moments -------------------------------------------------------------------------------------


def moment_words(when: Any) -> str:
    """A moment in words: `"push sent" (the 3rd time)`, and what happens where no name says it."""
    table: Table = {"moment": when} if isinstance(when, str) else when
    parts = [f'"{table["moment"]}"']
    parts += [f"on {table['node']}"] if "node" in table else []
    parts += [f"of {table['tx']}"] if "tx" in table else []
    parts += [f"of table {table['table']}"] if "table" in table else []
    parts += [f"with {key} = {toml_value(value)}" for key, value in table.get("where", {}).items()]
    parts += [f"with probability {table['chance']:g}"] if "chance" in table else []
    more = ": ".join([*_often(table.get("nth", 1)), *_meaning(table["moment"])])
    parts += [f"({more})"] if more else []
    at = f", at its {_stamp(table['at'])}" if "at" in table else ""
    return " ".join(parts) + at + _shift(table)


def _often(number: int) -> list[str]:
    """Which time it is, but for the first."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number // 10 % 10 != 1 else 0, "th")
    return [f"the {number}{ending} time"] if number > 1 else []


def _meaning(name: str) -> list[str]:
    """What happens at a moment, where it is more than that a message is sent or arrives."""
    known = moments().get(name)
    if known is None or known.source in MESSAGE:
        return []
    sentence = known.sentence.partition("; ")[0]
    is_plain = not sentence[1:2].isupper()  # and no `DDL`
    return [sentence[:1].lower() + sentence[1:] if is_plain else sentence]


def _stamp(name: str) -> str:
    return f"{STAMPS[name]} ({name})" if name in STAMPS else name


def _end_words(until: Any) -> str:
    """When a fault heals: at a moment, or at a timestamp of the one at which it began."""
    if isinstance(until, str) or "moment" in until:
        return f"the moment {moment_words(until)}"
    return f"the {_stamp(until['at'])} of that moment{_shift(until)}"


def _shift(when: Table) -> str:
    shift = when.get("plus_ms", 0)
    return f", {abs(shift):g} ms {'later' if shift > 0 else 'earlier'}" if shift else ""
