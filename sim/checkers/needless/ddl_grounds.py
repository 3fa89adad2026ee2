"""What must justify the refusal of a statement in the log; part of I11.

OBJECT_NOT_FOUND: what the statement names is not there, OBJECT_EXISTS: its name is taken, both at
the catalog version that the decision names. DDL_CONFLICT: others changed the catalog as often as
the statement was tried, but for the first try, which may have lost to what came before; where a
statement fills an index in its own transaction, it may have lost to other transactions.

Not judged are DDL_REFUSED, since what a schema has no meaning for is the catalog's own matter, and
statements that name several things: the history does not say which of them is meant.
"""

from collections.abc import Iterator, Mapping, Sequence

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Operation
from ddlsim.checkers.needless.needless import Needless
from ddlsim.checkers.rules.ddl_answers import objects_at
from ddlsim.history.events import DdlDecided, Failed, UpdateLogged
from ddlsim.model.ddl import (
    AddColumn,
    AlterColumn,
    AlterTable,
    CreateTable,
    CreateView,
    DropColumn,
    DropTable,
    DropView,
    RenameTable,
    RenameView,
    Statement,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Alias, SchemaObject, Table, View, Zone


def refused_statements(case: Case) -> Iterator[tuple[Needless, Anomaly]]:
    """Each statement that failed for one of these reasons without need."""
    for _, failed in case.of(Failed):
        operation = case.operations.get(failed.op)
        if operation is None or operation.invoked is None or operation.invoked.kind != "ddl":
            continue
        ddl = case.ddls.get(failed.op)
        decided = None if ddl is None else ddl.decided
        why = _why_needless(case, operation, failed, decided)
        if why is not None:
            needless = Needless("refused-needlessly", why)
            witness = (operation.invoked, *(() if decided is None else (decided,)), failed)
            sentence = Reason[failed.reason].sentence
            what = f"{failed.op} ({case.statement(failed.op)}) failed with {failed.reason}"
            text = f"{what} ({sentence}), but {why}"
            yield needless, Anomaly(needless.cause, text, witness, clauses=("110.req.0",))


def _why_needless(
    case: Case, operation: Operation, failed: Failed, decided: DdlDecided | None
) -> str | None:
    if failed.reason == "DDL_CONFLICT" and decided is None and not case.is_layered:
        return _won_by_others(case, operation)
    if decided is None or decided.statement is None or decided.outcome != "refused":
        return None
    objects = objects_at(case, decided.catalog_version)
    relations = {one.name: one for one in objects if not isinstance(one, Zone)}
    if failed.reason == "OBJECT_NOT_FOUND":
        return _is_there(decided.statement, relations)
    if failed.reason == "OBJECT_EXISTS":
        return _is_free(decided.statement, relations)
    return None


def _won_by_others(case: Case, operation: Operation) -> str | None:
    """Every lost try but the first lost to an update of the time since the statement came."""
    attempts = case.settings("ddl_attempts")
    since, until = operation.invoked_at, operation.ended_at
    if not attempts or since is None or until is None:
        return None
    others = sum(
        since < at < until and update.op != operation.name for at, update in case.of(UpdateLogged)
    )
    if others >= min(attempts) - 1:
        return None
    return f"others changed the catalog {others} times meanwhile, and it is tried {min(attempts)}"


def _is_there(statement: Statement, relations: Mapping[str, SchemaObject]) -> str | None:
    """What a statement names, if it names one thing and that is there."""
    found: SchemaObject | None
    match statement:
        case DropTable(name=name) | RenameTable(name=name):
            found = relations.get(name)
            return f"there is a table {name!r}" if isinstance(found, Table) else None
        case DropView(name=name) | RenameView(name=name):
            found = relations.get(name)
            is_view = isinstance(found, View) and not isinstance(found, Alias)
            return f"there is a view {name!r}" if is_view else None
        case AlterTable(name=name, actions=(action,)):
            found = relations.get(name)
            columns = [one.name for one in found.columns] if isinstance(found, Table) else []
            if isinstance(action, AddColumn) and columns:
                return f"there is a table {name!r}"
            if isinstance(action, DropColumn | AlterColumn) and action.name in columns:
                return f"table {name!r} has a column {action.name!r}"
        case CreateTable(columns=specs, key=key, constraints=(), zone=None):
            return "its key is of its columns" if {*key} <= {one.name for one in specs} else None
    return None


def _is_free(statement: Statement, relations: Mapping[str, SchemaObject]) -> str | None:
    """The name that a statement gives, if it gives one and nothing bears it."""
    match statement:
        case CreateTable(columns=columns) if _repeats([one.name for one in columns]):
            return None  # a column's name is taken by another one of the statement
        case CreateTable(key=key) if _repeats(key):
            return None  # so it is in the key
        case CreateTable(name=name, constraints=()) | CreateView(name=name):
            return None if name in relations else f"nothing is called {name!r}"
        case AlterTable(name=name, actions=(AddColumn(column=column),)):
            found = relations.get(name)
            if isinstance(found, Table) and all(one.name != column.name for one in found.columns):
                return f"table {name!r} has no column {column.name!r}"
    return None


def _repeats(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)
