"""Random DDL can be read, is mostly sensible, and clients keep out of each other's way."""

import re

from ddlsim.model.ops import Get, Scan
from ddlsim.model.programs import DdlItem
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl import Built, Refused, build
from ddlsim.sql import parse
from ddlsim.units import timestamp
from ddlsim.workload.ddl_storm import KINDS
from tests.support.workloads import TABLES, programs, world


def statements(seed: int = 1, **fields: int) -> list[str]:
    made = programs("ddl_storm", seed, clients=1, operations=200, **fields)
    return [item.sql for program in made for item in program.items if isinstance(item, DdlItem)]


def test_every_statement_can_be_read() -> None:
    for seed in range(5):
        for sql in statements(seed):
            assert len(parse(sql)) == 1, sql


def test_each_kind_of_statement_comes_up() -> None:
    text = "\n".join(statements())
    for words in (
        "ADD COLUMN", "DROP COLUMN", "RENAME COLUMN", "SET DATA TYPE", "DROP NOT NULL",
        "SET DEFAULT", "DROP DEFAULT", "CREATE INDEX", "DROP INDEX", "CREATE TABLE", "DROP TABLE",
        "RENAME TO", "IF NOT EXISTS", "IF EXISTS",
    ):  # fmt: skip
        assert words in text, words


def outcomes(sqls: list[str]) -> list[type]:
    """What a catalog says to the statements, one after the other."""
    catalog = Catalog()
    found = []
    for number, parsed in enumerate(parse(TABLES) + [p for sql in sqls for p in parse(sql)], 1):
        snapshot = catalog.latest()
        assert not isinstance(parsed.statement, Get | Scan)
        built = build(parsed.statement, snapshot, snapshot.next_object_id)
        if isinstance(built, Built):
            catalog.apply(
                catalog.latest().version + 1, timestamp(number), timestamp(number), built.objects
            )
        found.append(type(built))
    return found[len(parse(TABLES)) :]


def test_most_statements_are_granted_and_those_meant_to_be_refused_are() -> None:
    granted = outcomes(statements(refused=0, noop=0))
    assert granted.count(Built) > 0.9 * len(granted)

    only = dict.fromkeys(KINDS, 0) | {"refused": 1}
    assert set(outcomes(statements(**only))) == {Refused}
    only = dict.fromkeys(KINDS, 0) | {"noop": 1}
    assert not {Built, Refused} & set(outcomes(statements(**only)))


def test_two_clients_make_names_of_their_own() -> None:
    made = programs("ddl_storm", clients=2, operations=100, noop=0, refused=0)
    texts = [" ".join(getattr(item, "sql", "") for item in program.items) for program in made]
    one, other = (set(re.findall(r"\bw_\w+", text)) for text in texts)

    assert len(one) > 30
    assert len(other) > 30
    assert not one & other


def test_names_that_need_quotes_get_them() -> None:
    there = world(sql='CREATE TABLE "My Table" ("Id" INT PRIMARY KEY)')
    for program in programs("ddl_storm", there=there, operations=60):
        for item in program.items:
            assert isinstance(item, DdlItem)
            assert len(parse(item.sql)) == 1
