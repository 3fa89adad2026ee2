"""I11: what the refusal of a statement must have behind it."""

from typing import Any

import pytest

from ddlsim.history.events import DdlDecided, Failed, Invoked, UpdateLogged
from ddlsim.model.ddl import (
    AddColumn,
    AlterColumn,
    AlterTable,
    ColumnSpec,
    CreateTable,
    CreateView,
    DropColumn,
    DropTable,
    DropView,
    RenameTable,
    Statement,
)
from tests.support.history import INT, Story, ts
from tests.support.judging import anomalies

W = ColumnSpec("w", INT)
V = ColumnSpec("v", INT)


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("precision", story)]


def refused(statement: Statement, reason: str, *, outcome: str = "refused") -> list[str]:
    """Judged on catalog version 1: a table t with the columns id and v; u comes later."""
    story = Story()
    story.table()
    story.add(1, Invoked, "c", "D", None, "n1", "ddl", sql="a statement")
    story.add(2, DdlDecided, "n1", "D", outcome, 1, ts(2), ts(2), statement)
    story.table("u", tu=3)
    story.add(5, Failed, "c", "D", reason)
    return kinds(story)


def alter(*actions: Any, name: str = "t") -> AlterTable:
    return AlterTable(name, actions)


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (DropTable("t"), 1),
        (DropTable("u"), 0),
        (RenameTable("t", "x"), 1),
        (DropView("t"), 0),
        (alter(AddColumn(W)), 1),
        (alter(AddColumn(W), name="u"), 0),
        (alter(DropColumn("v")), 1),
        (alter(DropColumn("w")), 0),
        (alter(AlterColumn("v", nullable=False)), 1),
        (alter(DropColumn("v"), DropColumn("w")), 0),
        (CreateTable("u", (V, W), ("v", "w")), 1),
        (CreateTable("u", (V,), ("v", "w")), 0),
    ],
)
def test_object_not_found_needs_a_missing_object(statement: Statement, found: int) -> None:
    assert refused(statement, "OBJECT_NOT_FOUND") == ["refused-needlessly"] * found
    assert refused(statement, "DDL_REFUSED") == []


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (CreateTable("t", (), ()), 0),
        (CreateTable("u", (), ()), 1),
        (CreateTable("u", (V, W), ("v",)), 1),
        (CreateTable("u", (V, V), ("v",)), 0),
        (CreateTable("u", (V,), ("v", "v")), 0),
        (CreateView("u", "SELECT * FROM t", ("t",)), 1),
        (alter(AddColumn(V)), 0),
        (alter(AddColumn(W)), 1),
        (alter(AddColumn(W), AddColumn(V)), 0),
    ],
)
def test_object_exists_needs_a_taken_name(statement: Statement, found: int) -> None:
    assert refused(statement, "OBJECT_EXISTS") == ["refused-needlessly"] * found


@pytest.mark.parametrize(("others", "found"), [(1, ["refused-needlessly"]), (2, [])])
def test_ddl_conflict_needs_concurrent_updates(others: int, found: list[str]) -> None:
    """Of three tries the first may have lost to what came before."""
    story = Story(settings={"": {}, "n1": {"ddl_attempts": 3}, "n2": {"ddl_attempts": 4}})
    story.table()
    story.add(1, UpdateLogged, "n1", "E", 2, 2, ts(1), ts(1), 0, ())
    story.add(2, Invoked, "c", "D", None, "n1", "ddl", sql="a statement")
    for number in range(others):
        story.add(3, UpdateLogged, "n1", f"E{number}", 3 + number, 3 + number, ts(3), ts(3), 0, ())
    story.add(5, Failed, "c", "D", "DDL_CONFLICT")
    assert kinds(story) == found
