"""Statements that make a schema together, as dumps of databases have them.

A dump may create tables in any order, with the checks of foreign keys off: a foreign key may refer
to a table of a later statement. Its columns are looked at once that table is made.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ddlsim.model.ddl import AlterTable, ConstraintSpec, CreateTable, RenameTable, Statement
from ddlsim.model.schema import Table
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.references import foreign_keys, unlike


class _Open(NamedTuple):
    """A foreign key to a table that is not there yet, with the id of its own table."""

    owner: int
    spec: ConstraintSpec


class SchemaScript:
    """Builds the statements of a schema one after the other; they are given whole before."""

    def __init__(self, statements: Iterable[object]) -> None:
        self._later = Counter(name for one in statements for name in _made(one))
        self._open: list[_Open] = []

    def build(
        self,
        statement: Statement,
        snapshot: Snapshot,
        next_object_id: int,
        *,
        mandatory: bool = False,
    ) -> Built | NoOp | Refused:
        """As `ddl.build`, but for foreign keys to tables that come later."""
        self._later -= Counter(_made(statement))
        built = build(
            statement, snapshot, next_object_id, mandatory=mandatory, unchecked=self._later
        )
        if not isinstance(built, Built):
            return built
        for change in built.objects:
            made = change.definition
            if isinstance(made, Table) and (wrong := self._wrong(made, snapshot)):
                return wrong
        if isinstance(statement, (CreateTable, AlterTable)):
            self._open += [
                _Open(built.objects[0].object_id, spec)
                for spec in foreign_keys(statement)
                if spec.references is not None
                and spec.references.table != statement.name
                and snapshot.meant(spec.references.table) is None
            ]
        return built

    def _wrong(self, made: Table, snapshot: Snapshot) -> Refused | None:
        """What a table lacks that an earlier foreign key refers to, if that is still there."""
        for place in reversed(range(len(self._open))):
            owner, spec = snapshot.by_id(self._open[place].owner), self._open[place].spec
            if spec.references is not None and spec.references.table == made.name:
                del self._open[place]
                refused = unlike(spec, made)
                if refused is not None and isinstance(owner, Table) and _has(owner, spec):
                    what = f"{refused.message}, in a foreign key of table {owner.name!r}"
                    return refused._replace(message=what)
        return None


def _made(statement: object) -> tuple[str, ...]:
    """The name of the table that a statement makes, or calls so."""
    match statement:
        case CreateTable(name=name) | RenameTable(new_name=name):
            return (name,)
        case _:
            return ()


def _has(table: Table, spec: ConstraintSpec) -> bool:
    """Whether a table still has a foreign key."""
    return any(one.text == spec.text for one in table.constraints)
