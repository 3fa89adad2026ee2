"""Statements that make a schema together, as dumps of databases have them.

A dump may create tables in any order, with the checks of foreign keys off: a foreign key may refer
to a table of a later statement. Its columns are looked at once that table is made.
"""

from collections.abc import Iterable

from ddlsim.model.ddl import AlterTable, ConstraintSpec, CreateTable, Statement
from ddlsim.model.schema import Table
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.references import foreign_keys, unlike


class SchemaScript:
    """Builds the statements of a schema one after the other; they are given whole before."""

    def __init__(self, statements: Iterable[object]) -> None:
        self._made = {one.name for one in statements if isinstance(one, CreateTable)}
        self._open: list[tuple[str, ConstraintSpec]] = []  # by the table that it belongs to

    def build(
        self,
        statement: Statement,
        snapshot: Snapshot,
        next_object_id: int,
        *,
        mandatory: bool = False,
    ) -> Built | NoOp | Refused:
        """As `ddl.build`, but for foreign keys to tables that come later."""
        built = build(
            statement, snapshot, next_object_id, mandatory=mandatory, unchecked=self._made
        )
        if not isinstance(built, Built):
            return built
        for change in built.objects:
            if isinstance(change.definition, Table) and (wrong := self._wrong(change.definition)):
                return wrong
        if isinstance(statement, (CreateTable, AlterTable)):
            self._open += [
                (statement.name, spec)
                for spec in foreign_keys(statement)
                if spec.references is not None
                and spec.references.table != statement.name
                and snapshot.meant(spec.references.table) is None
            ]
        return built

    def _wrong(self, made: Table) -> Refused | None:
        """What a table lacks that an earlier foreign key refers to."""
        for place in reversed(range(len(self._open))):
            owner, spec = self._open[place]
            if spec.references is not None and spec.references.table == made.name:
                refused = unlike(spec, made)
                if refused is not None:
                    what = f"{refused.message}, in a foreign key of table {owner!r}"
                    return refused._replace(message=what)
                del self._open[place]
        return None
