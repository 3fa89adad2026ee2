"""What belongs to an incarnation stops with it: no step, no timer, and above all no `finally`."""

import gc
from collections.abc import Coroutine
from typing import Any

import pytest

from ddlsim.kernel.engine import Incarnation, Loop


class World:
    """A loop, one incarnation in it, and what happened."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.incarnation = Incarnation(self.loop)
        self.log: list[Any] = []

    async def steps(self, name: str = "step") -> None:
        """Write something every 10 us, and politely at the end."""
        try:
            for number in range(1, 10):
                await self.loop.sleep(10)
                self.log.append((name, number))
        finally:
            self.log.append("finally")


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.usefixtures("_only_new_garbage")
def test_an_ended_incarnation_takes_no_further_step_and_runs_no_finally(world: World) -> None:
    world.loop.spawn(world.steps(), world.incarnation)
    world.loop.call_at(25, world.incarnation.end, "crash")
    world.loop.run(until_us=60)
    world.incarnation = Incarnation(world.loop)  # nobody but the loop knows the dead one any more
    gc.collect()
    world.loop.run(until_us=100)

    assert world.log == [("step", 1), ("step", 2)]


@pytest.mark.usefixtures("_only_new_garbage")
def test_garbage_collection_in_a_run_closes_no_task_of_the_dead(world: World) -> None:
    """Its future is gone, its incarnation replaced: only the loop still refers to the task."""

    async def stranded() -> None:
        try:
            await world.loop.future()
        finally:
            world.log.append("finally")

    world.loop.spawn(stranded(), world.incarnation)
    world.loop.run(until_us=5)
    world.incarnation.end("crash")
    world.incarnation = Incarnation(world.loop)
    gc.collect()
    assert world.log == []


def test_a_step_that_was_ready_when_its_incarnation_ended_is_dropped(world: World) -> None:
    future = world.loop.future()

    async def waiter() -> None:
        await future
        world.log.append("woken")

    def set_and_crash() -> None:
        future.set(1)
        world.incarnation.end("crash")

    world.loop.spawn(waiter(), world.incarnation)
    world.loop.call_at(5, set_and_crash)
    world.loop.run()
    assert world.log == []


@pytest.mark.usefixtures("_only_new_garbage")
def test_a_task_that_never_began_is_closed_in_silence(world: World) -> None:
    """Else the interpreter would warn of a coroutine that was never awaited."""
    world.loop.spawn(world.steps("before"), world.incarnation)
    world.incarnation.end("crash")
    world.loop.spawn(world.steps("after"), world.incarnation)
    world.loop.run()
    gc.collect()
    assert world.log == []


@pytest.mark.usefixtures("_only_new_garbage")
def test_so_is_what_it_was_given_to_await(world: World) -> None:
    async def awaits(work: Coroutine[Any, Any, Any]) -> None:
        await work

    world.loop.spawn(awaits(awaits(world.steps())), world.incarnation)
    world.incarnation.end("crash")
    gc.collect()
    assert world.log == []


def test_the_result_of_a_task_that_killed_itself_is_not_given(world: World) -> None:
    async def last_step() -> str:
        world.incarnation.end("crash")
        return "posthumous"

    task = world.loop.spawn(last_step(), world.incarnation)
    world.loop.run()
    assert not task.future.done


def test_timers_end_with_their_incarnation(world: World) -> None:
    world.incarnation.call_at(10, world.log.append, "timer")
    world.loop.call_at(10, world.log.append, "nobody's timer")
    world.incarnation.end("crash")
    world.loop.run()
    assert world.log == ["nobody's timer"]


def test_others_see_the_end_of_an_incarnation_as_the_end_of_its_scope(world: World) -> None:
    future = world.incarnation.scope.future()

    async def outsider() -> None:
        world.log.append((await future).reason)

    world.loop.spawn(outsider())
    world.loop.call_at(5, world.incarnation.end, "crash")
    world.loop.run()
    assert world.log == ["crash"]


def test_a_paused_incarnation_does_everything_later_and_in_order(world: World) -> None:
    incarnation, loop, log = world.incarnation, world.loop, world.log

    async def sleeper() -> None:
        await loop.sleep(20)
        log.append(("step due 20", loop.now_us))

    loop.spawn(sleeper(), incarnation)
    for at_us in (5, 15, 25, 35):
        incarnation.call_at(
            at_us, lambda at_us=at_us: log.append((f"timer due {at_us}", loop.now_us))
        )
    loop.call_at(10, incarnation.pause)
    loop.call_at(30, incarnation.resume)
    loop.run()

    assert log == [
        ("timer due 5", 5),
        ("timer due 15", 30),
        ("step due 20", 30),
        ("timer due 25", 30),
        ("timer due 35", 35),
    ]


def test_what_waited_in_a_pause_comes_before_what_becomes_ready_at_its_end(world: World) -> None:
    future = world.loop.future()

    async def waiter() -> None:
        await future
        world.log.append("ready at the end")

    def wake_and_resume() -> None:
        future.set(1)
        world.incarnation.resume()

    world.loop.spawn(waiter(), world.incarnation)
    world.incarnation.call_at(20, world.log.append, "waited")
    world.loop.call_at(10, world.incarnation.pause)
    world.loop.call_at(30, wake_and_resume)
    world.loop.run()
    assert world.log == ["waited", "ready at the end"]


def test_a_timer_can_be_cancelled_while_it_waits_in_a_pause(world: World) -> None:
    timer = world.incarnation.call_at(10, world.log.append, "timer")
    world.incarnation.pause()
    world.loop.run(until_us=20)
    timer.cancel()
    world.incarnation.resume()
    world.loop.run()
    assert world.log == []


def test_what_waited_in_a_pause_dies_in_a_crash(world: World) -> None:
    world.incarnation.call_at(10, world.log.append, "timer")
    world.loop.spawn(world.steps(), world.incarnation)
    world.incarnation.pause()
    world.loop.run(until_us=20)
    world.incarnation.end("crash")
    world.incarnation.resume()
    world.loop.run()
    assert world.log == []
