"""For all migrations: ids are unique, changes make definitions, steps compose, `at` is a floor."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ConstraintAdded,
    ConstraintDropped,
    IndexCreated,
    IndexDropped,
    ObjectChange,
    ObjectCreated,
    ObjectDropped,
    ObjectRenamed,
    SimpleChange,
)
from ddlsim.model.schema import Table
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl import Built
from ddlsim.units import Timestamp
from tests.support.ddl_strategies import migrations

ACTIVATIONS = st.lists(st.integers(0, 40), min_size=15, max_size=15)


def filled(migration: list[Built], activations: list[int]) -> Catalog:
    catalog = Catalog()
    for version, (built, at) in enumerate(zip(migration, activations, strict=False), start=1):
        catalog.apply(version, Timestamp(at), Timestamp(at), built.objects)
    return catalog


def changes(migration: list[Built]) -> list[ObjectChange]:
    return [change for built in migration for change in built.objects]


@given(migrations())
def test_no_id_is_given_out_twice(migration: list[Built]) -> None:
    given_out: Counter[tuple[str, int]] = Counter()
    for change in changes(migration):
        for simple in change.changes:
            match simple:
                case ObjectCreated():
                    given_out["object", change.object_id] += 1
                    if isinstance(change.definition, Table):
                        given_out.update(
                            (f"of {change.object_id}", column.id)
                            for column in change.definition.columns
                        )
                case ColumnAdded(column=column):
                    given_out[f"of {change.object_id}", column.id] += 1
                case IndexCreated(index=index):
                    given_out["object", index.id] += 1
                case ConstraintAdded(constraint=constraint):
                    given_out["object", constraint.id] += 1
    assert not [one for one, times in given_out.items() if times > 1]


@given(migrations())
def test_versions_of_an_object_follow_each_other(migration: list[Built]) -> None:
    seen: Counter[int] = Counter()
    dropped: list[int] = []
    for change in changes(migration):
        seen[change.object_id] += 1
        assert change.version == seen[change.object_id]
        assert change.object_id not in dropped
        assert change.changes
        if change.definition is None:
            dropped.append(change.object_id)
        else:
            assert change.definition.version == change.version
            assert change.definition.name == change.name


@given(migrations())
def test_no_two_objects_share_a_name(migration: list[Built]) -> None:
    snapshot = filled(migration, [0] * 15).latest()
    assert max(Counter(found.name for found in snapshot.objects()).values(), default=1) == 1
    for table in snapshot.tables():
        assert snapshot.by_name(table.name) is table
        assert max(Counter(column.name for column in table.columns).values()) == 1
        assert max(Counter(one.name for one in table.constraints).values(), default=1) == 1
        for index in table.indexes:
            assert snapshot.index_owner(index.name) is table
            assert all(any(c.id == used for c in table.columns) for used in index.columns)
        assert all(any(c.id == used for c in table.columns) for used in table.key)


class Copy:
    """A table kept up to date by simple changes alone, naively."""

    def __init__(self, table: Table) -> None:
        self.name = table.name
        self.columns = {column.id: column for column in table.columns}
        self.indexes = {index.id: index for index in table.indexes}
        self.constraints = {one.id: one for one in table.constraints}

    def take(self, change: SimpleChange) -> None:
        match change:
            case ObjectRenamed(old_name=old, new_name=new):
                assert self.name == old
                self.name = new
            case ColumnAdded(column=column):
                self.columns[column.id] = column
            case ColumnDropped(column=column):
                assert self.columns.pop(column.id) == column
            case ColumnRenamed(column_id=number, old_name=old, new_name=new):
                before = self.columns[number]
                assert before.name == old
                self.columns[number] = type(before)(
                    number,
                    new,
                    before.type,
                    before.nullable,
                    before.default,
                    before.initial_default,
                )
            case ColumnAltered(before=before, after=after):
                assert self.columns[before.id] == before
                self.columns[after.id] = after
            case IndexCreated(index=index):
                self.indexes[index.id] = index
            case IndexDropped(index=index):
                del self.indexes[index.id]
            case ConstraintAdded(constraint=constraint):
                self.constraints[constraint.id] = constraint
            case ConstraintDropped(constraint=constraint):
                del self.constraints[constraint.id]

    def is_like(self, table: Table) -> bool:
        return (self.name, *map(tuple, (self.columns.values(), self.indexes.values()))) == (
            table.name,
            table.columns,
            table.indexes,
        ) and tuple(self.constraints.values()) == table.constraints


@given(migrations())
def test_the_simple_changes_of_a_step_lead_to_its_definition(migration: list[Built]) -> None:
    copies: dict[int, Copy] = {}
    for change in changes(migration):
        if change.kind != "table":
            continue
        for simple in change.changes:
            if isinstance(simple, ObjectCreated) and isinstance(change.definition, Table):
                copies[change.object_id] = Copy(change.definition)
            elif isinstance(simple, ObjectDropped):
                assert change.definition is None
            else:
                copies[change.object_id].take(simple)
        if isinstance(change.definition, Table):
            assert copies[change.object_id].is_like(change.definition)


@given(migrations(), ACTIVATIONS)
def test_at_is_the_floor_by_activation_and_then_version(
    migration: list[Built], activations: list[int]
) -> None:
    catalog = filled(migration, activations)
    starts = [(at, version) for version, at in enumerate(activations[: len(migration)], start=1)]
    asked = [ts + nudge for ts in range(41) for nudge in (-1, 0)]
    for ts in [*asked, *reversed(asked)]:
        naive = max((start for start in starts if start[0] <= ts), default=(0, 0))[1]
        assert catalog.at(Timestamp(ts)).version == naive


@given(migrations(), ACTIVATIONS)
def test_steps_lead_from_any_version_to_the_one_in_force(
    migration: list[Built], activations: list[int]
) -> None:
    catalog = filled(migration, activations)
    everything = changes(migration)
    for ts in range(0, 41, 5):
        snapshot = catalog.at(Timestamp(ts))
        applied = [change for built in migration[: snapshot.version] for change in built.objects]
        for object_id in {change.object_id: None for change in everything}:
            own = [change for change in applied if change.object_id == object_id]
            for after in range(len(own) + 1):
                assert list(catalog.steps(object_id, after, Timestamp(ts))) == own[after:]
            latest = own[-1].definition if own else None
            assert snapshot.by_id(object_id) == latest
    for change in everything:
        assert catalog.definition(change.object_id, change.version) == change.definition
