"""Second ways: SQLite evaluates CHECKs, brute force looks for equal rows at every instant."""

import sqlite3
from contextlib import closing
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.checkers.case.constraints import broken_checks
from ddlsim.model import ddl
from ddlsim.model.schema import Index
from ddlsim.protocol.schema.constraints import violated_check
from tests.support.history import Story
from tests.support.judging import anomalies
from tests.support.schemas import table_of

COLUMNS = ("v", "w")
VALUES = st.one_of(st.none(), st.integers(-2, 2))
COMPARISONS = st.builds(
    "{} {} {}".format,
    st.sampled_from(COLUMNS),
    st.sampled_from(("=", "<>", "<", "<=", ">", ">=")),
    st.sampled_from(("-1", "0", "1", "0.5")),
)
NULLS = st.builds("{} IS {}NULL".format, st.sampled_from(COLUMNS), st.sampled_from(("", "NOT ")))
CONDITIONS = st.recursive(
    st.one_of(COMPARISONS, NULLS),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(("AND", "OR")), inner),
    max_leaves=5,
)


@given(CONDITIONS, VALUES, VALUES)
def test_protocol_and_judge_evaluate_checks_as_sqlite_does(condition: str, v: Any, w: Any) -> None:
    table = table_of(f"CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT, CHECK ({condition}))")
    with closing(sqlite3.connect(":memory:")) as database:
        (truth,) = database.execute(
            f"SELECT {condition} FROM (SELECT ? AS v, ? AS w)", (v, w)
        ).fetchone()
    row = ((1, 1), (2, v), (3, w))
    assert (violated_check(table, row) is not None) == (truth == 0)
    assert bool(broken_checks(table, row)) == (truth == 0)


UNIQUE = Index(9, "uv", (1,), unique=True)
STEPS = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from((None, 1, 2, "gone"))), min_size=1, max_size=8
)


@given(STEPS, st.integers(0, 9), st.integers(0, 9))
def test_the_judge_finds_equal_rows_where_brute_force_does(
    steps: list[tuple[int, Any]], created: int, lasts: int
) -> None:
    """Transaction n commits at 10 n; an index is in force from `created` until it is dropped."""
    story, since = Story(), 10 * created + 5
    until = since + 10 * lasts
    story.table()
    story.ddl("C", 1, ddl.IndexCreated(UNIQUE), tu=since)
    if lasts:
        story.ddl("D", 1, ddl.IndexDropped(UNIQUE), tu=until)
    commits: list[tuple[int, int, Any]] = []
    for number, (key, value) in enumerate(steps, start=1):
        row = None if value == "gone" else ((0, key), (1, value))
        story.write(f"T{number}", 1, key, 10 * number - 3, row=row)
        story.commit(f"T{number}", 10 * number)
        commits.append((10 * number, key, value))
    end = until if lasts else 1_000
    expected = any(_are_equal(commits, at, since) for at in range(since, min(end, 200)))
    found = list(anomalies("data_matches_schema", story))
    assert any(one.kind == "unique-violated" for one in found) == expected


def _are_equal(commits: list[tuple[int, int, Any]], at: int, since: int) -> bool:
    """Whether two rows are there at `at` with one value, one of them committed from `since` on."""
    present: dict[int, tuple[int, Any]] = {}
    for committed, key, value in commits:
        if committed <= at:
            present[key] = (committed, value)
    live = [one for one in present.values() if one[1] not in (None, "gone")]
    return any(
        one[1] == other[1] and max(one[0], other[0]) >= since
        for one, other in combinations(live, 2)
    )
