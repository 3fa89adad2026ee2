"""Several faults at one thing: how they add up, and what is left as they end."""

from types import SimpleNamespace
from typing import Any

from ddlsim.cluster.troubles import Troubles


class Noted:
    """A cluster that writes down how it suffers."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.settings = SimpleNamespace(delay_duration_ms=100)

    def crash(self, node: str) -> None:
        self.told.append(("crash", node))

    def restart(self, node: str) -> None:
        self.told.append(("restart", node))

    def lose_unsynced(self, node: str, torn: int) -> None:
        self.told.append(("lose", node, torn))

    def set_disk_delay(self, node: str, delay_us: int) -> None:
        self.told.append(("disk", node, delay_us))

    def set_setting(self, node: str, key: str, value: int) -> int:
        del node
        before: int = getattr(self.settings, key)
        setattr(self.settings, key, value)
        return before

    def expire_lease(self, name: str) -> None:
        self.told.append(("expire", name))

    def renew_lease(self, name: str) -> None:
        self.told.append(("renew", name))


def test_a_node_starts_again_when_the_last_fault_that_keeps_it_down_is_over() -> None:
    cluster = Noted()
    troubles = Troubles(cluster)
    troubles.crash("n1", None)
    troubles.crash("n1", 5)
    troubles.crash("n1", 2)
    troubles.crash("n2", None)
    assert cluster.told == [("crash", "n1"), ("crash", "n2")]
    assert troubles.down("n1")
    for _ in range(3):
        troubles.restart("n1")
    assert cluster.told[2:] == [("lose", "n1", 2), ("restart", "n1")]  # the worst loss counts
    assert not troubles.down("n1")
    troubles.restart("n2")
    assert cluster.told[4:] == [("restart", "n2")]


def test_a_later_crash_loses_nothing_because_an_earlier_one_did() -> None:
    cluster = Noted()
    troubles = Troubles(cluster)
    for torn in (0, None):
        troubles.crash("n1", torn)
        troubles.restart("n1")
    assert [what[0] for what in cluster.told] == ["crash", "lose", "restart", "crash", "restart"]


def test_slow_disks_add_up() -> None:
    cluster = Noted()
    troubles = Troubles(cluster)
    for by_us in (30, 20, -30, -20):
        troubles.slow_disk("n1", by_us)
    assert [us for _, _, us in cluster.told] == [30, 50, 20, 0]


def test_a_lease_is_renewed_when_nobody_keeps_it_from_being() -> None:
    cluster = Noted()
    troubles = Troubles(cluster)
    troubles.expire_lease("t/0")
    troubles.expire_lease("t/0")
    troubles.renew_lease("t/0")
    assert cluster.told == [("expire", "t/0")]
    troubles.renew_lease("t/0")
    assert cluster.told == [("expire", "t/0"), ("renew", "t/0")]


def test_of_three_values_the_latest_that_lasts_counts() -> None:
    cluster = Noted()
    troubles = Troubles(cluster)
    changes = [troubles.set_setting("n1", "delay_duration_ms", value) for value in (1, 2, 3)]
    seen = []
    for change in (changes[1], changes[2], changes[0]):
        troubles.forget_setting("n1", "delay_duration_ms", change)
        seen.append(cluster.settings.delay_duration_ms)
    assert seen == [3, 1, 100]
    again = troubles.set_setting("n1", "delay_duration_ms", 7)
    troubles.forget_setting("n1", "delay_duration_ms", again)
    assert cluster.settings.delay_duration_ms == 100
