"""The last passes: the steps in the order of time, and names and keys that are easy to read.

They make nothing smaller; they are kept wherever the run still fails as it should.
"""

from functools import partial
from typing import Final, NamedTuple

from ddlsim.shrink.candidates import Candidates
from ddlsim.shrink.data import EVENT_KEYS, Data, Table, edited, steps_of, with_table
from ddlsim.shrink.times import issued_us
from ddlsim.shrink.trial import Failure, Shown

LETTERS: Final = {
    "get": "r", "scan": "r", "put": "w", "insert": "w", "replace": "w", "delete": "w",
    "commit": "c", "rollback": "a", "begin": "b",
}  # fmt: skip
"""What the id of a step begins with."""
SQL: Final = {"SELECT": "r", "INSERT": "w", "UPDATE": "w", "DELETE": "w"}
COORDINATOR: Final = "coordinator of "
"""What the role begins with that a client gives to a node."""


def in_time_order(best: Shown, failure: Failure) -> Candidates:
    """Steps in the order in which they are issued, each with its node and what it waits for."""
    del failure
    steps = steps_of(best.data)
    due = sorted(steps, key=lambda step: issued_us(best, step["id"]))
    if due != steps:
        yield edited(best.data, lambda copy: copy.update(step=due))


def plain_names(best: Shown, failure: Failure) -> Candidates:
    """T1, T2, ... for transactions, c1, ... for clients, and steps by what they do."""
    del failure
    steps = steps_of(best.data)
    transactions = _numbered("T", [step["tx"] for step in steps if "tx" in step])
    clients = _numbered("c", [step["client"] for step in steps])
    ids: dict[str, str] = {}
    for step in steps:
        own = transactions[step["tx"]][1:] if "tx" in step else ""
        ids[step["id"]] = _free(f"{_letter(step)}{own}", list(ids.values()))
    yield edited(best.data, lambda copy: _rename(copy, _Names(ids, clients, transactions)))


class _Names(NamedTuple):
    """New names by the old ones."""

    ids: dict[str, str]
    clients: dict[str, str]
    transactions: dict[str, str]


def _rename(data: Data, names: _Names) -> None:
    """Rename steps, clients and transactions wherever they are named, in place."""
    by_key = {
        "step": {"id": names.ids, "client": names.clients, "tx": names.transactions},
        "hold": {"label": names.ids, "from": names.clients, "to": names.clients},
        "pause": {"tx": names.transactions},
    }
    for list_name, keys in by_key.items():
        for table in data.get(list_name, []):
            for key, new in keys.items():
                if key in table:
                    table[key] = new.get(table[key], table[key])
    for list_name, key in EVENT_KEYS.items():
        for table in data.get(list_name, []):
            _rename_event(table, key, names.ids)
    for fault in data.get("faults", []):
        for key, value in fault.items():
            if isinstance(value, str) and value.startswith(COORDINATOR):
                client = value.removeprefix(COORDINATOR)
                fault[key] = f"{COORDINATOR}{names.clients.get(client, client)}"


def _letter(step: Table) -> str:
    if "ddl" in step:
        return "d"
    do = step["do"]
    first = do[0] if isinstance(do, list) else do.split(" ")[0]
    return LETTERS.get(first) or SQL.get(first.upper(), "s")


def _numbered(letter: str, names: list[str]) -> dict[str, str]:
    return {name: f"{letter}{number}" for number, name in enumerate(dict.fromkeys(names), 1)}


def _free(name: str, taken: list[str]) -> str:
    """The name, or with a letter behind it; the first DDL and implicit operation get a number."""
    if name[-1].isdigit():
        tries = [name, *(f"{name}{letter}" for letter in "bcdefghijklmnopqrstuvwxyz")]
    else:
        tries = [f"{name}{number}" for number in range(1, len(taken) + 2)]
        tries = [one if name == "d" else f"{one}i" for one in tries]
    tries += [f"{name}_{number}" for number in range(len(taken) + 1)]
    return next(one for one in tries if one not in taken)


def _rename_event(table: Table, key: str, ids: dict[str, str]) -> None:
    step, dot, what = str(table.get(key, "")).rpartition(".")
    if dot:
        table[key] = f"{ids.get(step, step)}.{what}"


def visible_times(best: Shown, failure: Failure) -> Candidates:
    """A latency of one millisecond on links that take no time, so that instants differ."""
    del failure
    network = {"latency_ms": 1, "client_latency_ms": 1} | best.data.get("network", {})
    yield with_table(best.data, "network", network)


def nodes_once(best: Shown, failure: Failure) -> Candidates:
    """Steps without the node that they go to anyway: their transaction's, or their client's."""
    del failure

    def leave_out(copy: Data) -> None:
        used: dict[str, str] = {}
        for step in steps_of(copy):
            names = [name for name in (step.get("tx"), step["client"]) if name is not None]
            node = step.get("node", "")
            if node and next((used[name] for name in names if name in used), None) == node:
                del step["node"]
            used |= {name: node for name in names if node}

    changed = edited(best.data, leave_out)
    if changed != best.data:
        yield changed


def small_keys(best: Shown, failure: Failure) -> Candidates:
    """Keys of rows as small numbers: all of them, or each alone."""
    del failure
    data = best.data
    keys = [key for step in steps_of(data) if (key := _key(step)) is not None]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys), 1)}
    if (yield edited(data, partial(_put_keys, numbers=numbers))):
        return
    for key, number in numbers.items():
        if number not in numbers:
            candidate = edited(data, partial(_put_keys, numbers={key: number}))
            if (yield candidate):
                data = candidate


def _key(step: Table) -> int | None:
    """The key of a row that a step names, if it is a number."""
    do = step.get("do")
    key = do[2] if isinstance(do, list) and len(do) > 2 else None
    return key if isinstance(key, int) and not isinstance(key, bool) else None


def _put_keys(data: Data, numbers: dict[int, int]) -> None:
    for step in steps_of(data):
        if (key := _key(step)) is not None and key in numbers:
            step["do"][2] = numbers[key]
