"""Rows are encoded by position, decoded by whatever schema one holds, upgraded by column id."""

from ddlsim.model.schema import Table, Value
from ddlsim.protocol.schema.rows import BadRow, by_name, decode, encode, upgrade
from tests.support.schemas import table_of

V1 = """CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL DEFAULT 7, b VARCHAR(10), c INT);"""


def encoded(table: Table, **values: Value) -> tuple[Value, ...]:
    row = encode(table, values)
    assert not isinstance(row, BadRow), row
    return row


def read_under(asked: str, *row: Value) -> dict[str, Value]:
    """A row of V1 as it shows after a migration."""
    source, target = table_of(V1), table_of(V1 + asked)
    return by_name(upgrade(decode(source, row), source, target), target)


def test_a_row_is_its_values_in_the_order_of_the_columns() -> None:
    assert encoded(table_of(V1), c=3, id=1, b="x", a=2) == (1, 2, "x", 3)


def test_what_is_not_mentioned_takes_its_default() -> None:
    assert encoded(table_of(V1), id=1) == (1, 7, None, None)


def test_new_rows_take_todays_default_and_not_the_one_it_was_added_with() -> None:
    table = table_of(V1 + "ALTER TABLE t ALTER COLUMN c SET DEFAULT 9")
    assert encoded(table, id=1) == (1, 7, None, 9)


def test_a_default_shows_in_the_type_of_the_day() -> None:
    table = table_of(V1 + "ALTER TABLE t ALTER COLUMN a SET DATA TYPE VARCHAR(20)")
    assert encoded(table, id=1) == (1, "7", None, None)


def test_encode_returns_bad_row() -> None:
    table = table_of(V1)
    for values, complaint in (
        ({"a": 1}, "column 'id' of table 't' needs a value"),
        ({"id": 1, "a": None}, "column 'a' of table 't' needs a value"),
        ({"id": 1, "z": 2}, "table 't' has no column 'z'"),
    ):
        bad = encode(table, values)
        assert isinstance(bad, BadRow)
        assert bad.message == complaint


def test_a_row_decodes_by_position_under_any_schema() -> None:
    table = table_of(V1)
    assert decode(table, (1, 2, "x", 3)) == ((1, 1), (2, 2), (3, "x"), (4, 3))
    assert decode(table, (1, 2)) == ((1, 1), (2, 2), (3, None), (4, None))
    assert decode(table, (1, 2, "x", 3, 4, 5)) == ((1, 1), (2, 2), (3, "x"), (4, 3))


def test_decode_with_wrong_schema_is_silent() -> None:
    old, new = table_of(V1), table_of(V1 + "ALTER TABLE t DROP COLUMN a")
    assert by_name(decode(new, encoded(old, id=1, a=2, b="x")), new) == {"id": 1, "b": 2, "c": "x"}


def test_an_upgrade_to_the_same_schema_is_the_row_itself() -> None:
    source, same = table_of(V1), table_of(V1)
    cells = decode(source, (1, 2, "x", 3))
    assert upgrade(cells, source, source) is cells
    assert upgrade(cells, source, same) is cells


def test_a_column_that_the_row_lacks_shows_the_default_it_was_added_with() -> None:
    added = "ALTER TABLE t ADD COLUMN d INT NOT NULL DEFAULT 5;"
    assert read_under(added, 1, 2, "x", 3)["d"] == 5
    changed = added + "ALTER TABLE t ALTER COLUMN d SET DEFAULT 6;"
    assert read_under(changed, 1, 2, "x", 3)["d"] == 5


def test_a_renamed_column_keeps_its_value() -> None:
    shown = read_under("ALTER TABLE t RENAME COLUMN c TO d", 1, 2, "x", 3)
    assert shown == {"id": 1, "a": 2, "b": "x", "d": 3}


def test_a_column_added_again_does_not_see_the_old_values() -> None:
    again = "ALTER TABLE t DROP COLUMN c; ALTER TABLE t ADD COLUMN c INT"
    assert read_under(again, 1, 2, "x", 3)["c"] is None


def test_numbers_become_text_where_the_column_did() -> None:
    retyped = "ALTER TABLE t ALTER COLUMN c SET DATA TYPE VARCHAR(11)"
    assert read_under(retyped, 1, 2, "x", -3)["c"] == "-3"
    assert read_under(retyped, 1, 2, "x", None)["c"] is None


def test_an_added_default_becomes_text_too() -> None:
    late = "ALTER TABLE t ADD COLUMN d BOOLEAN DEFAULT TRUE; "
    late += "ALTER TABLE t ALTER COLUMN d SET DATA TYPE VARCHAR(5)"
    assert read_under(late, 1, 2, "x", 3)["d"] == "true"


def test_wider_types_keep_the_value() -> None:
    assert read_under("ALTER TABLE t ALTER COLUMN c SET DATA TYPE BIGINT", 1, 2, "x", 3)["c"] == 3
