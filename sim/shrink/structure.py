"""Passes that leave out clients, transactions, statements, faults and operations."""

from collections.abc import Generator
from typing import Final

from ddlsim.checkers.argument import names_of
from ddlsim.history.events import UpdateLogged
from ddlsim.shrink.candidates import Candidates, each, fewer
from ddlsim.shrink.data import (
    STAGING,
    Data,
    Table,
    ddl_of,
    steps_of,
    transactions_of,
    with_list,
    without_steps,
)
from ddlsim.shrink.trial import Failure, Shown
from ddlsim.units import US_PER_MS

MARGINS_MS: Final = (0, 100, 1_000)
"""How much of what comes after the violation is left at first."""
PARTS: Final = 8
"""Into so many parts steps are cut while each run is still long."""


def generated(best: Shown, failure: Failure) -> Candidates:
    """Workloads, clients and operations of a scenario that could not be scripted."""
    del failure
    data = best.data
    data = yield from _some_of(data, "workload")
    data = yield from _some_of(data, "migration")
    for at in range(len(data.get("workload", []))):
        for key in ("clients", "operations"):
            halves = True
            while halves:
                tables = [dict(one) for one in data["workload"]]
                tables[at][key] = int(tables[at].get(key, 10)) // 2
                candidate = with_list(data, "workload", tables)
                halves = bool(tables[at][key] and (yield candidate))
                data = candidate if halves else data


def _some_of(data: Data, name: str) -> Generator[Data, bool | None, Data]:
    """Fewer tables of a list; returns the data that is left."""
    left = yield from fewer(data.get(name, []), lambda some: with_list(data, name, some))
    return with_list(data, name, left)


def nothing_after(best: Shown, failure: Failure) -> Candidates:
    """Nothing is issued after the violation."""
    del failure
    data = best.data
    for margin_ms in MARGINS_MS:
        until_ms = best.ends_us / US_PER_MS + margin_ms
        late = [at for at, step in enumerate(steps_of(data)) if step.get("at_ms", 0) > until_ms]
        candidate = without_steps(data, late)
        for name in STAGING:
            kept = [one for one in data.get(name, []) if _begins_ms(one) <= until_ms]
            candidate = with_list(candidate, name, kept)
        if (yield candidate):
            return


def _begins_ms(table: Table) -> float:
    begins = table.get("from_ms", table.get("at_ms", 0))
    return begins if isinstance(begins, int | float) else 0


def parties_only(best: Shown, failure: Failure) -> Candidates:
    """Only the transactions and statements that the argument names; then with all statements."""
    del failure
    data, names = best.data, set(names_of(best.violation))
    logged = [one for one in best.history.of(UpdateLogged) if one.op is not None]
    statements = {one.op for one in logged if f"D{one.catalog_version}" in names}
    witnessed = {getattr(event, "op", None) for event in best.violation.witness}

    def is_party(step: Table) -> bool:
        return not names.isdisjoint((step.get("tx"), step["id"])) or step["id"] in witnessed

    steps = list(enumerate(steps_of(data)))
    others = [at for at, step in steps if not is_party(step) and step["id"] not in statements]
    with_ddl = [at for at in others if "ddl" not in steps_of(data)[at]]
    bare = without_steps(data, others)
    for name in STAGING:
        bare = with_list(bare, name, [])
    yield from each([bare, without_steps(data, others), without_steps(data, with_ddl)])


def clients(best: Shown, failure: Failure, parts: int | None = None) -> Candidates:
    """Clients, each with everything that it does."""
    del failure
    data = best.data
    names = list(dict.fromkeys(step["client"] for step in steps_of(data)))

    def of(some: list[str]) -> Data:
        gone = [at for at, step in enumerate(steps_of(data)) if step["client"] not in some]
        return without_steps(data, gone)

    yield from fewer(names, of, parts)


def some_clients(best: Shown, failure: Failure) -> Candidates:
    """Many clients at a time."""
    yield from clients(best, failure, PARTS)


def transactions(best: Shown, failure: Failure, parts: int | None = None) -> Candidates:
    """Whole transactions, and operations that are transactions of their own."""
    del failure
    yield from _fewer_steps(best.data, transactions_of(best.data), parts)


def some_transactions(best: Shown, failure: Failure) -> Candidates:
    """Many transactions at a time."""
    yield from transactions(best, failure, PARTS)


def statements(best: Shown, failure: Failure) -> Candidates:
    """DDL statements."""
    del failure
    yield from _fewer_steps(best.data, [[at] for at in ddl_of(best.data)])


def operations(best: Shown, failure: Failure, parts: int | None = None) -> Candidates:
    """Single operations, commits and rollbacks."""
    del failure
    yield from _fewer_steps(best.data, [[at] for at in range(len(steps_of(best.data)))], parts)


def some_operations(best: Shown, failure: Failure) -> Candidates:
    """Many operations at a time."""
    yield from operations(best, failure, PARTS)


def _fewer_steps(data: Data, groups: list[list[int]], parts: int | None = None) -> Candidates:
    whole = {at for group in groups for at in group}

    def of(some: list[list[int]]) -> Data:
        return without_steps(data, sorted(whole - {at for group in some for at in group}))

    yield from fewer(groups, of, parts)


def around(best: Shown, failure: Failure) -> Candidates:
    """Faults, holds, pauses and everything else around the steps: all of a kind, then each."""
    del failure
    data = best.data
    for name in STAGING:
        data = yield from _some_of(data, name)
