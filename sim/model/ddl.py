"""DDL as data: statements (by name), and the object changes that they become (by id).

A *statement* is what the SQL front end reads. The catalog makes one *object change* of it for each
top-level object: its next version, and in order the *simple changes* that compatibility goes by.
"""

from collections.abc import Container
from typing import Final

from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.pending import PendingChange
from ddlsim.model.records import Record, Tagged
from ddlsim.model.schema import (
    Column,
    ColumnType,
    Condition,
    Constraint,
    Index,
    SchemaObject,
    Value,
)

# --- statements ----------------------------------------------------------------------------------


class ColumnSpec(Record, frozen=True):
    """A column as written in SQL; `has_default` tells DEFAULT NULL from no default at all.

    `computed` names the function of a default that is computed for each row, such as `rand_uuid`.
    """

    name: str
    type: ColumnType
    nullable: bool = True
    has_default: bool = False
    default: Value = None
    computed: str = ""


class Reference(Record, frozen=True):
    """The table that a foreign key refers to; no `columns`: its primary key."""

    table: str
    columns: tuple[str, ...] = ()


class _AnyTable:
    """The names of all tables that there could be."""

    def __contains__(self, _: object) -> bool:
        return True


ANY_TABLE: Final[Container[str]] = _AnyTable()
"""For what a foreign key may refer to."""


class ConstraintSpec(Record, frozen=True):
    """A constraint as written in SQL: `kind` is `check`, `unique` or `foreign`.

    `columns` are those of a `unique`, or those that the `condition` of a `check` reads, by name.
    `condition` is None where the expression is none of those that are enforced. `reads` are the
    columns of the table that a constraint without a condition names, a `foreign` or such a `check`.
    """

    name: str
    kind: str
    text: str
    columns: tuple[str, ...] = ()
    condition: Condition | None = None
    reads: tuple[str, ...] = ()
    references: Reference | None = None


class AddColumn(Tagged, frozen=True, tag="add-column"):
    """ADD COLUMN."""

    column: ColumnSpec
    if_not_exists: bool = False


class DropColumn(Tagged, frozen=True, tag="drop-column"):
    """DROP COLUMN; a list of columns in parentheses becomes one of these for each."""

    name: str
    if_exists: bool = False


class RenameColumn(Tagged, frozen=True, tag="rename-column"):
    """RENAME COLUMN a TO b."""

    name: str
    new_name: str


class AlterColumn(Tagged, frozen=True, tag="alter-column"):
    """ALTER COLUMN: whatever is not None, or marked by `sets_default`, changes [110.mixed]."""

    name: str
    type: ColumnType | None = None
    nullable: bool | None = None
    sets_default: bool = False
    default: Value = None
    computed: str = ""


class AddConstraint(Tagged, frozen=True, tag="add-constraint"):
    """ADD CONSTRAINT."""

    constraint: ConstraintSpec


class DropConstraint(Tagged, frozen=True, tag="drop-constraint"):
    """DROP CONSTRAINT."""

    name: str
    if_exists: bool = False


Action = AddColumn | DropColumn | RenameColumn | AlterColumn | AddConstraint | DropConstraint
"""One action of an ALTER TABLE."""


class CreateTable(Tagged, frozen=True, tag="create-table"):
    """CREATE TABLE; `zone` None takes the default zone."""

    name: str
    columns: tuple[ColumnSpec, ...]
    key: tuple[str, ...]
    constraints: tuple[ConstraintSpec, ...] = ()
    zone: str | None = None
    if_not_exists: bool = False


class DropTable(Tagged, frozen=True, tag="drop-table"):
    """DROP TABLE."""

    name: str
    if_exists: bool = False


class RenameTable(Tagged, frozen=True, tag="rename-table"):
    """ALTER TABLE a RENAME TO b."""

    name: str
    new_name: str
    if_exists: bool = False


class AlterTable(Tagged, frozen=True, tag="alter-table"):
    """ALTER TABLE with one or more actions, applied in order [110.compat.compound]."""

    name: str
    actions: tuple[Action, ...]
    if_exists: bool = False


class CreateIndex(Tagged, frozen=True, tag="create-index"):
    """CREATE [UNIQUE] INDEX."""

    name: str
    table: str
    columns: tuple[str, ...]
    unique: bool = False
    if_not_exists: bool = False


class DropIndex(Tagged, frozen=True, tag="drop-index"):
    """DROP INDEX."""

    name: str
    if_exists: bool = False


class CreateView(Tagged, frozen=True, tag="create-view"):
    """CREATE VIEW; `tables` are the names that its query reads.

    `reads` are the columns that it names, each with its table, where both are plain to see.
    """

    name: str
    sql: str
    tables: tuple[str, ...]
    if_not_exists: bool = False
    reads: tuple[tuple[str, str], ...] = ()


class DropView(Tagged, frozen=True, tag="drop-view"):
    """DROP VIEW."""

    name: str
    if_exists: bool = False


class RenameView(Tagged, frozen=True, tag="rename-view"):
    """ALTER VIEW a RENAME TO b."""

    name: str
    new_name: str
    if_exists: bool = False


class CreateZone(Tagged, frozen=True, tag="create-zone"):
    """CREATE ZONE; None takes the cluster's default."""

    name: str
    partitions: int | None = None
    replicas: int | None = None
    if_not_exists: bool = False


class AlterZone(Tagged, frozen=True, tag="alter-zone"):
    """ALTER ZONE SET; changing the partition count is refused [110.zone].

    With `default` it is the zone of tables that name none from now on.
    """

    name: str
    partitions: int | None = None
    replicas: int | None = None
    if_exists: bool = False
    default: bool = False


class RenameZone(Tagged, frozen=True, tag="rename-zone"):
    """ALTER ZONE a RENAME TO b; its tables stay in it [110.zone]."""

    name: str
    new_name: str
    if_exists: bool = False


class DropZone(Tagged, frozen=True, tag="drop-zone"):
    """DROP ZONE."""

    name: str
    if_exists: bool = False


Statement = (
    CreateTable
    | DropTable
    | RenameTable
    | AlterTable
    | CreateIndex
    | DropIndex
    | CreateView
    | DropView
    | RenameView
    | CreateZone
    | AlterZone
    | RenameZone
    | DropZone
)
"""One DDL statement."""

# --- object changes ------------------------------------------------------------------------------


class ObjectCreated(Tagged, frozen=True, tag="object-created"):
    """A table, view or zone was created [110.table.create]."""


class ObjectDropped(Tagged, frozen=True, tag="object-dropped"):
    """A table, view or zone was dropped [110.table.drop]."""


class ObjectRenamed(Tagged, frozen=True, tag="object-renamed"):
    """A table or view has another name [110.table.rename]."""

    old_name: str
    new_name: str


class ColumnAdded(Tagged, frozen=True, tag="column-added"):
    """A column was added [110.column.add]."""

    column: Column


class ColumnDropped(Tagged, frozen=True, tag="column-dropped"):
    """A column was removed [110.column.drop]."""

    column: Column


class ColumnRenamed(Tagged, frozen=True, tag="column-renamed"):
    """A column has another name; its id stays [110.column.rename]."""

    column_id: int
    old_name: str
    new_name: str


class ColumnAltered(Tagged, frozen=True, tag="column-altered"):
    """Type, nullability or default of a column changed, one of them or several [110.mixed]."""

    before: Column
    after: Column


class ConstraintAdded(Tagged, frozen=True, tag="constraint-added"):
    """A constraint was added."""

    constraint: Constraint


class ConstraintDropped(Tagged, frozen=True, tag="constraint-dropped"):
    """A constraint was dropped [110.constraint.drop]."""

    constraint: Constraint


class IndexCreated(Tagged, frozen=True, tag="index-created"):
    """An index was registered; it is not being built yet."""

    index: Index


class IndexDropped(Tagged, frozen=True, tag="index-dropped"):
    """An index was dropped."""

    index: Index


class IndexStateSet(Tagged, frozen=True, tag="index-state-set"):
    """An index has another of the states `INDEX_STATES` from now on."""

    index_id: int
    state: str


class ZoneAltered(Tagged, frozen=True, tag="zone-altered"):
    """A zone changed in a way that touches no tuple [110.zone]."""


SimpleChange = (
    ObjectCreated
    | ObjectDropped
    | ObjectRenamed
    | ObjectAliased
    | ColumnAdded
    | ColumnDropped
    | ColumnRenamed
    | ColumnAltered
    | PendingChange
    | ConstraintAdded
    | ConstraintDropped
    | IndexCreated
    | IndexDropped
    | IndexStateSet
    | ZoneAltered
)
"""A simple schema change of one top-level object."""


class ObjectChange(Record, frozen=True):
    """The step of one top-level object from version - 1 to `version`.

    `definition` is the object at that version, None once it is gone; `changes` lead there in order.
    """

    object_id: int
    kind: str
    name: str
    version: int
    definition: SchemaObject | None
    changes: tuple[SimpleChange, ...]
