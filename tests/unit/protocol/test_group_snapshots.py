"""A member of a group that has missed more than the log still holds: snapshots, last stamps."""

from ddlsim.history.world_events import SnapshotInstalled
from ddlsim.protocol.raft import InstallSnapshot
from ddlsim.protocol.replication.group import disk_name
from tests.support.replicas import ELECTION_MS, Replicas

LONG = 20 * ELECTION_MS


def lagging(words: int = 9, **changes: int) -> Replicas:
    """Member c has missed more than the leader's log still holds."""
    trio = Replicas(snapshot_entries=2, **changes)
    trio.cut = {"c"}
    for number in range(words):
        trio.said("a", f"w{number}", within_ms=10)
    return trio


def test_member_behind_the_compacted_log_gets_a_snapshot() -> None:
    """And then what came behind it."""
    trio = lagging()
    trio.cut = set()
    trio.later(LONG)
    assert trio.words() == [[f"w{number}" for number in range(9)]] * 3
    assert trio.machines["c"].installed
    assert trio.nodes["c"].probes["snapshot-install"] == 1
    [installed] = trio.nodes["c"].of(SnapshotInstalled)
    assert installed.index == len(trio.machines["c"].installed[0])


def test_the_last_stamp_of_a_snapshot_counts_also_after_a_restart() -> None:
    """A leader stamps above it, though its log holds no entry [98.x.1]."""
    trio = lagging(words=8)
    trio.cut = set()
    trio.later(60)
    assert trio.nodes["c"].disk[disk_name("words")].entries == []
    assert trio["c"].last_stamp == trio["a"].last_stamp == 8
    trio.crash("c")
    trio.restart("c")
    assert trio["c"].last_stamp == 8


def test_snapshot_is_resent_until_installable() -> None:
    """As with a command."""
    trio = lagging()
    trio.machines["c"].refused = "w0"
    trio.cut = set()
    trio.later(ELECTION_MS)
    assert trio.machines["c"].words == []
    assert trio.wire.payloads(InstallSnapshot)
    trio.machines["c"].refused = ""
    trio.later(LONG)
    assert len(trio.machines["c"].words) == 9
