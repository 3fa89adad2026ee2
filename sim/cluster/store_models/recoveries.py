"""What a recovery of the store must do, step by step; the controller is compared with it."""

from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.messages import Generation, Lock, Locked, Ping, Pong, Recruit, Recruited
from ddlsim.model.ports import NO_REPLY
from ddlsim.units import US_PER_MS

ROLES = ("sequencer", "grv", "proxy", "resolver", "log")
Asks = dict[str, object]
"""What each process is asked for, by its name."""


class Step:
    """Requests that are sent at an instant; without any the recovery is at its end.

    `limits` are the instants at which they are given up, `answers` come with theirs.
    """

    def __init__(self, at_us: int, asks: Asks) -> None:
        self.at_us = at_us
        self.asks = asks
        self.limits: dict[str, int] = {}
        self.answers: dict[str, tuple[object, int]] = {}

    @property
    def over_us(self) -> int:
        """When each is answered or given up."""
        ends = [
            self.answers[name][1] if name in self.answers else limit_us
            for name, limit_us in self.limits.items()
        ]
        return max(ends, default=self.at_us)

    def answer(self, name: str) -> object:
        """What a process has answered."""
        return self.answers.get(name, (NO_REPLY, 0))[0]

    def that_say(self, answer: type) -> list[str]:
        """Those that have answered so."""
        return [name for name in self.asks if isinstance(self.answer(name), answer)]


class Recoveries:
    """All recoveries of a store.

    `present` is the generation whose logs were recruited last, `ends` are the versions behind which
    generations began, by their numbers, `recruit` is what the last one was begun with.
    """

    def __init__(self, config: FdbConfig, present: Generation) -> None:
        self.present = present
        self.ends: tuple[tuple[int, int], ...] = ()
        self._config = config
        self._number = present.number
        self._locked = Step(0, {})
        self._left: list[tuple[str, ...]] = []
        self.recruit: Recruit | None = None

    def begin(self, at_us: int) -> Step:
        """Lock every log, under a number that is above all before."""
        self._number += 1
        return Step(at_us, dict.fromkeys(self._config.logs, Lock(self._number)))

    def behind(self, step: Step) -> Step:
        """What comes when a step is over."""
        settings, over_us = self._config.settings, step.over_us
        first = next(iter(step.asks.values()))
        if isinstance(first, Lock):
            self._locked = step
            names = [name for _, name in self._config.transactional]
            # Until then a word of the locked logs counts at GRV proxies.
            at_us = over_us + settings.confirm_ms * US_PER_MS
            return Step(at_us, dict.fromkeys(names, Ping(self.present)))
        if isinstance(first, Ping):
            goes_on = self._choose(step)
        else:
            goes_on = len(step.that_say(Recruited)) == len(step.asks)
        if not goes_on or self.recruit is None:
            return self.begin(over_us + settings.retry_ms * US_PER_MS)
        if tuple(step.asks) == self.recruit.generation.logs:
            self.present = self.recruit.generation
        others = self._left.pop(0) if self._left else ()
        return Step(over_us, dict.fromkeys(others, self.recruit))

    def _choose(self, pinged: Step) -> bool:
        """The next generation: all that answer, behind the longest of the logs that have the last.

        False where a role has no process, or no log has the last generation.
        """
        locked = [self._locked.answer(name) for name in self._locked.that_say(Locked)]
        held = [
            one
            for one in locked
            if isinstance(one, Locked) and one.generation >= self.present.number
        ]
        answered = pinged.that_say(Pong)
        by_role = {
            role: tuple(
                name for one, name in self._config.transactional if one == role and name in answered
            )
            for role in ROLES
        }
        by_role["log"] = tuple(self._locked.that_say(Locked))
        if not held or not all(by_role.values()):
            return False
        tail = min(held, key=lambda one: (-one.generation, -one.tail.end)).tail
        start = tail.end + max(self._config.settings.recovery_jump, 1)
        sequencer = by_role["sequencer"][0]
        grvs, proxies, resolvers, logs = (by_role[role] for role in ROLES[1:])
        self.ends = (*self.ends, (self._number, tail.end))
        generation = Generation(
            self._number, start, sequencer, grvs, proxies, resolvers, logs, self.ends
        )
        self.recruit = Recruit(generation, tail)
        self._left = [logs, (*resolvers, sequencer), (*proxies, *grvs)]
        return True
