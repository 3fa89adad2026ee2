"""Tasks that begin beside the present one and are awaited later."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from sim.model.ports import Future, Node

R = TypeVar("R")


def begun(node: Node, work: Coroutine[Any, Any, R]) -> Future[R]:
    """Spawn `work`; a future for its result."""
    result: Future[R] = node.future()
    node.spawn(_into(result, work))
    return result


async def _into(result: Future[R], work: Coroutine[Any, Any, R]) -> None:
    result.set(await work)
