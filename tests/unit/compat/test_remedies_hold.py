"""Remedies of drawn statements on drawn schemas, carried out step by step.

The statements of a remedy are given to the linter on the same schema. None is refused and each
changes something. Directly before each incompatible one a drain stands. Where clients leave a
column out, INSERT may. In the end the table is what the statement itself makes of it.
"""

import re
from collections import Counter
from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from ddlsim import sql as front_end
from ddlsim.history.event import Cells
from ddlsim.lint.compat import BASELINES
from ddlsim.model.schema import Column, Constraint, Table, Value
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.column_types import meant
from ddlsim.protocol.schema.constraints import as_enforced, unique_columns, violated_check
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.protocol.schema.ddl_answers import Refused
from ddlsim.units import Timestamp
from tests.support.linting import lint
from tests.support.schemas import snapshot_of, statement

TYPES = {
    "SMALLINT": "5",
    "INT": "300",
    "BIGINT": "70000",
    "DECIMAL(9, 2)": "2.5",
    "VARCHAR(3)": "'7'",
    "VARCHAR(30)": "'it''s'",
    "DATE": "'2024-02-29'",
}
"""Each type with a constant of it."""
NUMBERS = ("SMALLINT", "INT", "BIGINT", "DECIMAL(9, 2)")
NAMES = ("a", "b", "c")
LEFT_OUT = re.compile(r"deploy clients that (?:no longer use column (\S+) of|use (\S+) only)")
BOTH = re.compile(r"deploy clients that write both (\w+) and (\w+)")


class Drawn(NamedTuple):
    """A schema of one table, and a statement about it."""

    schema: str
    sql: str


@st.composite
def columns(draw: st.DrawFn) -> dict[str, tuple[str, str]]:
    """Type and constraints of each column; some are called like the new column of another."""
    names = [*NAMES, *draw(st.sampled_from(((), ("b_new",), ("a_new", "b_new", "b_new_2"))))]
    found = {}
    for name in names:
        kind = draw(st.sampled_from(tuple(TYPES)))
        null = draw(st.sampled_from(("", " NOT NULL")))
        default = draw(st.sampled_from(("", "", f" DEFAULT {TYPES[kind]}")))
        found[name] = (kind, null + default)
    return found


@st.composite
def parts(draw: st.DrawFn, found: dict[str, tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Constraints and indexes on these columns."""
    numbers = [name for name, (kind, _) in found.items() if kind in NUMBERS]
    checks = [f"CHECK ({name} IS NOT NULL)" for name in NAMES]
    checks += [f"CHECK ({name} > 6)" for name in numbers]
    checks += [f"CHECK ({name} = 5 OR c IS NULL)" for name in numbers]
    unique = ["UNIQUE (b)", "UNIQUE (a, b)", "UNIQUE (id, b)"]
    chosen = draw(st.lists(st.sampled_from(checks + unique), max_size=2))
    constraints = [f"CONSTRAINT k{at} {one}" for at, one in enumerate(chosen)]
    covered = draw(st.lists(st.sampled_from(("b", "a", "b, c", "id, b")), max_size=2))
    indexes = [
        f"CREATE {draw(st.sampled_from(('', 'UNIQUE ')))}INDEX {name} ON t ({one})"
        for name, one in zip(("i", "i_new"), covered, strict=False)
    ]
    return constraints, indexes


@st.composite
def alterations(draw: st.DrawFn) -> str:
    """What may stand behind ALTER COLUMN and a name: type, nullability and default, or some."""
    kind = draw(st.sampled_from((None, *TYPES)))
    null = draw(st.sampled_from((None, "SET NOT NULL", "DROP NOT NULL")))
    constant = TYPES[kind] if kind else "5"
    default = draw(st.sampled_from((None, f"SET DEFAULT {constant}", "DROP DEFAULT")))
    said = [f"SET DATA TYPE {kind}" if kind else None, null, default]
    return " ".join(one for one in said if one) or "SET NOT NULL"


@st.composite
def actions(draw: st.DrawFn, names: list[str]) -> str:
    """One action of ALTER TABLE."""
    name = draw(st.sampled_from(("b", "b", *names)))
    kind = draw(st.sampled_from(tuple(TYPES)))
    new = draw(st.sampled_from(("n", "b", "a_new")))
    alter = f"ALTER COLUMN {name} {draw(alterations())}"
    return draw(
        st.sampled_from(
            (
                *(alter, alter, alter),
                f"DROP COLUMN {name}",
                f"RENAME COLUMN {name} TO {new}",
                f"ADD COLUMN {new} {kind} NOT NULL",
                f"ADD COLUMN {new} {kind}",
                f"ADD CONSTRAINT k0_new CHECK ({name} IS NOT NULL)",
                f"ADD CONSTRAINT u UNIQUE ({name}, id)",
                "DROP CONSTRAINT k0",
            )
        )
    )


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """A schema, and a statement of one or several changes."""
    found = draw(columns())
    constraints, indexes = draw(parts(found))
    elements = [f"{name} {kind}{rest}" for name, (kind, rest) in found.items()]
    inner = ", ".join(["id INT PRIMARY KEY", *elements, *constraints])
    schema = ";\n".join([f"CREATE TABLE t ({inner})", *indexes])
    several = ", ".join(draw(st.lists(actions([*found]), min_size=1, max_size=3)))
    unique = f"CREATE UNIQUE INDEX j ON t ({draw(st.sampled_from(NAMES))})"
    return Drawn(schema, draw(st.sampled_from((*[f"ALTER TABLE t {several}"] * 9, unique))))


def after(snapshot: Snapshot, sql: str) -> Snapshot | None:
    """The catalog after a statement, whichever column it adds NOT NULL; None: it is not taken."""
    built = build(statement(sql), snapshot, snapshot.next_object_id, mandatory=True)
    if not isinstance(built, Built):
        return None
    now = Timestamp(0)
    return snapshot.after(snapshot.version + 1, now, now, built.objects)


def after_in_mind(schema: str, sql: str) -> Snapshot | None:
    """The same upon a schema; where that refuses, upon one without the indexes in its way."""
    snapshot = snapshot_of(schema)
    found = after(snapshot, sql)
    dropped = set(re.findall(r"DROP COLUMN (\w+)", sql))
    if found is not None or not dropped:
        return found
    for name, covered in re.findall(r"INDEX (\w+) ON t \(([^)]*)\)", schema):
        if dropped & set(covered.split(", ")):
            bare = after(snapshot, f"DROP INDEX {name}")
            assert bare is not None
            snapshot = bare
    return after(snapshot, sql)


def table_in(snapshot: Snapshot) -> Table:
    table = snapshot.by_name("t")
    assert isinstance(table, Table)
    return table


def shape(table: Table) -> dict[str, Any]:
    """Columns, indexes and constraints by the names of columns; they may have other names."""
    names = {one.id: one.name for one in table.columns}

    def named(ids: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(names[one] for one in ids)

    def is_alike(constraint: Constraint) -> bool:
        """A constraint may compare a column of a type that it could not be added for."""
        return not isinstance(as_enforced(constraint, table), Refused)

    return {
        "columns": {
            one.name: (str(one.type), one.nullable, meant(one.default, one.type))
            for one in table.columns
        },
        "indexes": Counter((one.unique, named(one.columns)) for one in table.indexes),
        "constraints": Counter(
            (one.kind, named(one.columns), str(one.condition))
            for one in table.constraints
            if is_alike(one)
        ),
    }


def may_be_left_out(table: Table, name: str) -> bool:
    """Whether an INSERT without a value of a column can succeed, and a second one as well."""
    column = next(one for one in table.columns if one.name == name)
    if not column.nullable and column.default is None:
        return False
    repeats = any(column.id in one.columns for one in unique_columns(table))
    if column.default is not None and repeats:
        return False
    return not any(is_forbidden(table, one, column) for one in table.constraints)


def is_forbidden(table: Table, constraint: Constraint, column: Column) -> bool:
    """Whether some row breaks a CHECK as long as it leaves the column out."""
    alone = structs.replace(table, constraints=(constraint,))
    others = [one for one in constraint.columns if one != column.id]
    for values in product((None, 5, 7), repeat=len(others)):
        row = tuple(zip(others, values, strict=True))

        def breaks(value: Value, row: Cells = row) -> bool:
            return violated_check(alone, ((column.id, value), *row)) is not None

        if breaks(column.default) and not all(breaks(one) for one in (None, 5, 7)):
            return True
    return False


def is_ddl(step: dict[str, Any]) -> bool:
    return step["sql"] is not None and not step["sql"].startswith(("UPDATE", "SELECT"))


def left_out(step: dict[str, Any], moved: dict[str, str]) -> str | None:
    """The column that the clients of a step leave out; `moved` are old columns by new ones."""
    both, found = BOTH.match(step["do"]), LEFT_OUT.match(step["do"])
    if both is not None:
        moved[both[2].rstrip(",")] = both[1]
    if found is None:
        return None
    name: str = found[1] or moved[found[2]]
    return name


def carried_out(case: Drawn, remedy: list[dict[str, Any]], baseline: str) -> Table:
    """The table after the steps of a remedy, each of which holds what it has to."""
    ddl = [one["sql"] for one in remedy if is_ddl(one)]
    judged = iter(lint(case.schema, ";\n".join(ddl), baseline)["statements"])
    snapshot = snapshot_of(case.schema)
    moved: dict[str, str] = {}
    for place, step in enumerate(remedy):
        name = left_out(step, moved)
        assert name is None or may_be_left_out(table_in(snapshot), name), step
        if is_ddl(step):
            entry = next(judged)
            assert (entry["error"], entry["no_op"]) == (None, None), step
            drained = place > 0 and "(drain)" in remedy[place - 1]["do"]
            assert entry["forward_compatible"] or drained, step
            taken = after(snapshot, step["sql"])
            assert taken is not None, step
            snapshot = taken
    assert next(judged, None) is None
    return table_in(snapshot)


def judge(case: Drawn, baseline: str) -> str:
    """The verdict on a statement, whose remedy holds; a remedy is there exactly if one is due."""
    [entry] = lint(case.schema, case.sql, baseline)["statements"]
    target = after_in_mind(case.schema, case.sql)
    verdict: bool | None = entry["forward_compatible"]
    assert bool(entry["remedy"]) is (not verdict and target is not None)
    assert len(front_end.parse_script(case.sql).statements) == 1
    if target is not None and entry["remedy"]:
        made = carried_out(case, entry["remedy"], baseline)
        assert shape(made) == shape(table_in(target))
    return {True: "compatible", False: "incompatible", None: "refused"}[verdict]


@pytest.mark.parametrize("baseline", BASELINES)
@settings(max_examples=max(300, settings().max_examples))
@given(case=drawn())
def test_a_remedy_holds_and_makes_the_table_that_the_statement_makes(
    baseline: str, case: Drawn
) -> None:
    judge(case, baseline)
