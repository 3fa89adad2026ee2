"""Threads that work beside each other, and end together."""

import threading
import time
from collections.abc import Callable


class Threads:
    """Threads of one recording; the error of any of them sets `stop`, which all of them look at."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self._all: list[threading.Thread] = []
        self._failed: list[BaseException] = []

    def add(self, work: Callable[[], None], name: str | None = None) -> threading.Thread:
        """One more, not yet started."""

        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                self._failed.append(error)
                self.stop.set()

        made = threading.Thread(target=guarded, name=name, daemon=True)
        self._all.append(made)
        return made

    def start(self) -> None:
        """Start all of them."""
        for one in self._all:
            one.start()

    def end(self, seconds: float) -> int:
        """Set `stop` and wait for all that were started; how many have not ended in time."""
        self.stop.set()
        limit = time.monotonic() + seconds
        for one in self._all:
            if one.ident is not None:
                one.join(max(0.0, limit - time.monotonic()))
        return sum(one.is_alive() for one in self._all)

    def check(self) -> None:
        """Raise the first error of any of them."""
        if self._failed:
            raise self._failed[0]
