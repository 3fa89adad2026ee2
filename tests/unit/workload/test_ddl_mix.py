"""DDL of every kind can be read, takes effect mostly, and reaches every statement and action."""

from ddlsim.model.ddl import Action, AlterTable, Statement
from ddlsim.model.programs import DdlItem
from ddlsim.sql import parse
from ddlsim.workload.ddl_mix import KINDS
from tests.support.workloads import programs, world
from tests.unit.workload.test_ddl_storm import outcomes

NONE = dict.fromkeys(KINDS, 0)


def statements(seed: int = 1, operations: int = 200, **weights: int) -> list[str]:
    made = programs("ddl_mix", seed, operations=operations, **weights)
    return [item.sql for program in made for item in program.items if isinstance(item, DdlItem)]


def test_every_statement_and_action_of_the_catalog_comes_up() -> None:
    found = [parsed.statement for sql in statements() for parsed in parse(sql)]
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
