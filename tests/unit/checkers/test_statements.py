"""DDL statements as reads of the catalog [98.x.8]."""

import pytest

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.statements import Meanings, Name, answered, named_by
from ddlsim.history.events import DdlDecided, Failed, Invoked, Ok, Unknown, UpdateLogged
from ddlsim.model import ddl
from ddlsim.model.ddl import ObjectChange, Statement
from ddlsim.model.schema import Column, Index, Table, Zone
from tests.support.history import INT, Story, add_column, ts
from tests.support.judging import anomalies
from tests.support.schemas import statement

ID = Column(0, "id", INT, nullable=False)


def table(name: str, version: int, *indexes: str) -> Table:
    found = tuple(Index(90 + at, index, (0,), False) for at, index in enumerate(indexes))
    return Table(7, name, version, (ID,), (0,), "default", indexes=found)


def logged(version: int, *objects: Table | Zone | None) -> tuple[int, UpdateLogged]:
    changes = tuple(
        ObjectChange(7 if each is None else each.id, "table", "?", version, each, ())
        for each in objects
    )
    return 0, UpdateLogged(0, "n1", None, version, version, ts(0), ts(0), 0, changes)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("CREATE TABLE t (id INT PRIMARY KEY)", [("table", "t")]),
        ("CREATE TABLE t (id INT PRIMARY KEY) ZONE z", [("table", "t"), ("zone", "z")]),
        ("DROP TABLE IF EXISTS t", [("table", "t")]),
        ("ALTER TABLE t ADD COLUMN w INT", [("table", "t")]),
        ("ALTER TABLE t RENAME TO u", [("table", "t"), ("table", "u")]),
        ("CREATE INDEX i ON t (id)", [("index", "i"), ("table", "t")]),
        ("DROP INDEX i", [("index", "i")]),
        ("CREATE VIEW v AS SELECT id FROM t", [("table", "v"), ("table", "t")]),
        ("DROP VIEW v", [("table", "v")]),
        ("CREATE ZONE z WITH PARTITIONS=3", [("zone", "z")]),
        ("DROP ZONE IF EXISTS z", [("zone", "z")]),
    ],
)
def test_what_a_statement_names(sql: str, names: list[tuple[str, str]]) -> None:
    assert list(named_by(statement(sql))) == names


def test_a_name_means_one_thing_after_another() -> None:
    meanings = Meanings(
        [
            logged(1, table("t", 1)),
            logged(2, table("t", 2, "i")),
            logged(3, Zone(8, "t", 1, 1, 1)),
            logged(4, table("u", 3, "i")),
            logged(5, None),
        ]
    )
    assert meanings.all(Name("table", "t")) == [(1, 7, 1), (2, 7, 2), (4, 0, 0)]
    assert meanings.all(Name("table", "u")) == [(4, 7, 3), (5, 0, 0)]
    assert meanings.all(Name("index", "i")) == [(2, 90, 1), (5, 0, 0)]
    assert meanings.all(Name("zone", "t")) == [(3, 8, 1)]
    assert meanings.all(Name("table", "other")) == []
    assert meanings.at(Name("table", "t"), 3) == (2, 7, 2)
    assert meanings.at(Name("table", "u"), 3) == (0, 0, 0)


def asked(story: Story, op: str, rests_on: int, what: Statement, at: float, end: type = Ok) -> None:
    """A statement that changed nothing."""
    story.add(at, Invoked, "c2", op, None, "n2", "ddl", sql=op)
    story.add(at, DdlDecided, "n2", op, "noop", rests_on, ts(0), ts(0), what, ts(int(at)))
    if end is not None:
        reason = () if end is Ok else ("?",)
        story.add(at + 1, end, "c2", op, *reason)


@pytest.mark.parametrize(("end", "count"), [(Ok, 1), (Failed, 1), (Unknown, 0), (None, 0)])
def test_an_unanswered_statement_is_no_read_of_the_catalog(end: type, count: int) -> None:
    story = Story()
    story.table()
    asked(story, "E", 1, ddl.DropTable("u", if_exists=True), 10, end)
    assert len(list(answered(Case(story.history())))) == count


@pytest.mark.parametrize(
    ("at", "rests_on", "kind"),
    [
        (520, 1, ["schema-G-single-realtime"]),
        (520, 2, []),
        (505, 1, []),
    ],
)
def test_a_statement_that_changes_nothing_is_a_read(
    at: float, rests_on: int, kind: list[str]
) -> None:
    """It missed what had been acknowledged before: D2 < E in real time, and E < D2 as it read."""
    story = Story()
    story.table()
    story.created("D", "u", tu=500, submit=1, ack=510)
    asked(story, "E", rests_on, ddl.DropTable("u", if_exists=True), at)
    assert [one.kind for one in anomalies("serializability", story)] == kind


def test_a_statement_that_was_built_on_less_has_overwritten_what_it_had_not_read() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=500, submit=1, ack=700)
    asked_for = ddl.AlterTable("t", ())
    story.ddl("E", t, add_column(3, "x"), tu=600, submit=2, ack=701, built_on=1, asked=asked_for)
    assert [one.kind for one in anomalies("serializability", story)] == ["schema-G-single"]
