"""Timeouts of one duration: exact, in order, one timer at a time."""

from typing import Any

from ddlsim.kernel.deadlines import Asked, Deadlines
from ddlsim.kernel.engine import Incarnation, Loop
from tests.support.engine import scheduled


class World:
    """Requests that time out after 100 us, and what became of them."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.incarnation = Incarnation(self.loop)
        self.asked: dict[int, Asked] = {}
        self.deadlines = Deadlines(self.incarnation, 100, "late")
        self.log: list[tuple[int, int, str]] = []

    def ask(self, key: int) -> None:
        async def waiter() -> None:
            value = await asked
            self.log.append((self.loop.now_us, key, str(value)))

        asked = self.asked[key] = self.deadlines.ask()
        self.loop.start(waiter())

    def answer(self, key: int) -> None:
        self.asked[key].answer("answered")

    def at(self, us: int, what: Any, *args: Any) -> None:
        self.incarnation.call_at(us, what, *args)


def test_each_expires_after_exactly_its_duration() -> None:
    world = World()
    for us, key in ((0, 3), (10, 1), (10, 2), (250, 4)):
        world.at(us, world.ask, key)
    world.loop.run()
    assert world.log == [(100, 3, "late"), (110, 1, "late"), (110, 2, "late"), (350, 4, "late")]
    assert not world.deadlines.waiting


def test_an_answer_in_time_wins_and_a_late_one_finds_nobody() -> None:
    world = World()
    for us, key in ((0, 1), (10, 2), (20, 3)):
        world.at(us, world.ask, key)
    for us, key in ((50, 2), (99, 1), (121, 3)):
        world.at(us, world.answer, key)
    world.loop.run()
    assert world.log == [(50, 2, "answered"), (99, 1, "answered"), (120, 3, "late")]


def test_there_is_one_timer_however_many_wait() -> None:
    world = World()
    for key in range(1000):
        world.ask(key)
    assert scheduled(world.loop) == 1


def test_the_timer_skips_what_was_answered() -> None:
    """A thousand answered requests cost one wake-up, not a thousand."""
    world = World()
    for key in range(1000):
        world.at(key, world.ask, key)
        world.at(key, world.answer, key)
    world.loop.run()
    assert len(world.log) == 1000
    assert world.loop.events == 1000 + 1000 + 1000 + 10  # asked, answered, resumed, wake-ups


def test_after_a_pause_an_answer_that_was_in_time_still_counts() -> None:
    """The answer came at 50, before its deadline; both wait for the end of the pause at 300."""
    world = World()
    world.at(0, world.ask, 1)
    world.at(30, world.ask, 2)
    world.at(115, world.answer, 2)
    world.at(140, world.answer, 1)
    world.loop.call_at(40, world.incarnation.pause)
    world.loop.call_at(300, world.incarnation.resume)
    world.loop.run()
    assert world.log == [(300, 1, "late"), (300, 2, "answered")]
