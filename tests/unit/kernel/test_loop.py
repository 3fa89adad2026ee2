"""One step at a time, whole microseconds, and SimPy's processes among our own tasks."""

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
import simpy

from ddlsim.kernel import engine
from ddlsim.kernel.engine import Loop, SimulationCrashed


def test_equal_times_fire_in_the_order_of_asking() -> None:
    loop, log = Loop(), []
    for at_us, name in ((20, "c"), (10, "a"), (20, "d"), (10, "b")):
        loop.call_at(at_us, log.append, name)
    loop.run()
    assert log == ["a", "b", "c", "d"]


@pytest.mark.parametrize("us", [1.0, 1.5, np.int64(1), True, "1"])
def test_only_whole_microseconds_are_a_time(us: Any) -> None:
    with pytest.raises(AssertionError, match="microseconds are whole"):
        Loop().call_at(us, print)


def test_nothing_is_scheduled_in_the_past() -> None:
    loop = Loop()
    loop.run(until_us=10)
    with pytest.raises(AssertionError, match="is past"):
        loop.call_at(9, print)
    with pytest.raises(AssertionError, match="is past"):
        loop.call_later(-1, print)


def test_between_two_awaits_nothing_else_happens() -> None:
    """Whatever a step sets, spawns or calls, it reaches its own next await first."""
    loop, log = Loop(), []
    future = loop.future()

    async def other(name: str) -> None:
        log.append(name)

    async def waiter() -> None:
        await future
        log.append("woken")

    async def step() -> None:
        await loop.sleep(10)
        future.set(1)
        loop.spawn(other("spawned"))
        loop.spawn(other("spawned later"))
        loop.call_later(0, log.append, "called at this instant")
        log.append("still the same step")

    loop.spawn(waiter())
    loop.spawn(step())
    loop.call_at(10, log.append, "an event of the same instant, asked for earlier")
    loop.run()

    assert log == [
        "an event of the same instant, asked for earlier",
        "still the same step", "woken", "spawned", "spawned later", "called at this instant",
    ]  # fmt: skip


def test_what_is_ready_runs_before_the_next_event_of_the_same_instant() -> None:
    loop, log = Loop(), []
    future = loop.future()

    async def waiter() -> None:
        log.append(await future)

    loop.spawn(waiter())
    loop.call_at(10, future.set, "woken")
    loop.call_at(10, log.append, "next event")
    loop.run()
    assert log == ["woken", "next event"]


def test_start_runs_the_first_step_at_once_and_spawn_does_not() -> None:
    loop, log = Loop(), []

    async def task(name: str) -> str:
        log.append(name)
        await loop.sleep(1)
        return name

    loop.spawn(task("spawned"))
    started = loop.start(task("started"))
    assert log == ["started"]
    assert not started.future.done

    loop.run()
    assert log == ["started", "spawned"]
    assert started.future.value == "started"


def test_the_result_of_a_task_can_be_awaited_and_had_later() -> None:
    loop = Loop()

    async def child() -> int:
        await loop.sleep(5)
        return 42

    async def parent() -> tuple[int, int]:
        return await loop.spawn(child()).future, await loop.start(child()).future

    task = loop.spawn(parent())
    loop.run()
    assert task.future.value == (42, 42)
    assert loop.now_us == 10
    assert not loop.incarnation.tasks


def test_run_goes_up_to_and_including_its_end() -> None:
    loop, log = Loop(), []
    for at_us in (10, 20, 21):
        loop.call_at(at_us, log.append, at_us)
    loop.run(until_us=20)
    assert log == [10, 20]

    loop.run(until_us=20)
    loop.run()
    loop.run(until_us=100)
    assert log == [10, 20, 21]
    assert loop.now_us == loop.env.now == 100


def test_stop_ends_the_run_after_the_present_event() -> None:
    loop, log = Loop(), []

    async def other() -> None:
        log.append("never reached")

    loop.call_at(10, loop.stop)
    loop.call_at(10, loop.spawn, other())
    loop.run(until_us=50)
    assert (log, loop.now_us) == ([], 10)

    loop.run(until_us=50)
    assert (log, loop.now_us) == (["never reached"], 50)


def test_a_cancelled_timer_leaves_no_trace() -> None:
    loop, log = Loop(), []
    timer = loop.call_at(10, log.append, "cancelled")
    loop.call_at(5, timer.cancel)
    loop.run()
    assert log == []
    assert loop.now_us == 5
    assert loop.events == 1


def test_events_are_counted_and_can_be_limited() -> None:
    loop = Loop()

    async def spinner() -> None:
        while True:
            await loop.sleep(0)

    loop.spawn(spinner())
    with pytest.raises(SimulationCrashed, match="more than 1000 events, at 0 us"):
        loop.run(events_max=1000)
    assert loop.events == 1001


def test_a_loop_in_which_no_time_passes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "AT_ONCE", 100)

    def run(step_us: int) -> Loop:
        loop = Loop()

        async def spinner() -> None:
            for turn in range(2000):
                await loop.sleep(step_us if turn % 20 == 0 else 0)

        loop.spawn(spinner())
        loop.run()
        return loop

    with pytest.raises(SimulationCrashed, match="more than 100 events at one instant, 0 us; give"):
        run(0)
    assert run(1).events > 2000


async def failing() -> None:
    raise KeyError("lost")


def test_an_exception_in_a_task_ends_the_run_by_name() -> None:
    loop = Loop()
    loop.spawn(failing())
    with pytest.raises(SimulationCrashed, match=r"failing: KeyError: 'lost'") as caught:
        loop.run()
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_exception_of_an_awaited_task_names_the_task_that_raised() -> None:
    loop = Loop()

    async def parent() -> None:
        await loop.start(failing()).future

    loop.spawn(parent())
    with pytest.raises(SimulationCrashed, match=r"^failing: KeyError"):
        loop.run()


def test_an_exception_in_a_timer_ends_the_run() -> None:
    loop = Loop()
    loop.call_at(7, {}.__getitem__, "lost")
    with pytest.raises(SimulationCrashed, match=r"at 7 us: KeyError: 'lost'") as caught:
        loop.run()
    assert isinstance(caught.value.__cause__, KeyError)


class Foreign:
    """Awaitable, but none of ours."""

    def __await__(self) -> Generator[None, None, None]:
        yield None


def test_awaiting_what_is_no_future_is_a_crash() -> None:
    async def confused() -> None:
        await Foreign()

    loop = Loop()
    loop.spawn(confused())
    with pytest.raises(SimulationCrashed, match="confused"):
        loop.run()


def test_a_run_does_not_nest() -> None:
    loop = Loop()
    loop.call_at(1, loop.run)
    with pytest.raises(SimulationCrashed, match="a run within a run"):
        loop.run()


def test_simpy_processes_and_our_tasks_take_turns() -> None:
    loop, log = Loop(), []

    def process(env: simpy.Environment) -> Generator[simpy.Event, Any, None]:
        for _ in range(3):
            yield env.timeout(10)
            log.append(("process", env.now))

    async def task() -> None:
        for _ in range(3):
            await loop.sleep(10)
            log.append(("task", loop.now_us))

    loop.env.process(process(loop.env))
    loop.spawn(task())
    loop.call_at(20, log.append, ("timer", 20))
    loop.run()

    # The task begins before the process (a process begins with an event); the timer was first
    # to ask for 20 us.
    assert log == [
        ("task", 10), ("process", 10), ("timer", 20), ("task", 20), ("process", 20),
        ("task", 30), ("process", 30),
    ]  # fmt: skip


def test_a_process_and_a_task_can_wait_for_each_other() -> None:
    loop, log = Loop(), []
    question, answer = loop.future(), loop.env.event()

    def process(env: simpy.Environment) -> Generator[simpy.Event, Any, None]:
        yield env.timeout(5)
        question.set("who?")
        log.append((yield answer))

    async def task() -> None:
        log.append(await question)
        await loop.sleep(5)
        answer.succeed("me")

    loop.env.process(process(loop.env))
    loop.spawn(task())
    loop.run()
    assert log == ["who?", "me"]
    assert loop.now_us == 10


def test_a_failing_process_is_a_crash() -> None:
    class AwkwardError(Exception):
        """SimPy would copy it by its arguments, and fail to."""

        def __init__(self, *, number: int) -> None:
            super().__init__()
            self.number = number

    def process(env: simpy.Environment) -> Generator[simpy.Event, Any, None]:
        yield env.timeout(5)
        raise AwkwardError(number=1)

    loop = Loop()
    loop.env.process(process(loop.env))
    with pytest.raises(SimulationCrashed, match="at 5 us: AwkwardError") as caught:
        loop.run()
    assert isinstance(caught.value.__cause__, AwkwardError)


def test_a_process_may_not_wait_a_fraction() -> None:
    loop = Loop()
    loop.env.timeout(0.5)
    with pytest.raises(SimulationCrashed, match="whole microseconds"):
        loop.run()


def test_the_environment_is_not_run_by_itself() -> None:
    with pytest.raises(RuntimeError, match="run the Loop"):
        Loop().env.run()
