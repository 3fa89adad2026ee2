"""DDL of every kind can be read, takes effect mostly, and reaches every statement and action."""

from itertools import pairwise

import pytest

from ddlsim.model.ddl import Action, AlterTable, Statement
from ddlsim.model.ops import Ddl, Get, Put, Scan
from ddlsim.model.programs import DdlItem, TransactionItem
from ddlsim.sql import parse
from ddlsim.workload.ddl_mix import KINDS
from ddlsim.workload.statements import DEFAULT_ZONE, NOOPS, REFUSED
from tests.support.workloads import TABLES, programs, world
from tests.unit.workload.test_ddl_storm import outcomes

NONE = dict.fromkeys(KINDS, 0)


def statements(seed: int = 1, operations: int = 200, **weights: int) -> list[str]:
    made = programs("ddl_mix", seed, operations=operations, **weights)
    return [item.sql for program in made for item in program.items if isinstance(item, DdlItem)]


def test_every_statement_and_action_of_the_catalog_comes_up() -> None:
    found = [
        parsed.statement for sql in statements(seed=1, operations=400) for parsed in parse(sql)
    ]
    assert {type(one) for one in found} == set(Statement.__args__)
    altered = [one for one in found if isinstance(one, AlterTable)]
    assert {type(action) for one in altered for action in one.actions} == set(Action.__args__)
    assert any(len(one.actions) > 1 for one in altered)


def test_most_statements_of_a_run_take_effect() -> None:
    """As the catalog judges them, which the generator does not consult."""
    granted = [
        one.__name__
        for seed in range(20)
        for one in outcomes(statements(seed, 12, noop=0, refused=0, computed=0, mandatory=0))
    ]
    assert granted.count("Built") > 0.85 * len(granted)


def test_noop_changes_nothing_and_refused_is_refused() -> None:
    noops = {one.__name__ for one in outcomes(statements(operations=30, **NONE | {"noop": 1}))}
    assert noops == {"NoOp"}
    refused = outcomes(statements(operations=30, **NONE | {"refused": 1}))
    assert {one.__name__ for one in refused} == {"Refused"}


@pytest.mark.parametrize("text", [*NOOPS, *REFUSED])
def test_each_such_statement_does_nothing_or_is_refused(text: str) -> None:
    (outcome,) = outcomes([text.format(t="t", k="id", o="t", z=DEFAULT_ZONE, y=DEFAULT_ZONE)])
    assert outcome.__name__ == ("NoOp" if text in NOOPS else "Refused")


def test_inside_issues_statements_while_a_transaction_of_the_same_client_is_open() -> None:
    (program,) = programs("ddl_mix", operations=400, inside=0.4, inside_gap_ms=(1, 3))
    around = [item for item in program.items if isinstance(item, TransactionItem)]
    assert 0.3 < len(around) / len(program.items) < 0.5
    counts = [sum(isinstance(do, Ddl) for do in item.operations) for item in around]
    assert set(counts) == {1, 2, 3}
    assert sum(counts) + len(program.items) - len(around) == 400
    for item in around:
        assert not isinstance(item.operations[0], Ddl)
        assert 1_000 <= item.gap_us <= 3_000
        assert item.retries == 0


def test_inside_mostly_goes_on_with_another_table() -> None:
    (program,) = programs("ddl_mix", operations=400, inside=1.0)
    pairs = []
    for item in program.items:
        assert isinstance(item, TransactionItem)
        tables = [do.table for do in item.operations if isinstance(do, Get | Put | Scan)]
        pairs += list(pairwise(tables))
    others = sum(one != next_one for one, next_one in pairs)
    assert 0.6 < others / len(pairs) < 1


def test_inside_often_goes_on_with_the_table_of_the_last_statement() -> None:
    """Of an ALTER TABLE or a CREATE TABLE; one in three would be chance."""
    weights = NONE | {"add": 1, "create": 1}
    (program,) = programs("ddl_mix", operations=400, inside=1.0, **weights)
    used = changed = 0
    for item in program.items:
        assert isinstance(item, TransactionItem)
        for before, after in pairwise(item.operations):
            if isinstance(before, Ddl) and isinstance(after, Get | Put | Scan):
                used += 1
                changed += after.table in before.sql.split()
    assert used > 100
    assert 0.4 < changed / used < 0.8


def test_views_of_the_start_come_back_under_their_names() -> None:
    there = world(f"{TABLES}CREATE VIEW tv AS SELECT * FROM t")
    kinds = NONE | {"view": 1, "drop_view": 1, "rename_view": 1}
    (made,) = programs("ddl_mix", there=there, operations=80, **kinds)
    texts = [item.sql for item in made.items if isinstance(item, DdlItem)]
    assert any(sql.startswith("DROP VIEW tv") for sql in texts)
    assert "CREATE VIEW tv AS SELECT * FROM t" in texts
    assert any(sql.endswith("RENAME TO tv") for sql in texts)


def test_sessions_are_a_share_of_the_clients() -> None:
    made = programs("ddl_mix", clients=200, operations=1, session=0.25)
    assert 30 < sum(program.session for program in made) < 70
    assert not any(program.session for program in programs("ddl_mix", clients=5, operations=1))


def test_a_renamed_zone_gets_another_name() -> None:
    texts = [sql.split() for sql in statements(**NONE | {"zone": 1, "rename_zone": 3})]
    renamed = [words for words in texts if words[0] == "ALTER"]
    assert renamed
    assert all(words[2] != words[-1] for words in renamed)


def test_what_was_made_is_dropped_and_renamed_again() -> None:
    """Of a few statements already some are about what the earlier ones have made."""
    again = [
        sql
        for seed in range(40)
        for sql in statements(seed, 10)
        if sql.startswith(("DROP INDEX i", "DROP VIEW w", "DROP ZONE y", "ALTER ZONE y"))
    ]
    assert len(again) > 20


def test_a_dropped_table_of_the_clients_comes_back() -> None:
    texts = statements(operations=30, **NONE | {"create": 1, "drop_table": 1})
    dropped = [sql.split()[2] for sql in texts if sql.startswith("DROP TABLE")]
    names = {"t", "u"} & set(dropped)
    assert names
    for name in names:
        later = texts[texts.index(f"DROP TABLE {name}") :]
        assert any(sql.startswith(f"CREATE TABLE {name} (") for sql in later)


def test_two_clients_make_names_of_their_own() -> None:
    only = NONE | {"create": 1, "index": 1, "zone": 1, "view": 1}
    one, other = programs("ddl_mix", clients=2, operations=30, **only)
    made = [
        {words[-1] for item in program.items if (words := _created(item))}
        for program in (one, other)
    ]
    assert min(map(len, made)) > 10
    assert not made[0] & made[1]


def _created(item: object) -> list[str]:
    """The words up to the name that a CREATE statement gives."""
    assert isinstance(item, DdlItem)
    return item.sql.split()[:3]


def test_names_that_need_quotes_get_them() -> None:
    there = world(sql='CREATE TABLE "My Table" ("Id" INT PRIMARY KEY)')
    for program in programs("ddl_mix", there=there, operations=60):
        for item in program.items:
            assert isinstance(item, DdlItem)
            assert len(parse(item.sql)) == 1


def test_statements_inside_are_mostly_about_a_table_that_the_transaction_has_used() -> None:
    """Of two tables; half would be chance."""
    (program,) = programs("ddl_mix", operations=400, inside=1.0, **NONE | {"add": 1})
    about = both = 0
    for item in program.items:
        assert isinstance(item, TransactionItem)
        used: list[str] = []
        for do in item.operations:
            if isinstance(do, Ddl):
                about += len(set(used)) == 1 and do.sql.split()[2] in used
                both += len(set(used)) == 1
            elif isinstance(do, Get | Put | Scan):
                used.append(do.table)
    assert both > 50
    assert 0.7 < about / both < 1


def test_again_drops_a_column_and_adds_one_of_its_name() -> None:
    texts = statements(operations=40, **NONE | {"again": 1})
    for sql in texts:
        words = sql.replace(",", "").split()
        assert (words[3:5], words[6:8]) == (["DROP", "COLUMN"], ["ADD", "COLUMN"])
        assert words[5] == words[8]
    assert {one.__name__ for one in outcomes(texts)} == {"Built"}


def test_a_change_of_all_at_once_is_mostly_of_a_column_that_is_not_null() -> None:
    """Of each of two kinds of columns some."""
    (there,) = [world("CREATE TABLE t (id INT PRIMARY KEY, a SMALLINT NOT NULL, b SMALLINT)")]
    firsts = [
        next(item.sql for item in program.items if isinstance(item, DdlItem)).split()[5]
        for seed in range(60)
        for program in programs("ddl_mix", seed, there=there, operations=1, **NONE | {"mixed": 1})
    ]
    assert 35 < firsts.count("a") < 60


def test_reads_follow_statements_and_read_the_table_that_changed_last() -> None:
    weights = NONE | {"add": 1, "create": 1}
    (program,) = programs("ddl_mix", operations=100, reads=0.5, **weights)
    pairs = [
        (before, item)
        for before, item in pairwise(program.items)
        if isinstance(item, TransactionItem)
    ]
    assert 30 < len(pairs) < 70
    for before, item in pairs:
        assert isinstance(before, DdlItem)
        (do,) = item.operations
        assert isinstance(do, Scan)
        assert do.table == before.sql.split()[2]
        assert item.read_only
