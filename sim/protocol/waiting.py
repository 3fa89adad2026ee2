"""Helpers for waits: a task's result as a future, and when a request is sent again."""

from collections.abc import Coroutine
from typing import TypeVar

from ddlsim.model.ports import Future, Node
from ddlsim.model.settings import Settings
from ddlsim.units import Micros

R = TypeVar("R")


def spawned(node: Node, work: Coroutine[None, None, R]) -> Future[R]:
    """Spawn `work`; a future for its result."""
    result: Future[R] = node.future()
    node.spawn(_into(result, work))
    return result


async def _into(result: Future[R], work: Coroutine[None, None, R]) -> None:
    result.set(await work)


def resend_delay(settings: Settings, tries: int) -> Micros:
    """How long to wait for an answer after `tries` requests without one, in microseconds.

    Doubled each time, up to an operation's time limit: an answer may take a round of replication
    over slow links, and a request that is resent too early puts its command into the log again.
    """
    assert tries >= 0, f"{tries} tries"
    if not tries:
        return settings.resend_us
    longest = max(settings.operation_timeout_us, settings.resend_us)
    return Micros(min(settings.resend_us << min(tries, 16), longest))


def was_refused(node: Node, sent_us: int, wait_us: Micros) -> bool:
    """Whether a request without the answer sought ended before its wait: refused, and not lost.

    So does one to a node that has crashed. Sent again at once, it could be so within one instant
    without end: a rest of `retry_us` comes first.
    """
    return node.watch.now_us - sent_us < wait_us
