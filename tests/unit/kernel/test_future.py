"""Futures wake their waiters later and in order; scopes end every wait that belongs to them."""

from typing import Any

import pytest

from ddlsim.kernel.engine import Ended, Future, Loop, Scope


async def wait_into(log: list[Any], name: str, future: Future[Any]) -> None:
    log.append((name, await future))


def test_setting_a_future_does_not_run_its_waiter() -> None:
    loop, log = Loop(), []
    future = loop.future()

    async def giver() -> None:
        await loop.sleep(10)
        future.set("value")
        log.append("the giver goes on")

    loop.spawn(wait_into(log, "waiter", future))
    loop.spawn(giver())
    loop.run()

    assert log == ["the giver goes on", ("waiter", "value")]


def test_waiters_run_in_the_order_in_which_they_came() -> None:
    loop, log = Loop(), []
    future = loop.future()
    for name in "dacb":
        loop.spawn(wait_into(log, name, future))
    loop.call_at(5, future.set, 1)
    loop.run()

    assert log == [("d", 1), ("a", 1), ("c", 1), ("b", 1)]


def test_a_future_that_is_done_does_not_give_up_the_turn() -> None:
    loop, log = Loop(), []
    future = loop.future()
    future.set(1)

    async def two_steps() -> None:
        log.append(await future)
        log.append(await future)

    loop.spawn(two_steps())
    loop.spawn(wait_into(log, "next", future))
    loop.run()

    assert log == [1, 1, ("next", 1)]


def test_a_future_is_set_once() -> None:
    future = Loop().future()
    assert future.try_set(1)
    assert not future.try_set(2)
    assert future.value == 1
    with pytest.raises(AssertionError, match="set twice"):
        future.set(3)
    assert future.value == 1


def test_none_is_a_value() -> None:
    future = Loop().future()
    future.set(None)
    assert future.done


def test_the_end_of_a_scope_ends_its_waits_oldest_first() -> None:
    loop, log = Loop(), []
    scope = loop.scope()
    for name in "ba":
        loop.spawn(wait_into(log, name, scope.future()))
    loop.call_at(5, scope.end, "lease lost")
    loop.run()

    assert log == [("b", Ended("lease lost")), ("a", Ended("lease lost"))]


def test_a_future_of_an_ended_scope_is_born_done() -> None:
    scope = Loop().scope()
    scope.end("over")
    future = scope.future()

    assert future.done
    assert future.value == Ended("over")
    assert not future.try_set(1)


def test_what_a_wait_has_received_is_not_taken_back() -> None:
    scope = Loop().scope()
    future = scope.future()
    future.set("in time")
    scope.end("over")

    assert future.value == "in time"


def test_children_end_with_their_parent_after_its_own_waits() -> None:
    loop, log = Loop(), []
    scope = loop.scope()
    child = scope.child()
    grandchild = child.child()
    for name, owner in (("grandchild", grandchild), ("child", child), ("scope", scope)):
        loop.spawn(wait_into(log, name, owner.future()))
    loop.call_at(5, scope.end, "crash")
    loop.run()

    assert log == [(name, Ended("crash")) for name in ("scope", "child", "grandchild")]
    assert scope.child().ended == Ended("crash")


def test_a_child_may_end_before_its_parent_and_keeps_its_reason() -> None:
    scope = Loop().scope()
    child = scope.child()
    waiting = scope.future()
    child.end("rolled back")
    assert not waiting.done

    scope.end("crash")
    child.end("again")
    assert child.ended == Ended("rolled back")
    assert scope.ended == Ended("crash")


def test_a_scope_forgets_what_is_done() -> None:
    """Else a node's lifelong scope would keep every wait it ever had."""
    scope: Scope = Loop().scope()
    for _ in range(3):
        scope.future().set(1)
        scope.child().end("done")

    assert not scope._pending
    assert not scope._children
