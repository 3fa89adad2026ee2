"""The end of an old name: never before Tu1 + A, by whichever leader."""

from dataclasses import replace
from typing import Any

import pytest

from ddlsim.history.events import UpdateLogged
from ddlsim.model.schema import Alias
from ddlsim.protocol.design.time_rules import at_message
from ddlsim.protocol.messages import CatalogUpdate, Submit
from ddlsim.protocol.metastorage.alias_ends import AliasEnds
from ddlsim.protocol.schema.ddl import Built
from ddlsim.protocol.schema.renaming import alias
from ddlsim.strategies.b13_alias import B13_ALIAS
from ddlsim.strategies.iep import IEP
from ddlsim.units import Timestamp, physical_ms
from tests.support.log_group import INITIAL, Group
from tests.support.schemas import statement

WINDOW_MS = 300


def renamed(window_ms: int = WINDOW_MS, text: str = "ALTER TABLE t RENAME TO s") -> CatalogUpdate:
    built = alias(statement(text), INITIAL.latest(), window_ms)
    assert isinstance(built, Built)
    return CatalogUpdate("d/0", 1, 100, built.objects)


def watched(voters: str = "abc", **changes: Any) -> Group:
    """A group whose nodes watch over aliases; the first one leads, DD is 100 ms."""
    group = Group(voters, strategy=changes.pop("strategy", B13_ALIAS), **changes)
    for part in group.parts.values():
        ends = AliasEnds(part.node, group.strategy, part.catalog, part.meta)
        part.meta.on_activation(ends.watch)
    return group


def names(group: Group) -> dict[str, bool]:
    """On which nodes the old name still means something, sooner or later."""
    return {
        name: part.catalog.latest().by_name("t") is not None for name, part in group.parts.items()
    }


def ends(group: Group) -> list[int]:
    """When the old name's ends are active: one, if all nodes agree."""
    active = {
        physical_ms(Timestamp(update.activation_ts))
        for update in group.of(UpdateLogged)
        if any(change.kind == "alias" and change.definition is None for change in update.objects)
    }
    return sorted(active)


def test_the_name_ends_when_its_window_is_over() -> None:
    """Logged a delay duration ahead, it is active at Tu1 + A: 101 + 300."""
    group = watched()
    group.submit("b", renamed())
    group.until(300)
    assert names(group) == dict.fromkeys("abc", True)
    group.until(310)
    assert names(group) == dict.fromkeys("abc", False)
    (active_ms,) = ends(group)
    assert 401 <= active_ms <= 403


def test_a_name_that_is_to_end_is_open_work_of_every_node() -> None:
    group = Group("abc", strategy=B13_ALIAS)
    watching: list[AliasEnds] = []
    for part in group.parts.values():
        watching.append(AliasEnds(part.node, group.strategy, part.catalog, part.meta))
        part.meta.on_activation(watching[-1].watch)
    assert [one.has_open_work for one in watching] == [False] * 3
    group.submit("b", renamed())
    group.until(300)
    assert [one.has_open_work for one in watching] == [True] * 3
    group.until(2000)
    assert [one.has_open_work for one in watching] == [False] * 3


def test_alias_end_is_submitted_once_by_the_leader() -> None:
    group = watched()
    group.submit("b", renamed())
    group.until(2000)
    asked = [sent for sent in group.wire.sent if isinstance(sent.payload, Submit)]
    assert [sent.sender for sent in asked] == ["b", "a"]
    assert group["a"].node.probes["alias-ended"] == 1


def test_a_window_that_is_shorter_than_the_way_of_a_message_ends_late() -> None:
    """The end cannot be active before it is logged."""
    group = watched()
    group.submit("b", renamed(0))
    group.until(50)
    (active_ms,) = ends(group)
    assert 101 <= active_ms <= 105


def test_a_statement_that_comes_first_costs_another_attempt() -> None:
    group = watched("a")
    group.submit("a", renamed())
    group.until(10)
    part = group["a"]
    logged = part.catalog.latest()
    drop = alias(statement("ALTER TABLE s ADD COLUMN w INT"), logged, 0)
    assert isinstance(drop, Built)
    part.node.loop.call_at(301_000 - 1, lambda: group.submit(
        "a", CatalogUpdate("e/0", logged.version, 100, drop.objects)
    ))  # fmt: skip
    group.until(400)
    assert names(group) == {"a": False}
    assert [update.op for update in group.of(UpdateLogged)] == ["d", "e", "end of alias 2"]


def test_alias_end_is_submitted_by_the_present_leader() -> None:
    group = watched(election_timeout_ms=100)
    group.submit("b", renamed())
    group.until(50)
    dead = group["a"].node
    group.wire.fate = lambda sent: () if dead.name in (sent.sender, sent.to) else (1000,)
    group.until(3000)
    assert names(group) == {"a": True, "b": False, "c": False}
    assert len(ends(group)) == 1


def test_a_smaller_delay_duration_does_not_end_it_early() -> None:
    """The leader's DD shrinks while it waits: then the update is sent later."""
    group = watched("a", cluster_delay_ms=0)
    group.submit("a", renamed())
    group.until(295)
    group["a"].node.settings.delay_duration_ms = 20
    group.until(600)
    (active_ms,) = ends(group)
    assert 400 <= active_ms <= 402


def test_where_updates_are_active_at_once_the_end_is_logged_then() -> None:
    group = watched("a", strategy=replace(B13_ALIAS, activation_ts=at_message))
    group.submit("a", renamed())
    group.until(299)
    assert names(group) == {"a": True}
    group.until(302)
    (active_ms,) = ends(group)
    assert 300 <= active_ms <= 302


def test_a_table_that_is_dropped_leaves_nothing_to_end() -> None:
    group = watched("a")
    group.submit("a", renamed())
    group.until(10)
    latest = group["a"].catalog.latest()
    built = alias(statement("DROP TABLE s"), latest, 0)
    assert isinstance(built, Built)
    group.submit("a", CatalogUpdate("e/0", latest.version, 100, built.objects))
    group.until(1000)
    assert [update.op for update in group.of(UpdateLogged)] == ["d", "e"]


@pytest.mark.parametrize("strategy", [IEP])
def test_other_updates_are_not_watched(strategy: Any) -> None:
    group = watched("a", strategy=strategy)
    before = group.loop.events
    group.submit("a", CatalogUpdate("d/0", 1, 100, ()))
    group.until(1000)
    plain = Group("a", strategy=strategy)
    plain.submit("a", CatalogUpdate("d/0", 1, 100, ()))
    plain.until(1000)
    assert group.loop.events - before == plain.loop.events - before
    assert not [one for one in group["a"].catalog.latest().objects() if isinstance(one, Alias)]
