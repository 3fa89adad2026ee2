"""A scenario as data, as `tomllib` reads it, and how candidates are made of it.

Nothing here changes what it is given: every function returns a copy.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, Final

import msgspec

Data = dict[str, Any]
"""A scenario file's keys and tables."""
Table = dict[str, Any]

STAGING: Final = ("faults", "hold", "pause", "apply", "tick", "clock", "leader")
"""The lists of what happens around the steps."""
EVENT_KEYS: Final = {"step": "after", "hold": "until", "pause": "until"}
"""Which key of which table names an event of a step."""


def key_of(data: Data) -> bytes:
    """The same bytes for the same data."""
    return msgspec.json.encode(data)


def steps_of(data: Data) -> list[Table]:
    """The scripted steps."""
    found: list[Table] = data.get("step", [])
    return found


def with_list(data: Data, name: str, tables: Sequence[Table]) -> Data:
    """The scenario with another list of tables under a name; an empty one is left out."""
    changed = {key: deepcopy(value) for key, value in data.items() if key != name}
    return {**changed, name: deepcopy(list(tables))} if tables else changed


def with_table(data: Data, name: str, table: Table) -> Data:
    """The scenario with another table under a name; an empty one is left out."""
    changed = {key: deepcopy(value) for key, value in data.items() if key != name}
    return {**changed, name: deepcopy(table)} if table else changed


def with_schema(data: Data, statements: Sequence[str]) -> Data:
    """The scenario with these statements, a line each, as its schema."""
    return with_table(data, "schema", schema_of(statements))


def schema_of(statements: Sequence[str]) -> Table:
    """The table of a schema: one statement as it is, several with a line each; empty for none."""
    lines = list(statements)
    sql = lines[0] if len(lines) == 1 else "".join(f"{line};\n" for line in lines)
    return {"sql": sql} if lines else {}


def edited(data: Data, edit: Callable[[Data], None]) -> Data:
    """A copy after an edit in place."""
    copy = deepcopy(data)
    edit(copy)
    return copy


def without_steps(data: Data, gone: Sequence[int]) -> Data:
    """The scenario without the steps at these places, and without what waits for them.

    A step that came after one that is gone comes after what that one came after; holds and pauses
    that end with it, or are for it alone, go with it.
    """
    steps = steps_of(data)
    dropped = {steps[at]["id"]: steps[at] for at in gone}
    kept = [dict(step) for at, step in enumerate(steps) if at not in set(gone)]
    for step in kept:
        _retie(step, dropped)
    changed = with_list(data, "step", kept)
    for name in ("hold", "pause"):
        tables = [one for one in data.get(name, []) if not _rests_on(one, dropped, kept)]
        changed = with_list(changed, name, tables)
    return changed


def _retie(step: Table, dropped: dict[str, Table]) -> None:
    """Tie a step to an event that is still there, in place."""
    while (event := step.get("after")) is not None:
        gone = dropped.get(event.rpartition(".")[0])
        if gone is None:
            return
        plus_ms = step.pop("plus_ms", 0) + gone.get("plus_ms", 0)
        del step["after"]
        if "after" in gone:
            step["after"] = gone["after"]
        if "at_ms" in gone:
            step.setdefault("at_ms", gone["at_ms"] + plus_ms)
        elif plus_ms and "at_ms" not in step:
            step["plus_ms"] = plus_ms


def _rests_on(table: Table, dropped: dict[str, Table], kept: Sequence[Table]) -> bool:
    """Whether a hold or pause waits for a step that is gone, or is for one, or its transaction."""
    event = table.get("until", "").rpartition(".")[0]
    transactions = {step.get("tx") for step in kept}
    return (
        event in dropped
        or table.get("label") in dropped
        or ("tx" in table and table["tx"] not in transactions)
    )


def transactions_of(data: Data) -> list[list[int]]:
    """The places of the steps of each transaction; an implicit operation is one of its own."""
    groups: dict[str, list[int]] = {}
    for at, step in enumerate(steps_of(data)):
        if "ddl" not in step:
            groups.setdefault(step.get("tx", f"step {step['id']}"), []).append(at)
    return list(groups.values())


def ddl_of(data: Data) -> list[int]:
    """The places of the steps that are DDL."""
    return [at for at, step in enumerate(steps_of(data)) if "ddl" in step]


def nodes_of(data: Data) -> list[str]:
    """The names of the nodes."""
    nodes = data.get("cluster", {}).get("nodes", 3)
    return list(nodes) if isinstance(nodes, list) else [f"n{n}" for n in range(1, nodes + 1)]
