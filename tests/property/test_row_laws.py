"""For all migrations: upgrades compose, and across a compatible step no information is lost."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.history.event import Cells
from ddlsim.model.schema import INTEGER_TYPES, Column, Table, Value
from ddlsim.protocol.schema.column_types import text_of
from ddlsim.protocol.schema.compatibility import is_forward_compatible
from ddlsim.protocol.schema.ddl import Built
from ddlsim.protocol.schema.rows import BadRow, decode, encode, upgrade
from tests.support.ddl_strategies import migrations

SEEDS = st.integers(0, 1_000)


def value_of(column: Column, seed: int) -> Value:
    """A value of the column's type."""
    number = (seed * 31 + column.id * 7) % 100
    name = column.type.name
    if name in INTEGER_TYPES:
        return number
    if name == "DOUBLE":
        return number / 2
    if name == "BOOLEAN":
        return number % 2 == 0
    if name == "TIMESTAMP":
        return f"2024-02-29 12:00:{number % 60:02}"
    assert name == "VARCHAR", f"no value for a column of {column.type}"
    return str(number)


def row_of(table: Table, seed: int) -> Cells:
    """A row of a table, as it is stored and read back."""
    row = encode(table, {column.name: value_of(column, seed) for column in table.columns})
    assert not isinstance(row, BadRow)
    return decode(table, row)


def versions(migration: list[Built]) -> dict[int, list[Table]]:
    """The versions of each table in order."""
    found: dict[int, list[Table]] = {}
    for built in migration:
        for change in built.objects:
            if isinstance(change.definition, Table):
                found.setdefault(change.object_id, []).append(change.definition)
    return found


@given(migrations(), SEEDS)
def test_upgrading_at_once_is_upgrading_version_by_version(
    migration: list[Built], seed: int
) -> None:
    for tables in versions(migration).values():
        for number, source in enumerate(tables):
            stepwise = row_of(source, seed)
            for before, after in pairwise(tables[number:]):
                stepwise = upgrade(stepwise, before, after)
                assert upgrade(row_of(source, seed), source, after) == stepwise


@given(migrations(), SEEDS)
def test_a_row_is_written_and_read_back(migration: list[Built], seed: int) -> None:
    for tables in versions(migration).values():
        for table in tables:
            cells = row_of(table, seed)
            assert [column_id for column_id, _ in cells] == [column.id for column in table.columns]
            assert [value for _, value in cells] == [value_of(one, seed) for one in table.columns]


@given(migrations(), SEEDS)
def test_across_a_compatible_step_no_information_is_lost(migration: list[Built], seed: int) -> None:
    tables: dict[int, Table] = {}
    for change in (change for built in migration for change in built.objects):
        source, target = tables.get(change.object_id), change.definition
        if isinstance(target, Table):
            tables[change.object_id] = target
        if source is None or not isinstance(target, Table) or not is_forward_compatible(change):
            continue
        old = dict(row_of(source, seed))
        new = dict(upgrade(row_of(source, seed), source, target))
        limits = {column.id: column.type.length for column in target.columns}
        for column_id, value in old.items():
            shown = new[column_id]
            assert shown == value or shown == text_of(value)
            assert limits[column_id] is None or len(str(shown)) <= (limits[column_id] or 0)


@given(migrations(), SEEDS)
def test_across_a_compatible_step_no_old_row_breaks_the_new_schema(
    migration: list[Built], seed: int
) -> None:
    tables: dict[int, Table] = {}
    for change in (change for built in migration for change in built.objects):
        source, target = tables.get(change.object_id), change.definition
        if isinstance(target, Table):
            tables[change.object_id] = target
        if source is None or not isinstance(target, Table) or not is_forward_compatible(change):
            continue
        cells = row_of(source, seed)
        emptied = tuple(
            (column.id, None if column.nullable else value)
            for column, (_, value) in zip(source.columns, cells, strict=True)
        )
        for row in (cells, emptied):
            shown = dict(upgrade(row, source, target))
            for column in target.columns:
                assert shown[column.id] is not None or column.nullable
