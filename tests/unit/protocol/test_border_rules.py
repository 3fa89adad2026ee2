"""How the designs that IEP-110 weighs enlist a table: as it is, or as it was at another base."""

from dataclasses import replace
from typing import Any

import pytest

from ddlsim.history.events import Enlisted
from ddlsim.model.reasons import Reason
from ddlsim.protocol.design.schema_rules import at_enlistment
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.metastorage.schema_sync import MetadataLateError
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction_record import Enlistment, Transaction
from ddlsim.strategies.b1_opt1 import B1_OPT1
from ddlsim.strategies.b5_begin import B5_BEGIN_OR_CREATE
from ddlsim.units import Timestamp, timestamp
from tests.support.protocol import ADD, LONG_AGO_MS, Stage, T, catalog_of, result_of, two_versions

U = "CREATE TABLE u (id INT PRIMARY KEY)"
ALTER_U = "ALTER TABLE u ADD COLUMN w INT"
VIEW = "CREATE VIEW q AS SELECT * FROM t"
DROP = "ALTER TABLE t DROP COLUMN v"
BOTH = pytest.mark.parametrize("strategy", [B1_OPT1, B5_BEGIN_OR_CREATE])


class Desk(Stage):
    """A coordinator at 70 ms, and a transaction that began at 10 ms."""

    def __init__(
        self, catalog: Catalog, strategy: Strategy, read_ts: Timestamp | None = None
    ) -> None:
        super().__init__(catalog, strategy=strategy)
        self.coordinator = self["n1"].coordinator
        self.tx = Transaction(TxId(timestamp(10), 0, "t1"), 10_000, read_ts)
        self.later(70)

    def enlist(self, name: str) -> Any:
        enlist = self.strategy.enlist(self.coordinator, self.tx, name, "op")
        return result_of(self.loop, enlist)


@BOTH
def test_a_read_only_transaction_enlists_as_of_its_read_ts(strategy: Strategy) -> None:
    """The change at 50 is later than what it reads, whenever it asks."""
    desk = Desk(two_versions(), strategy, timestamp(40))
    first = desk.enlist("t")
    assert (first.version, first.enlist_ts) == (1, timestamp(40))
    desk.later(30)
    assert desk.enlist("t") is first


@BOTH
def test_metadata_that_is_late_is_the_reason(strategy: Strategy) -> None:
    """Where a policy waits for a limited time, an enlistment that it ends is an answer."""

    async def never(*_: Any) -> Any:
        raise MetadataLateError

    desk = Desk(catalog_of((T, LONG_AGO_MS)), replace(strategy, resolve_schema=never))
    assert desk.enlist("t") is Reason.METADATA_LATE


# --- option 1 -------------------------------------------------------------------------------------


def test_option_1_takes_what_a_view_reads_as_it_is_now() -> None:
    """The view itself has not changed; unchanged, nothing is enlisted again."""
    desk = Desk(catalog_of((T, LONG_AGO_MS), (VIEW, LONG_AGO_MS)), B1_OPT1)
    first = desk.enlist("q")
    assert (first.version, first.table.version) == (1, 1)
    assert desk.enlist("q") is first
    desk.alter(ADD, timestamp(80))
    desk.later(30)
    second = desk.enlist("q")
    assert (second.version, second.table.version, second.views) == (1, 2, first.views)
    assert desk.tx.by_id[second.table.id].version == 2
    told = [(one.object_id, one.version) for one in desk.of(Enlisted)]
    assert told == [(2, 1), (1, 1), (1, 2)]


def test_option_1_judges_what_a_view_reads() -> None:
    """A column that is gone, and a table that is."""
    desk = Desk(catalog_of((T, LONG_AGO_MS), (VIEW, LONG_AGO_MS)), B1_OPT1)
    desk.enlist("q")
    desk.alter(DROP, timestamp(80))
    desk.later(30)
    assert desk.enlist("q") is Reason.SCHEMA_INCOMPATIBLE


def test_option_1_keeps_what_another_name_has_enlisted_meanwhile() -> None:
    """The table in its new version, once; the view only follows."""
    desk = Desk(catalog_of((T, LONG_AGO_MS), (VIEW, LONG_AGO_MS)), B1_OPT1)
    desk.enlist("q")
    desk.enlist("t")
    desk.alter(ADD, timestamp(80))
    desk.later(30)
    assert desk.enlist("t").version == desk.enlist("q").table.version == 2
    told = [(one.object_id, one.version) for one in desk.of(Enlisted)]
    assert told == [(2, 1), (1, 1), (1, 2)]


# --- the creation as base -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "name", "base_ms", "version"),
    [
        ([(U, LONG_AGO_MS)], "u", 10, 1),  # there at the begin
        ([(U, LONG_AGO_MS), (ALTER_U, 5)], "u", 10, 2),  # altered before it
        ([(U, LONG_AGO_MS), (ALTER_U, 30)], "u", 10, 1),  # altered since
        ([(U, 30)], "u", 30, 1),  # created since
        ([(U, 30), (ALTER_U, 50)], "u", 30, 1),  # and altered
        ([(U, 30), ("ALTER TABLE u RENAME TO x", 50)], "x", 30, 1),  # or renamed
        ([(U, LONG_AGO_MS), ("DROP TABLE u", 30), (U, 50)], "u", 50, 1),  # another of its name
    ],
)
def test_the_base_is_the_begin_or_the_creation(
    changes: list[tuple[str, int]], name: str, base_ms: int, version: int
) -> None:
    """Of what the name means at its first use, whatever it meant at the base [110.simple]."""
    desk = Desk(catalog_of((T, LONG_AGO_MS), *changes), B5_BEGIN_OR_CREATE)
    found = desk.enlist(name)
    assert type(found) is Enlistment
    assert (found.enlist_ts, found.version) == (timestamp(base_ms), version)
    assert found.object_id == desk.catalog.latest().tables()[-1].id
    assert desk.enlist(name) is found


def test_a_name_that_means_nothing_any_more_is_not_found() -> None:
    """Whatever it meant at the begin."""
    desk = Desk(catalog_of((T, LONG_AGO_MS), ("DROP TABLE t", 30)), B5_BEGIN_OR_CREATE)
    assert desk.enlist("t") is Reason.TABLE_NOT_FOUND


def test_another_base_may_be_chosen_for_the_same_flow() -> None:
    """The flow asks the rule `base_ts`: at the enlistment, the alteration does no harm."""
    design = replace(B5_BEGIN_OR_CREATE, base_ts=at_enlistment)
    desk = Desk(catalog_of((T, LONG_AGO_MS), (U, 30), (ALTER_U, 50)), design)
    assert desk.enlist("u").version == 2
