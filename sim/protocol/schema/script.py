"""Statements that make a schema together, as dumps of databases have them.

A dump may create tables in any order, with the checks of foreign keys off: a foreign key may refer
to a table of a later statement. Its columns are looked at once that table is made.
"""

from collections import Counter
from collections.abc import Iterable

from ddlsim.model.ddl import AlterTable, ConstraintSpec, CreateTable, Statement
from ddlsim.model.schema import Table
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.references import foreign_keys, unlike


class SchemaScript:
    """Builds the statements of a schema one after the other; they are given whole before.

    What an earlier statement has made, and another one dropped or renamed, comes no more.
    """

    def __init__(self, statements: Iterable[object]) -> None:
        self._later = Counter(one.name for one in statements if isinstance(one, CreateTable))
        self._open: list[tuple[int, ConstraintSpec]] = []  # by the table that it belongs to

    def build(
        self,
        statement: Statement,
        snapshot: Snapshot,
        next_object_id: int,
        *,
        mandatory: bool = False,
    ) -> Built | NoOp | Refused:
        """As `ddl.build`, but for foreign keys to tables that come later."""
        if isinstance(statement, CreateTable):
            self._later -= Counter((statement.name,))  # names without any left are out
        built = build(
            statement, snapshot, next_object_id, mandatory=mandatory, unchecked=self._later
        )
        if not isinstance(built, Built):
            return built
        self._open = [one for one in self._open if snapshot.by_id(one[0]) is not None]
        for change in built.objects:
            table = change.definition
            if isinstance(table, Table) and (wrong := self._wrong(table, snapshot)):
                return wrong
        if isinstance(statement, (CreateTable, AlterTable)):
            self._open += [
                (built.objects[0].object_id, spec)
                for spec in foreign_keys(statement)
                if spec.references is not None
                and spec.references.table != statement.name
                and snapshot.meant(spec.references.table) is None
            ]
        return built

    def _wrong(self, made: Table, snapshot: Snapshot) -> Refused | None:
        """What a table lacks that an earlier foreign key refers to."""
        for place in reversed(range(len(self._open))):
            owner, spec = self._open[place]
            if spec.references is not None and spec.references.table == made.name:
                refused = unlike(spec, made)
                if refused is not None:
                    of = snapshot.by_id(owner)
                    assert of is not None, f"{owner} is gone"
                    what = f"{refused.message}, in a foreign key of table {of.name!r}"
                    return refused._replace(message=what)
                del self._open[place]
        return None
