"""INSERT, UPDATE and DELETE of one row: what is read, and where a slip is."""

import pytest

from ddlsim.model.ops import Scan
from ddlsim.sql import RowWrite, SqlError, parse, parse_operations

READ = [
    ("INSERT INTO t (id, v) VALUES (1, 5)", RowWrite("insert", "t", {"id": 1, "v": 5}, {})),
    (
        'insert into PUBLIC.T ("Id", v) values (-1, NULL)',
        RowWrite("insert", "t", {"Id": -1, "v": None}, {}),
    ),
    (
        "UPDATE t SET v = 6, w = 'x' WHERE id = 1",
        RowWrite("update", "t", {"v": 6, "w": "x"}, {"id": 1}),
    ),
    (
        "UPDATE t SET v = NULL WHERE b = 'x' AND a = 1",
        RowWrite("update", "t", {"v": None}, {"b": "x", "a": 1}),
    ),
    ("DELETE FROM t WHERE id = 1;", RowWrite("delete", "t", {}, {"id": 1})),
]


@pytest.mark.parametrize(("text", "meant"), READ)
def test_parse_operations_reads_writes_of_rows(text: str, meant: RowWrite) -> None:
    [found] = parse_operations(text)
    assert found.statement == meant


def test_parse_operations_reads_queries_and_ddl_like_parse() -> None:
    [found] = parse_operations("SELECT * FROM t")
    assert found.statement == Scan("t", metadata=True)


@pytest.mark.parametrize("text", [text for text, _ in READ])
def test_parse_refuses_writes_of_rows(text: str) -> None:
    with pytest.raises(SqlError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        ("INSERT t (id) VALUES (1)", "unexpected 't'", "INTO"),
        ("INSERT INTO t VALUES (1)", "unexpected 'VALUES'", "the names of the columns"),
        ("INSERT INTO t (id, v) VALUES (1)", "2 columns, but 1 values", "a value for each"),
        ("INSERT INTO t (id) VALUES (1), (2)", "unexpected ','", "one row a step"),
        ("INSERT INTO t (id) VALUES (1 + 1)", "unexpected '+'", "',' or ')'"),
        ("UPDATE t SET v = 1", "the statement ends here", "WHERE"),
        ("UPDATE t SET v = 1, v = 2 WHERE id = 1", "v stands here twice", "another column"),
        ("UPDATE t SET v = w WHERE id = 1", "unexpected 'w'", ""),
        ("DELETE FROM t", "the statement ends here", "WHERE"),
        ("DELETE FROM t WHERE id > 1", "unexpected '>'", "'='"),
        ("DELETE FROM t WHERE id = 1 OR id = 2", "unexpected 'OR'", "AND"),
    ],
)
def test_parse_operations_names_what_was_expected(text: str, message: str, expected: str) -> None:
    with pytest.raises(SqlError) as told:
        parse_operations(text)
    assert told.value.message == message
    assert expected in (told.value.expected or "")
