"""The idle timer: when a tick is due, and which news of the leadership starts or stops it."""

import pytest

from ddlsim.protocol.metastorage.safe_time_ticker import SafeTimeTicker
from tests.support.protocol import FakeNode, Loop, Wire, run_until


class Clockwork:
    """A ticker with H of 50 ms, and its ticks: (at ms, term)."""

    def __init__(self, *, enabled: bool = True) -> None:
        self.loop = Loop()
        self.node = FakeNode("a", Wire(self.loop))
        self.ticks: list[tuple[float, int]] = []
        self.ticker = SafeTimeTicker(self.node, self._tick, enabled=enabled)

    def _tick(self, term: int) -> None:
        self.ticks.append((self.loop.now_us / 1000, term))
        self.ticker.arm()  # as every command does

    def until(self, at_ms: float) -> None:
        run_until(self.loop, at_ms)


def test_a_leader_ticks_every_h() -> None:
    """Under the term in which it was elected."""
    clockwork = Clockwork()
    clockwork.ticker.start(3)
    clockwork.until(160)
    assert clockwork.ticks == [(50, 3), (100, 3), (150, 3)]


def test_a_command_puts_the_tick_off() -> None:
    """It is due H after the last one."""
    clockwork = Clockwork()
    clockwork.ticker.start(1)
    for at_ms in (40, 80):
        clockwork.until(at_ms)
        clockwork.ticker.arm()
    clockwork.until(140)
    assert clockwork.ticks == [(130, 1)]


def test_ticker_stops_with_the_term() -> None:
    """Not even for what armed it before; nor does arming begin anything."""
    clockwork = Clockwork()
    clockwork.ticker.start(1)
    clockwork.until(20)
    clockwork.ticker.stop(1)
    clockwork.ticker.arm()
    clockwork.until(200)
    assert (clockwork.ticks, clockwork.ticker.term) == ([], None)


@pytest.mark.parametrize(("stopped", "started", "ticks"), [(2, 2, 0), (3, 2, 0), (2, 3, 1)])
def test_a_start_that_comes_after_the_stop_of_its_term_starts_nothing(
    stopped: int, started: int, ticks: int
) -> None:
    """Only a later term does."""
    clockwork = Clockwork()
    clockwork.ticker.stop(stopped)
    clockwork.ticker.start(started)
    clockwork.until(60)
    assert len(clockwork.ticks) == ticks
    assert clockwork.node.probes["late-start-of-ticks"] == 1 - ticks


def test_stops_that_come_out_of_order_take_nothing_back() -> None:
    """The latest term that has ended counts."""
    clockwork = Clockwork()
    clockwork.ticker.stop(5)
    clockwork.ticker.stop(3)
    clockwork.ticker.start(4)
    clockwork.until(60)
    assert clockwork.ticks == []


def test_ticker_uses_the_new_term() -> None:
    """Ticks of an old one are ignored [98.x.6]; and there is one timer, not two."""
    clockwork = Clockwork()
    clockwork.ticker.start(1)
    clockwork.until(20)
    clockwork.ticker.start(2)
    clockwork.until(130)
    assert clockwork.ticks == [(70, 2), (120, 2)]


def test_ticks_can_be_off() -> None:
    """Whoever leads."""
    clockwork = Clockwork(enabled=False)
    clockwork.ticker.start(1)
    clockwork.until(200)
    assert (clockwork.ticks, clockwork.ticker.term) == ([], 1)
