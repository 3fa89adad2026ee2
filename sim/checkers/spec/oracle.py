"""The three requirements of forward compatibility, tested on actual tuples [110.fwd.1-3].

Operations at the edges of I are carried out under I, their tuples upgraded to C, and then:

    1. each upgraded tuple, and each pair of them, may exist under C
    2. tuples that differed under I still differ under C: nothing was lost
    3. each is what the *same operation* leaves if it is carried out under C, and found by all
       paths: no reader can distinguish it from a tuple written under C

No verdict is looked up: there is nothing here that knows a kind of change. "The same operation" is
the same row from the client's hand: its object by name, its columns by id, its values by meaning.
The document's own example decides that requirement 3 is about the same operation, and not about any
operation that could have left this tuple: it rules out modified defaults, although a client could
also give the old value explicitly.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ddlsim.checkers.spec.tuples import (
    ClientValue,
    Operation,
    Row,
    State,
    clash,
    executed,
    forbidden,
    found_by,
    shown,
    upgraded_row,
)
from ddlsim.checkers.spec.types import Datum, domain
from ddlsim.model.schema import ColumnType


class Breach(NamedTuple):
    """The requirement that a change breaks, and the tuple that shows it."""

    requirement: str
    reason: str


class Trial(NamedTuple):
    """An operation, its tuple under I, and that tuple under C."""

    operation: Operation
    written: Row
    upgraded: Row


def breach(initial: State, target: State) -> Breach | None:
    """What keeps I from being forward-compatible with C; None if nothing does."""
    trials: list[Trial] = []
    for operation in operations(initial, target):
        row = executed(initial, operation)
        if row is not None:
            upgraded = row if target.name is None else upgraded_row(row, initial, target)
            trials.append(Trial(operation, row, upgraded))
    tests = (
        ("110.fwd.1", not_allowed(trials, initial, target)),
        ("110.fwd.2", lost(trials, initial)),
        ("110.fwd.3", detected(trials, target)),
    )
    return next((Breach(clause, why) for clause, why in tests if why is not None), None)


def operations(initial: State, target: State) -> Iterator[Operation]:
    """Writes at the edges of a schema: each column at each edge of its type, NULL, and left out.

    For each constraint there is one whose row breaks it, and for each unique index of either
    schema one whose row agrees in its columns with the first, and in nothing else.
    """
    if initial.name is None or not initial.has_tuples:
        return
    name = initial.name
    edges = {
        one.id: [ClientValue(edge, one.type) for edge in edges_of(one.type)]
        for one in initial.columns
    }
    first = {id_: given[0] for id_, given in edges.items()}
    yield Operation(name, first)
    for column in initial.columns:
        for given in (*edges[column.id][1:], ClientValue(None, column.type)):
            yield Operation(name, first | {column.id: given})
        yield Operation(name, {id_: given for id_, given in first.items() if id_ != column.id})
    for constraint in {**dict.fromkeys(initial.constraints), **dict.fromkeys(target.constraints)}:
        yield Operation(name, first, frozenset([constraint]))
    for access in target.accesses:
        if access.unique:
            other = {id_: edges[id_][-1] for id_ in edges if id_ not in access.columns}
            yield Operation(name, first | other)


def edges_of(type_: ColumnType) -> tuple[Datum, ...]:
    """The values that a type is tried with."""
    return domain(type_).edges


def not_allowed(trials: list[Trial], initial: State, target: State) -> str | None:
    """Requirement 1: why a tuple, or a pair of tuples, must not exist under C [110.fwd.1]."""
    for trial in trials:
        why = forbidden(target, trial.upgraded)
        if why is not None:
            return why
    if not any(access.unique for access in target.accesses):
        return None
    for number, one in enumerate(trials):
        for other in trials[:number]:
            if clash(target, one.upgraded, other.upgraded) and not clash(
                initial, one.written, other.written
            ):
                return "two old tuples may agree in what must be unique"
    return None


def lost(trials: list[Trial], initial: State) -> str | None:
    """Requirement 2: which difference between tuples an upgrade loses [110.fwd.2]."""
    names = {column.id: column.name for column in initial.columns}
    known: dict[tuple[object, ...], Row] = {}
    for trial in trials:
        upgraded = tuple(trial.upgraded.cells.items())
        before = known.setdefault(upgraded, trial.written)
        for id_, datum in trial.written.cells.items():
            if before.cells[id_] != datum:
                values = f"{shown(before.cells[id_])} and {shown(datum)}"
                return f"tuples with {values} in {names[id_]} become the same tuple"
    return None


def detected(trials: list[Trial], target: State) -> str | None:
    """Requirement 3: how a reader can see that a tuple was written under I [110.fwd.3]."""
    names = {column.id: column.name for column in target.columns}
    for trial in trials:
        due = executed(target, trial.operation)
        if due is None:
            if trial.operation.name not in (target.name, *target.aliases):
                name = trial.operation.name
                return f"in the commit schema the name {name!r} is not the table's"
            return "the same operation would be refused under the commit schema"
        for id_, datum in due.cells.items():
            if trial.upgraded.cells[id_] != datum:
                held = shown(trial.upgraded.cells[id_])
                return (
                    f"a tuple that leaves {names[id_]} out holds {held}, and would hold "
                    f"{shown(datum)} if written under the commit schema"
                )
        if found_by(target, due) != found_by(target, trial.upgraded):
            return "a reader of the new index does not find an old tuple"
    return None
