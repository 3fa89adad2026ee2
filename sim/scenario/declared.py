"""The names that the DDL of a scenario makes, and what a statement or a step needs of them.

A name that no statement of the whole file makes is a slip: what needs it can only be refused, and a
run in which nothing but refusals happened would end as OK. Which statement comes first is not
asked: races are what scenarios are for.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ddlsim.model.ddl import (
    AddConstraint,
    AlterColumn,
    AlterTable,
    AlterZone,
    ConstraintSpec,
    CreateIndex,
    CreateTable,
    CreateView,
    CreateZone,
    DropColumn,
    DropConstraint,
    DropIndex,
    DropTable,
    DropView,
    DropZone,
    RenameColumn,
    RenameTable,
    RenameView,
    RenameZone,
    Statement,
)
from ddlsim.protocol.schema.alter_table import new_table
from ddlsim.protocol.schema.ddl import DEFAULT_ZONE
from ddlsim.protocol.schema.ddl_answers import Refused
from ddlsim.protocol.schema.references import constraints_of
from ddlsim.scenario.problems import near
from ddlsim.scenario.row_types import RowTypes, aside

OF_A_COLUMN: Final = (DropColumn, RenameColumn, AlterColumn)
"""Actions on a column that must be there."""
ON_WHAT_IS_THERE: Final[dict[str, tuple[type[Statement], ...]]] = {
    "table": (AlterTable, DropTable, RenameTable),
    "view": (DropView, RenameView),
    "index": (DropIndex,),
    "zone": (AlterZone, RenameZone, DropZone),
}
"""The statements on an object that must be there, by its kind."""


class Declared:
    """What the statements of a scenario make, by kind.

    `types` are the columns and keys of its tables. Where not all DDL is `scripted`, others may make
    columns, indexes, constraints, views and zones, and nothing is said about them.
    """

    def __init__(self, statements: Iterable[Statement], *, scripted: bool = True) -> None:
        made = list(statements)
        self.scripted = scripted
        tables = _names(made, (CreateTable, RenameTable))
        views = _names(made, (CreateView, RenameView))
        self._known = {
            "table": tables,
            "view": views,
            "table or view": [*tables, *views],
            "index": _names(made, (CreateIndex,)),
            "zone": [DEFAULT_ZONE, *_names(made, (CreateZone, RenameZone))],
        }
        self.types = RowTypes(made)
        self._renames = [one for one in made if isinstance(one, RenameTable)]
        self._constraints: dict[str, list[ConstraintSpec]] = {}  # by a name of their table
        for statement in made:
            if isinstance(statement, CreateTable | AlterTable):
                own = self._constraints.setdefault(statement.name, [])
                own += constraints_of(statement)

    @property
    def readable(self) -> list[str]:
        """The names of tables and views."""
        return self._known["table or view"]

    def lacks(self, kind: str, name: str, meant: str = "") -> str | None:
        """Why nothing of a kind has a name at any time; None if something has.

        `meant` says what to do if that is meant.
        """
        known = self._known[kind]
        if name in known or not (self.scripted or kind.startswith("table")):
            return None
        return f"no {kind} is called {name!r}{aside(meant)}; {near(name, known)}"

    def refused(self, statement: Statement, meant: str) -> str | None:
        """Why every catalog refuses a statement: what it names that no statement makes, or a type
        that no version of its column converts to.

        `meant` says what to do if that is meant.
        """
        return next(filter(None, self._reasons(statement, meant)), None)

    def _reasons(self, statement: Statement, meant: str) -> Iterator[str | None]:
        for kind, statements in ON_WHAT_IS_THERE.items():
            if isinstance(statement, statements) and not getattr(statement, "if_exists", False):
                yield self.lacks(kind, statement.name, meant)
        match statement:
            case CreateTable():
                yield from self._of_a_new_table(statement, meant)
            case AlterTable(name=table, actions=actions) if table in self._known["table"]:
                for action in actions:
                    yield from self._of_an_action(table, action, meant)
            case CreateIndex(table=table, columns=columns):
                yield self.lacks("table", table, meant)
                yield from self._columns(table, columns, meant)
            case CreateView(tables=tables, reads=reads):
                for name in tables:
                    yield self.lacks("table or view", name, meant)
                for table, column in reads:
                    yield from self._columns(table, (column,), meant)
            case _:
                pass

    def _of_a_new_table(self, statement: CreateTable, meant: str) -> Iterator[str | None]:
        made = new_table(statement, 1, statement.zone or DEFAULT_ZONE)
        yield f"{made.message}{aside(meant)}" if isinstance(made, Refused) else None
        if statement.zone is not None:
            yield self.lacks("zone", statement.zone, meant)
        for spec in statement.constraints:
            yield from self._referred(spec, meant)

    def _of_an_action(self, table: str, action: object, meant: str) -> Iterator[str | None]:
        excused = getattr(action, "if_exists", False)
        if isinstance(action, OF_A_COLUMN) and not excused:
            yield from self._columns(table, (action.name,), meant)
            if isinstance(action, AlterColumn) and action.type is not None and self.scripted:
                yield self.types.never_becomes(table, action.name, action.type, meant)
        elif isinstance(action, AddConstraint):
            spec = action.constraint
            own = [one.removeprefix(f"{table}.") for one in spec.reads]
            yield from self._columns(table, (*spec.columns, *own), meant)
            yield from self._referred(spec, meant)
        elif isinstance(action, DropConstraint) and not excused and self.scripted:
            yield self._no_constraint(table, action.name, meant)

    def _columns(self, table: str, columns: Sequence[str], meant: str) -> Iterator[str | None]:
        for column in columns if self.scripted else ():
            yield self.types.lacks(table, column, meant)

    def _referred(self, spec: ConstraintSpec, meant: str) -> Iterator[str | None]:
        """The table and the columns that a foreign key refers to."""
        if spec.references is not None:
            yield self.lacks("table", spec.references.table, meant)
            yield from self._columns(spec.references.table, spec.references.columns, meant)

    def _no_constraint(self, table: str, name: str, meant: str) -> str | None:
        """Why no table that was ever called so has a constraint of a name; None if one may have.

        One without a name is called after its table, its kind and its id, which only a run knows.
        """
        names = self._called(table)
        specs = [spec for one in names for spec in self._constraints.get(one, ())]
        stems = {f"{one}_{spec.kind}" for one in names for spec in specs if not spec.name}
        stem, _, number = name.rpartition("_")
        known = dict.fromkeys(spec.name for spec in specs if spec.name)
        if name in known or (stem in stems and number.isdecimal()):
            return None
        what = f"no version of {table} has a constraint {name!r}{aside(meant)}"
        return f"{what}; {near(name, known)}"

    def _called(self, table: str) -> list[str]:
        """All names that tables of this name have at any time."""
        names = {table: None}
        for _ in self._renames:  # a chain of renames is at most this long
            for one in self._renames:
                if one.name in names or one.new_name in names:
                    names |= {one.name: None, one.new_name: None}
        return list(names)


def _names(statements: Sequence[Statement], kinds: tuple[type[Statement], ...]) -> list[str]:
    """The names that statements of some kinds give, in order."""
    made = (one for one in statements if isinstance(one, kinds))
    return list(dict.fromkeys(getattr(one, "new_name", None) or one.name for one in made))
