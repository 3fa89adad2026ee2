"""Waits that begin at once and are awaited later."""

from collections.abc import Coroutine
from typing import Any

from sim.model.ports import Future, Node


def begun(node: Node, work: Coroutine[Any, Any, Any]) -> Future[Any]:
    """Run `work` beside the present task; awaited, it gives what the work came to."""
    result: Future[Any] = node.future()
    node.spawn(_into(result, work))
    return result


async def _into(result: Future[Any], work: Coroutine[Any, Any, Any]) -> None:
    result.set(await work)
