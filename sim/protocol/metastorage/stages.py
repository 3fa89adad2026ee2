"""Stages of application: each passes items on, in order, after the time that it takes."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ddlsim.model.ports import Node
from ddlsim.units import Micros

T = TypeVar("T")


@dataclass(slots=True)
class Delays:
    """How slow each stage of application is on a node, in microseconds."""

    log: int = 0
    catalog: int = 0
    listener: int = 0


class Stage(Generic[T]):
    """Passes items on one after another, each after the time that it takes on this node."""

    def __init__(
        self, node: Node, duration_us: Callable[[T], int], pass_on: Callable[[T], None]
    ) -> None:
        self._node = node
        self._duration_us = duration_us
        self._pass_on = pass_on
        self.waiting: deque[T] = deque()
        self._busy = False

    def take(self, item: T) -> None:
        """Pass the item on when those before it are through and its time is over.

        Where nothing is `waiting` and it takes no time, the caller may pass it on itself.
        """
        self.waiting.append(item)
        self._run()

    def _run(self) -> None:
        while self.waiting and not self._busy:
            duration_us = self._duration_us(self.waiting[0])
            if duration_us:
                self._busy = True
                self._node.call_later(Micros(duration_us), self._finish)
                return
            self._pass_on(self.waiting.popleft())

    def _finish(self) -> None:
        assert self._busy, "a stage finished what it had not begun"
        assert self.waiting, "a stage lost what it was at"
        self._busy = False
        self._pass_on(self.waiting.popleft())
        self._run()
