"""The engine on SimPy's public interface alone, to know what its private queue saves."""

from typing import Any

from simpy import Environment

from ddlsim.kernel.engine import CANCELLED, Due, Fireable, Loop
from ddlsim.units import Micros


class PublicLoop(Loop):
    """The same loop: each event is an `env.timeout` with a callback, each turn an `env.step()`."""

    def __init__(self) -> None:
        super().__init__()
        self._public = Environment()
        self.post = self._post  # type: ignore[assignment]  # theirs is no method

    def push(self, us: int, event: Fireable) -> None:
        """A timeout whose callback fires the event."""
        assert us >= self.now_us, f"{us} us is past, now is {self.now_us} us"
        env = self._public

        def fire(_: object) -> None:
            self.now_us = Micros(int(env.now))
            if event.callbacks is not CANCELLED:  # type: ignore[attr-defined]  # ours all have it
                event.fire()

        env.timeout(us - self.now_us).callbacks.append(fire)

    def _post(self, due: Due) -> None:
        us, _, _, event = due
        self.push(us, event)

    def run(self, until_us: int | None = None, events_max: Any = None) -> None:
        """Until nothing is left, or up to and including `until_us`."""
        ready, step, peek = self.ready, self._public.step, self._public.peek
        last = float("inf") if until_us is None else until_us
        while True:
            if ready:
                ready.popleft().fire()
            elif (at := peek()) <= last and at != float("inf"):
                step()
            else:
                break
        if until_us is not None:
            self.now_us = Micros(max(self.now_us, until_us))
