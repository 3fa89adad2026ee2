"""Passes over the world around the clients: nodes, settings, clocks, tables."""

from collections.abc import Callable, Generator
from copy import deepcopy
from typing import Any, Final

from ddlsim.scenario.rules import FDB
from ddlsim.shrink.candidates import Candidates, every, fewer
from ddlsim.shrink.data import (
    STAGING,
    Data,
    Table,
    edited,
    nodes_of,
    steps_of,
    with_schema,
    with_table,
)
from ddlsim.shrink.tables import split_at_commas
from ddlsim.shrink.trial import Failure, Shown
from ddlsim.sql import parse

PRESETS: Final = ("ignite3_tests", "ignite3_defaults")
COUNTS: Final = ("voters", "partitions", "replicas")
OPTIONAL: Final = ("strategy", "protocol", "cluster", "fdb", "clocks", "network", "seeds")
"""Tables of which every key may be left out, or else all but those in `NEEDED`."""
NEEDED: Final = {
    "strategy": ("name", "mutant"),
    "faults": ("name",),
    "hold": ("from", "to", "kind", "messages", "lost"),
    "pause": ("node", "point"),
    "apply": ("node", "stage", "delay_ms"),
    "tick": ("at_ms",),
    "clock": ("node", "at_ms"),
    "leader": ("group", "node"),
}
"""The keys without which a table of the timeline says nothing, or less of one message."""
KEPT: Final = {"cluster": ("plane", "nodes")}
"""What `by_default` leaves as it is: how many nodes there are."""
PARTS: Final = 4
"""Into so many parts it cuts the keys at most."""


# --- nodes ---------------------------------------------------------------------------------------


def nodes(best: Shown, failure: Failure) -> Candidates:
    """Nodes: what one does is done by another one, or not at all; the rest is numbered anew."""
    del failure
    data = best.data
    again = True
    while again and len(nodes_of(data)) > 1:
        again = False
        for gone in reversed(nodes_of(data)):
            for other in [None, *(one for one in nodes_of(data) if one != gone)]:
                candidate = without_node(data, gone, other)
                if candidate is not None and (yield candidate):
                    data, again = candidate, True
                    break
            if again:
                break


def without_node(data: Data, gone: str, other: str | None) -> Data | None:
    """The scenario without a node, another one in its place; None if it issues steps there.

    Without another one, what is only about the node that is gone goes with it.
    """
    if other is None and any(step.get("node") == gone for step in steps_of(data)):
        return None
    left = [node for node in nodes_of(data) if node != gone]
    names = {node: f"n{number}" for number, node in enumerate(left, 1)}
    if other is not None:
        names[gone] = names[other]
    changed: Data = {}
    for key, value in data.items():
        about = key in STAGING and other is None
        left_over = [one for one in value if gone not in _named(one)] if about else value
        renamed = _renamed(left_over, names, gone)
        if renamed not in ([], {}):
            changed[key] = renamed
    cluster = dict(changed.get("cluster", {}), nodes=len(left))
    if "voters" in cluster:
        cluster["voters"] = min(cluster["voters"], len(left))
    return {**changed, "cluster": cluster}


def _named(value: Any) -> list[str]:
    """Every string in a value."""
    if isinstance(value, dict):
        return [name for inner in value.values() for name in _named(inner)]
    if isinstance(value, list):
        return [name for inner in value for name in _named(inner)]
    return [value] if isinstance(value, str) else []


def _renamed(value: Any, names: dict[str, str], gone: str) -> Any:
    """A value with nodes renamed; of tables by node that of the one that is gone is left out."""
    if isinstance(value, dict):
        kept = {key: inner for key, inner in value.items() if key != gone}
        return {names.get(key, key): _renamed(inner, names, gone) for key, inner in kept.items()}
    if isinstance(value, list):
        renamed = [_renamed(inner, names, gone) for inner in value]
        if all(isinstance(one, str) for one in renamed) and any(one in names for one in value):
            return list(dict.fromkeys(renamed))
        return renamed
    return names.get(value, value) if isinstance(value, str) else value


def counts(best: Shown, failure: Failure) -> Candidates:
    """Voters, partitions and replicas: one, else half of them."""
    del failure
    data = best.data
    for name in COUNTS:
        now = data.get("cluster", {}).get(name)
        if now is None or now == 1:
            continue
        for fewer_ in dict.fromkeys((1, now // 2, now - 1)):
            candidate = with_table(data, "cluster", {**data["cluster"], name: fewer_})
            if (yield candidate):
                data = candidate
                break


# --- settings ------------------------------------------------------------------------------------


def preset(best: Shown, failure: Failure) -> Candidates:
    """The settings of a preset, with as few of the scenario's own as possible over it."""
    del failure
    protocol = best.data.get("protocol", {})
    own = {key: value for key, value in protocol.items() if key != "preset"}
    known = () if best.history.header.design.plane == FDB else PRESETS  # a layer uses none
    for name in dict.fromkeys([protocol.get("preset"), *known]):
        base = {} if name is None else {"preset": name}

        def of(some: list[str], base: Table = base) -> Data:
            kept = {key: own[key] for key in some}
            return with_table(best.data, "protocol", {**base, **kept})

        yield from fewer(list(own), of)


def by_default(best: Shown, failure: Failure) -> Candidates:
    """Many keys that have defaults, of all tables together.

    It comes early: there are worlds in which settings make a run take many times the events.
    """
    del failure
    data = best.data
    keys = [
        (name, key)
        for name in OPTIONAL
        for key in data.get(name, {})
        if key not in (*NEEDED.get(name, ()), *KEPT.get(name, ()))
    ]

    def of(some: list[tuple[str, str]]) -> Data:
        return edited(data, lambda copy: _leave_out(copy, {*keys} - {*some}))

    yield from fewer(keys, of, PARTS)


def _leave_out(copy: Data, gone: set[tuple[str, str]]) -> None:
    for name, key in gone:
        del copy[name][key]
        if not copy[name]:
            del copy[name]


def settings(best: Shown, failure: Failure) -> Candidates:
    """Keys of the tables that have defaults, from whole tables to single keys."""
    del failure
    data = best.data
    for name in OPTIONAL:
        data = yield from _fewer_keys(data, name)
    for path in _paths(data):
        candidate = without(data, path)
        if candidate is not None and (yield candidate):
            data = candidate


def _fewer_keys(data: Data, name: str) -> Generator[Data, bool | None, Data]:
    """A table with fewer keys, many at a time: where runs last long, few of them can be made."""
    table = data.get(name, {})
    needed = {key: value for key, value in table.items() if key in NEEDED.get(name, ())}

    def of(some: list[str]) -> Data:
        return with_table(data, name, {**{key: table[key] for key in some}, **needed})

    left = yield from fewer([key for key in table if key not in needed], of)
    return of(left)


def _paths(data: Data) -> list[tuple[str | int, ...]]:
    """The keys that may be left out, outer ones first."""
    found: list[tuple[str | int, ...]] = []

    def walk(value: Any, path: tuple[str | int, ...], needed: tuple[str, ...] = ()) -> None:
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in list(inner):
            if key not in needed:
                found.append((*path, key))
            if isinstance(item, dict) or (isinstance(item, list) and path[:1] == ("network",)):
                walk(item, (*path, key), ("distribution",))

    for key, value in data.items():
        if key in OPTIONAL:
            found += [] if key in NEEDED else [(key,)]
            walk(value, (key,), NEEDED.get(key, ()))
        elif key in NEEDED:
            for at, table in enumerate(value):
                walk(table, (key, at), NEEDED[key])
        elif not isinstance(value, dict | list):
            found.append((key,))
    steps = steps_of(data)
    found += [
        ("step", at, key)
        for at, step in enumerate(steps)
        for key in ("session", "read_only", "as_of_ms", "values", "fresh")
        if key in step
    ]
    return found


def without(data: Data, path: tuple[str | int, ...]) -> Data | None:
    """The scenario without one key; None where it is gone already."""
    copy = deepcopy(data)
    above: list[Any] = [copy]
    for part in path[:-1]:
        here = above[-1]
        if not (part in here if isinstance(here, dict) else int(part) < len(here)):
            return None
        above.append(here[part])
    last = above[-1]
    if not (path[-1] in last if isinstance(last, dict) else int(path[-1]) < len(last)):
        return None
    del last[path[-1]]
    for depth in range(len(path) - 2, -1, -1):
        if above[depth + 1] in ({}, []) and isinstance(path[depth], str):
            del above[depth][path[depth]]
    return copy


# --- tables --------------------------------------------------------------------------------------


def schema(best: Shown, failure: Failure) -> Candidates:
    """Statements of the schema; then tables without their zone."""
    del failure
    sql = best.data.get("schema", {}).get("sql")
    if sql is None:
        return
    lines = [line.sql for line in parse(sql)]
    left = yield from fewer(lines, lambda some: with_schema(best.data, some))
    for at, line in enumerate(left):
        head, zone, _ = line.partition(" ZONE ")
        if zone and (yield with_schema(best.data, [*left[:at], head, *left[at + 1 :]])):
            left[at] = head


def actions(best: Shown, failure: Failure) -> Candidates:
    """DDL statements with fewer actions: `ALTER TABLE t ADD COLUMN a INT` of a compound one."""
    del failure
    edits: list[Callable[[Data], Data | None]] = []
    for at, step in enumerate(steps_of(best.data)):
        if "ddl" in step:
            edits += [_with_ddl(at, sql) for sql in _simpler(step["ddl"])]
    yield from every(best.data, edits)


def _with_ddl(at: int, sql: str) -> Callable[[Data], Data | None]:
    def edit(data: Data) -> Data | None:
        def put(copy: Data) -> None:
            copy["step"][at]["ddl"] = sql

        return edited(data, put)

    return edit


def _simpler(sql: str) -> list[str]:
    """The statement with each of its comma-separated actions alone."""
    words = sql.split(" ", 3)
    if len(words) < 4 or words[:2] != ["ALTER", "TABLE"] or "," not in words[3]:
        return []
    head = " ".join(words[:3])
    return [f"{head} {action}" for action in split_at_commas(words[3])]
