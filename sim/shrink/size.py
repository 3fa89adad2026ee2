"""Which of two scenarios is smaller: a tuple of counts, compared from the first to the last."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypedDict

from ddlsim.scenario.tomltext import toml_text
from ddlsim.shrink.data import STAGING, Data, ddl_of, nodes_of, steps_of, transactions_of

SETTINGS: Final = ("strategy", "protocol", "cluster", "fdb", "clocks", "network", "run")
INSTANTS: Final = ("at_ms", "plus_ms", "from_ms", "for_ms", "until_ms", "load_ms", "drain_ms")
COPIES: Final = ("voters", "partitions", "replicas")
DICE: Final = ("loss", "duplication", "reordering", "probability")


class Size(NamedTuple):
    """How large a scenario is, in the order in which sizes are compared.

    `drawn` counts what a run still draws (generated clients, distributions, probabilities that are
    neither 0 nor 1): a scenario without is the same for every seed, whatever it costs elsewhere.
    `entries` are steps, faults and everything else on the timeline, `settings` the keys that are
    set, `instants` the times that are given, `copies` the voters, partitions and replicas where the
    scenario says how many, `statements` those of the schema, `schema` its characters, `digits`
    those of all numbers together.
    """

    drawn: int
    transactions: int
    ddl: int
    nodes: int
    entries: int
    settings: int
    instants: int
    copies: int
    statements: int
    schema: int
    digits: int
    time_ms: float
    text: int


def size_of(data: Data) -> Size:
    """The size of a scenario."""
    entries = len(steps_of(data)) + sum(len(data.get(name, [])) for name in STAGING)
    numbers = list(_numbers(data))
    schema = data.get("schema", {}).get("sql", "")
    return Size(
        drawn=_drawn(data),
        transactions=len(transactions_of(data)),
        ddl=len(ddl_of(data)),
        nodes=len(nodes_of(data)),
        entries=entries,
        settings=sum(_keys(data.get(name, {})) for name in SETTINGS) + _own_keys(data),
        instants=sum(key in INSTANTS for key, _ in numbers),
        copies=sum(data.get("cluster", {}).get(name, 1) for name in COPIES),
        statements=sum(bool(statement.strip()) for statement in schema.split(";")),
        schema=len(schema),
        digits=sum(len(str(abs(number)).replace(".", "")) for _, number in numbers),
        time_ms=sum(abs(number) for key, number in numbers if key in INSTANTS),
        text=len(toml_text(data)),
    )


class Counts(TypedDict):
    """How large a scenario is; `entries` are steps, faults and all else on the timeline."""

    transactions: int
    statements: int
    nodes: int
    entries: int


def counts_of(data: Data) -> Counts:
    """The counts that people look at."""
    size = size_of(data)
    return {
        "transactions": size.transactions,
        "statements": size.ddl,
        "nodes": size.nodes,
        "entries": size.entries,
    }


def _drawn(data: Data) -> int:
    """How much of a run is drawn from the seed."""
    clients = sum(
        int(one.get("clients", 1)) * int(one.get("operations", 10))
        for one in data.get("workload", [])
    )
    return clients + _dice(data.get("network", {})) + sum(map(_dice, data.get("faults", [])))


def _dice(value: Any) -> int:
    """Distributions and probabilities somewhere in a value."""
    if isinstance(value, list):
        return sum(map(_dice, value))
    if not isinstance(value, dict):
        return 0
    own = int("distribution" in value)
    chances = sum(0 < value[key] < 1 for key in DICE if key in value)
    return int(own + chances + sum(map(_dice, value.values())))


def _keys(value: Any) -> int:
    """The keys of tables within a value that hold anything but tables."""
    if isinstance(value, list):
        return sum(map(_keys, value))
    if not isinstance(value, dict):
        return 1
    return sum(map(_keys, value.values()))


def _own_keys(data: Data) -> int:
    """Keys at the top of the file, and of steps and what is around them, beyond one each."""
    top = sum(not isinstance(value, dict | list) for value in data.values())
    return top + sum(_keys(data.get(name, [])) for name in ("step", *STAGING))


def _numbers(value: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """Every number in a value with the key that it stands under."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _numbers(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner, key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield key, value
