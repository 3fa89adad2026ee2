"""Whether the answer to a DDL agrees with the log of the meta storage; part of I12.

*Ok* says that the statement's own update is in the log, or that there was nothing to do: then that
is true of the catalog version which the decision names. *Failed* says that no update of it is in
the log, neither before the answer nor after it. *Unknown* says nothing.

A statement whose columns were pending first [110.later.2] is in the log once they are confirmed; if
they never are, its update has been taken back. So has a new index that is dropped again because
two rows have the same values; one that is built in states is there once it is public. A *failed*
statement has taken its index away before its answer, in whichever state it was: none is left in the
end, where it would cost every write and keep its name.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.operations import Operation
from ddlsim.checkers.rules.idle_statements import changes_nothing
from ddlsim.history.events import DdlDecided, Failed, Ok, UpdateLogged
from ddlsim.model.ddl import IndexCreated, IndexDropped, IndexStateSet, SimpleChange
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.model.schema import PUBLIC, SchemaObject, Table
from ddlsim.units import as_ms

CLAUSES = ("98.flow.1", "98.def.3")


def ddl_answers(case: Case) -> Iterator[Anomaly]:
    """Each answered statement against the log."""
    logged: dict[str, list[UpdateLogged]] = {}
    for _, update in case.schemas.updates:
        if update.op is not None:
            logged.setdefault(update.op, []).append(update)
    for operation in case.operations.values():
        if operation.invoked is None or operation.invoked.kind != "ddl":
            continue
        updates = logged.get(operation.name, [])
        if isinstance(operation.ended, Failed):
            yield from _failed(case, operation, updates)
        elif isinstance(operation.ended, Ok):
            yield from _ok(case, operation, updates)


def _failed(case: Case, operation: Operation, updates: list[UpdateLogged]) -> Iterator[Anomaly]:
    assert isinstance(operation.ended, Failed), operation.name
    if not _took_effect(updates):
        yield from _left_behind(case, operation, updates, operation.ended)
        return
    yield Anomaly(
        "failed-but-logged",
        f"{_named(case, operation)} failed for its client at {as_ms(operation.ended.at_us)} ms "
        f"({operation.ended.reason}), but its update is in the log at index "
        f"{updates[-1].index}, as catalog version {updates[-1].catalog_version}",
        (*operation.asked, updates[-1], operation.ended),
        clauses=CLAUSES,
    )


def _left_behind(
    case: Case, operation: Operation, updates: list[UpdateLogged], failed: Failed
) -> Iterator[Anomaly]:
    """Indexes that the updates of a failed statement have created, and that are there in the end.

    Known by their ids: a later statement may create another one of the same name.
    """
    for update in updates:
        for step in update.objects:
            created = {one.index.id for one in step.changes if isinstance(one, IndexCreated)}
            newest = case.schemas.newest(step.object_id)
            table = None if newest is None else newest.definition
            for index in table.indexes if isinstance(table, Table) else ():
                if index.id in created:
                    yield Anomaly(
                        "failed-but-left",
                        f"{_named(case, operation)} failed for its client at "
                        f"{as_ms(failed.at_us)} ms ({failed.reason}), but its index {index.name} "
                        f"was still there, {index.state}, when the run ended",
                        (*operation.asked, update, failed),
                        clauses=CLAUSES,
                    )


def _ok(case: Case, operation: Operation, updates: list[UpdateLogged]) -> Iterator[Anomaly]:
    assert isinstance(operation.ended, Ok), operation.name
    if _took_effect(updates):
        return
    decided = _decision(case, operation)
    if decided is None or decided.outcome != "noop":
        what = "its update is not in the log"
        if updates:
            what = "its columns were never confirmed, or its index is not public"
        yield Anomaly(
            "acknowledged-not-logged",
            f"{_named(case, operation)} was acknowledged at {as_ms(operation.ended.at_us)} ms, "
            f"but {what}",
            (*operation.asked, *(() if decided is None else (decided,)), operation.ended),
            clauses=CLAUSES,
        )
        return
    if decided.statement is None:  # a history without statements
        return
    why = changes_nothing(decided.statement, objects_at(case, decided.catalog_version))
    if why is not None:
        yield Anomaly(
            "untrue-noop",
            f"{_named(case, operation)} was acknowledged as having nothing to do on catalog "
            f"version {decided.catalog_version}, but {why}",
            (*operation.asked, decided, operation.ended),
            clauses=CLAUSES,
        )


def _decision(case: Case, operation: Operation) -> DdlDecided | None:
    ddl = case.ddls.get(operation.name)
    return None if ddl is None else ddl.decided


def _took_effect(updates: list[UpdateLogged]) -> bool:
    """Whether a statement's updates are in the log, and what was pending is confirmed."""
    changes = [change for update in updates for step in update.objects for change in step.changes]
    pending = {one.column.id for one in changes if isinstance(one, ColumnPending)}
    confirmed = {one.column.id for one in changes if isinstance(one, ColumnConfirmed)}
    return bool(changes) and pending <= confirmed and _are_public(changes)


def _are_public(changes: list[SimpleChange]) -> bool:
    """Whether every index that is created by these changes is public in the end."""
    states: dict[int, str | None] = {}
    for change in changes:
        match change:
            case IndexCreated(index=index):
                states[index.id] = index.state
            case IndexStateSet(index_id=index_id, state=state) if index_id in states:
                states[index_id] = state
            case IndexDropped(index=index) if index.id in states:
                states[index.id] = None
    return all(state == PUBLIC for state in states.values())


def objects_at(case: Case, catalog_version: int) -> list[SchemaObject]:
    """Everything that there is as of a version of the whole catalog."""
    latest: dict[int, SchemaObject | None] = {}
    for step in case.schemas.all_steps():
        if step.catalog_version <= catalog_version:
            latest[step.object_id] = step.definition
    return [found for found in latest.values() if found is not None]


def _named(case: Case, operation: Operation) -> str:
    sql = case.statement(operation.name)
    return f"{operation.name} ({sql})" if sql else operation.name
