"""Safe time, waits for it, and look-ups of schemas at timestamps."""

from dataclasses import replace
from typing import Any

import pytest

from ddlsim.history.events import SafeTimeAdvanced, SchemaResolved
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.design.time_rules import at_operation, never_waits, operation_plus_skew
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.strategy import Strategy
from ddlsim.strategies.iep import IEP
from ddlsim.units import Timestamp, timestamp
from tests.support.protocol import FakeNode, Wire, run_until, two_versions


class Sync:
    """One node with table t in two versions, the second from 50 ms on; DD is 100 ms."""

    def __init__(self, strategy: Strategy = IEP, catalog: Catalog | None = None) -> None:
        self.loop = Loop()
        self.node = FakeNode("n1", Wire(self.loop))
        self.sync = SchemaSync(self.node, strategy, catalog or two_versions())
        self.found: list[tuple[str, int | None]] = []

    def look_up(self, ts: Timestamp, object_id: int = 1, name: str = "") -> None:
        """Ask for an object's version; it is put into `found` once it is known."""

        async def asked() -> None:
            if name:
                found = await self.sync.named_at(ts, "tx", "op", name)
            else:
                found = await self.sync.object_at(ts, "tx", "op", "arrival", object_id)
            self.found.append((name, None if found is None else found.version))

        self.node.spawn(asked())
        self.loop.run()

    def wait(self, name: str, ts: Timestamp) -> None:
        """Wait for safe time; the waiter is put into `found` once it has come."""

        async def waited() -> None:
            await self.sync.safe_time_reaches(ts)
            self.found.append((name, None))

        self.node.spawn(waited())
        self.loop.run()

    def advance_safe_time(self, ts: Timestamp) -> None:
        self.sync.advance_safe_time(ts)
        self.loop.run()

    @property
    def versions(self) -> list[int | None]:
        return [version for _, version in self.found]


# --- safe time -----------------------------------------------------------------------------------


def test_safe_time_only_rises() -> None:
    """What is smaller, or equal, changes nothing and leaves no trace."""
    one = Sync()
    for at in (30, 20, 30, 40):
        one.advance_safe_time(timestamp(at))
    assert one.sync.safe_time == timestamp(40)
    assert [e.safe_ts for e in one.node.of(SafeTimeAdvanced)] == [timestamp(30), timestamp(40)]


def test_safe_time_reaches_returns_at_the_timestamp() -> None:
    """Not one tick earlier; at once where it is reached already."""
    one = Sync()
    one.wait("a", timestamp(30))
    one.advance_safe_time(Timestamp(timestamp(30) - 1))
    assert one.found == []
    one.advance_safe_time(timestamp(30))
    one.wait("b", timestamp(30))
    assert [name for name, _ in one.found] == ["a", "b"]
    assert one.node.probes["completeness-wait"] == 1


def test_waiters_go_in_the_order_of_what_they_wait_for() -> None:
    """Waits for the same timestamp end in the order of their begin; the others stay."""
    one = Sync()
    for name, at in (("c", 30), ("a", 10), ("d", 30), ("b", 20), ("e", 31)):
        one.wait(name, timestamp(at))
    one.advance_safe_time(timestamp(30))
    assert "".join(name for name, _ in one.found) == "abcd"
    one.advance_safe_time(timestamp(99))
    assert "".join(name for name, _ in one.found) == "abcde"


# --- looking up ----------------------------------------------------------------------------------


def test_a_look_up_waits_until_safe_time_is_a_delay_duration_before_it() -> None:
    """For safeTime >= Top - DD, not for more [98.past.3]."""
    one = Sync()
    one.look_up(timestamp(160, 7))
    one.advance_safe_time(timestamp(60, 6))
    assert one.versions == []
    one.advance_safe_time(timestamp(60, 7))
    assert one.versions == [2]


@pytest.mark.parametrize(
    ("rule", "needed"),
    [
        (at_operation, timestamp(160)),
        (operation_plus_skew, timestamp(170)),
        (never_waits, None),
    ],
)
def test_other_designs_wait_for_something_else(rule: Any, needed: Timestamp | None) -> None:
    """For Top [98.safe.1], for Top + CSmax, or not at all."""
    one = Sync(replace(IEP, completeness_ts=rule))
    one.look_up(timestamp(160))
    if needed is not None:
        one.advance_safe_time(Timestamp(needed - 1))
        assert one.versions == []
        one.advance_safe_time(needed)
    assert one.versions == [2]


@pytest.mark.parametrize(
    ("ts", "version"),
    [
        (Timestamp(timestamp(50) - 1), 1),
        (timestamp(50), 2),
        (timestamp(50, 1), 2),
    ],
)
def test_the_version_is_the_one_effective_at_the_timestamp_itself(
    ts: Timestamp, version: int
) -> None:
    """Top = Tu has the new one already; the subtraction is for the wait only [98.def.1]."""
    one = Sync()
    one.advance_safe_time(timestamp(50))
    one.look_up(ts)
    one.look_up(ts, name="t")
    assert one.versions == [version, version]


def test_an_update_that_arrives_during_the_wait_is_seen() -> None:
    """That is what the wait is for."""
    one = Sync(catalog=two_versions(at_ms=500))
    late = two_versions(at_ms=110)
    one.look_up(timestamp(120))
    one.sync.catalog = late
    one.advance_safe_time(timestamp(20))
    assert one.versions == [2]


def test_what_does_not_exist_is_not_found() -> None:
    """By id or by name, before or after its time."""
    one = Sync()
    one.advance_safe_time(timestamp(500))
    one.look_up(timestamp(60), object_id=7)
    one.look_up(timestamp(60), name="u")
    one.look_up(timestamp(-(10**8)))
    assert one.versions == [None, None, None]
    seen = [(e.object_id, e.version, e.name) for e in one.node.of(SchemaResolved)]
    assert seen == [(7, 0, None), (0, 0, "u"), (1, 0, None)]


def test_each_look_up_is_recorded_with_its_wait() -> None:
    """Transaction, object, timestamp, purpose, and the duration."""
    one = Sync()
    one.look_up(timestamp(160))
    run_until(one.loop, 25)
    one.advance_safe_time(timestamp(60))
    one.look_up(timestamp(60), name="t")
    waited, at_once = one.node.of(SchemaResolved)
    assert waited == SchemaResolved(
        25_000, "n1", "tx", "op", "arrival", None, 1, timestamp(160), 2, 25_000
    )
    assert at_once == SchemaResolved(
        25_000, "n1", "tx", "op", "enlist", "t", 1, timestamp(60), 2, 0
    )


def test_with_recording_off_nothing_is_written_down() -> None:
    """And the answers are the same."""
    one = Sync()
    one.node.recording = False
    one.look_up(timestamp(160))
    one.advance_safe_time(timestamp(60))
    one.look_up(timestamp(60), name="t")
    assert (one.versions, one.node.events) == ([2, 2], [])


def test_the_wait_uses_the_nodes_settings_of_the_moment() -> None:
    """DD is a setting of the node, not of the design."""
    one = Sync()
    one.advance_safe_time(timestamp(60))
    one.node.settings.delay_duration_ms = 20
    one.look_up(timestamp(81))
    assert one.versions == []
    one.look_up(timestamp(80))
    assert one.versions == [2]
