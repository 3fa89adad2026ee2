"""The controller beside its model: why a recovery begins, and what each of its steps must be.

A recovery begins at once where a member has missed its pings in a row or says another generation,
and where a process that is no member answers; and never without such a cause. A ping that is sent
while no recovery goes on, and ends before one begins, says something of the present generation,
any other does not: so no row of recoveries goes on while all processes can be reached.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ddlsim.cluster.models.exchange import Sent
from ddlsim.cluster.store_models.beside import Instants, StoreModels
from ddlsim.cluster.store_models.recoveries import Recoveries, Step
from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.controller import Controller
from ddlsim.fdb.membership import first_generation
from ddlsim.fdb.messages import Generation, Lock, Ping, Pong, Recruit
from ddlsim.model.ports import NO_REPLY, Node, Request
from ddlsim.units import US_PER_MS


class Watched:
    """The pings of a process: the one under way, with its part of time; when the last one ended."""

    def __init__(self, now_us: int) -> None:
        self.under_way: object = None
        self.limit_us = -1
        self.part = 0
        self.ended_us = now_us
        self.missed = 0


class ModelledController(Controller):
    """A controller that compares causes and steps of its recoveries.

    `_part` is a part of time: odd while a recovery goes on. `_step` is the one under way or the
    last, `_next` the one that must come, unless `_step` is under way.
    """

    beside: ClassVar[StoreModels]

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self._exchange = exchange = self.beside.exchanges[node.name]
        self.divergence = Instants(self.beside.models, node.name, "controller", exchange)
        self._recoveries = Recoveries(config, first_generation(config))
        self._part = 0
        self._cause_us = -1
        self._step = Step(0, {})
        self._next: Step | None = None
        self._announcing = ""
        self._told: list[str] = []
        self._role_of = {name: role for role, name in config.transactional}
        names = (*self._role_of, *config.storages)
        self._watched = {name: Watched(self.divergence.now_us) for name in names}
        for kind in (Ping, Lock, Recruit):
            exchange.on_request[kind] = [self._sends]
            exchange.on_answer[kind] = [self._has_answer]
        super().__init__(node, config)
        for name in names:
            self.divergence.opens(f"{name} is pinged", self._ping_due(name))

    def _sends(self, asked: object, sent: Sent) -> None:
        """A request of a step, the word to a storage server behind a recovery, or of the watch."""
        divergence = self.divergence
        self._miss(sent.at_us)
        patience_us = self.settings.ping_timeout_ms * US_PER_MS
        divergence.compare("the time for an answer", sent.wait_us, patience_us)
        step = self._step
        if self._next is None and len(step.limits) < len(step.asks):
            divergence.compare(f"what {sent.to} is asked", sent.message, step.asks.get(sent.to))
            step.limits[sent.to] = sent.at_us + patience_us
            return
        divergence.compare("a ping", sent.message, Ping(self._recoveries.present))
        if self._announcing:
            self._told.append(sent.to)
            self._announcing = ""
            return
        watched = self._watched[sent.to]
        due_us = self._ping_due(sent.to)()
        divergence.in_time(f"{sent.to} is pinged", due_us)
        divergence.not_before(f"{sent.to} is pinged", due_us)
        watched.under_way, watched.limit_us = asked, sent.at_us + patience_us
        watched.part = self._part

    def _has_answer(self, asked: object, sent: Sent, answer: Any) -> None:
        now_us = self.divergence.now_us
        self._miss(now_us)
        watched = self._watched[sent.to]
        if watched.under_way is asked:
            self._pinged(sent.to, answer, now_us)
        else:
            self._step.answers[sent.to] = answer, now_us

    # --- watching ---------------------------------------------------------------------------------

    def _ping_due(self, name: str) -> Callable[[], int]:
        """When a process is pinged again, as things are."""
        watched, rest_us = self._watched[name], self.config.settings.ping_ms * US_PER_MS

        def due_us() -> int:
            is_waiting = watched.under_way is not None
            return rest_us + (watched.limit_us if is_waiting else watched.ended_us)

        return due_us

    def _miss(self, before_us: int) -> None:
        """Pings whose time was over before an instant, without an answer."""
        for name, watched in self._watched.items():
            if watched.under_way is not None and watched.limit_us < before_us:
                self._pinged(name, NO_REPLY, watched.limit_us)
        if self._cause_us >= 0 and not self._part % 2:
            self.divergence.in_time("a recovery begins", self._cause_us)

    def _pinged(self, name: str, answer: object, ended_us: int) -> None:
        """A ping has ended: is it a cause of a recovery?"""
        watched, role = self._watched[name], self._role_of.get(name)
        watched.under_way, watched.ended_us = None, ended_us
        if watched.part != self._part or self._part % 2 or role is None:
            watched.missed = 0
            return
        present = self._recoveries.present
        is_member = name in members_of(present)
        watched.missed = 0 if isinstance(answer, Pong) else watched.missed + 1
        if not is_member:
            is_cause = isinstance(answer, Pong) and role != "sequencer"
        elif isinstance(answer, Pong):
            is_cause = answer.generation != present.number
        else:
            is_cause = watched.missed >= self.settings.pings_missed
        if is_cause:
            self._cause_us = max(self._cause_us, ended_us)
            self._exchange.owe(lambda: self._miss(ended_us))

    # --- recovering -------------------------------------------------------------------------------

    async def _recover(self) -> None:
        divergence, now_us = self.divergence, self.divergence.now_us
        self._miss(now_us + 1)
        if self._cause_us != now_us:
            divergence.found("a recovery begins without a cause")
        self._part, self._cause_us = self._part + 1, -1
        for watched in self._watched.values():
            watched.missed = 0
        self._next = self._recoveries.begin(now_us)
        number = divergence.opens("a step of a recovery", self._step_due_us)
        await super()._recover()
        divergence.closes(number)
        if not self._is_at_end():
            divergence.found("a recovery ends before it has recruited all")
        self._part += 1
        told = self._told = []
        storages = sorted(self.config.storages)
        self._exchange.owe(
            lambda: divergence.compare("the servers that hear of it", sorted(told), storages)
        )

    def _is_at_end(self) -> bool:
        return self._next is not None and not self._next.asks

    def _step_due_us(self) -> int:
        return self._step.over_us if self._next is None else self._next.at_us

    async def _ask(self, names: Sequence[str], requests: Sequence[Request[Any]]) -> list[object]:
        """A step of a recovery: it comes when it must, asks all that it must, and then ends."""
        divergence, step = self.divergence, self._next
        if step is None:
            divergence.found(f"{requests} are sent while no recovery is at such a step")
            return await super()._ask(names, requests)
        asks = dict(zip(names, requests, strict=True))
        divergence.compare(
            "a step of a recovery", (divergence.now_us, asks), (step.at_us, step.asks)
        )
        for request in requests[:1]:
            if isinstance(request, Recruit):
                self._compare_end(request.tail.end)
        self._step, self._next = step, None
        answers = await super()._ask(names, requests)
        divergence.compare("the answers to a step", answers, [step.answer(name) for name in names])
        divergence.compare("the end of a step", divergence.now_us, step.over_us)
        self._next = self._recoveries.behind(step)
        return answers

    def _compare_end(self, end: int) -> None:
        """What was acknowledged is not lost; what comes is numbered above it."""
        acknowledged = self.beside.acknowledged
        if end < acknowledged:
            what = f"a generation ends at {end}, and {acknowledged} is acknowledged"
            self.divergence.found(what)

    async def _announce(self, name: str) -> None:
        self._announcing = name
        await super()._announce(name)


def members_of(generation: Generation) -> tuple[str, ...]:
    """The processes that serve a generation."""
    one = generation
    return one.sequencer, *one.grvs, *one.proxies, *one.resolvers, *one.logs
