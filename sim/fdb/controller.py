"""The controller: coordinators and cluster controller in one; it does not fail.

    watching --a member of the generation misses pings, or serves another one--> recovering
    recovering: lock the logs -> wait until their word to GRV proxies has expired -> the longest log
      that holds the last generation -> recruit logs, resolvers, sequencer, then proxies and GRV
      proxies --> watching

* `generation`: the last whose logs were all recruited: its commits may be on any of them, and so
  the next recovery needs one of them.
* `_ends`: where each generation ended. A storage server that missed some of them rolls back to the
  first end above what it knows.
* A recovery takes all processes that answer. One that comes back later leads to another recovery,
  which takes it in again.
"""

from collections.abc import Sequence
from typing import TypeVar

from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.membership import first_generation
from ddlsim.fdb.messages import (
    Generation,
    Lock,
    Locked,
    Ping,
    Pong,
    Recruit,
    Recruited,
    Tail,
)
from ddlsim.model.ports import Node, Request
from ddlsim.units import US_PER_MS, Micros

R = TypeVar("R")


class Controller:
    """Watches the processes, and begins a new generation when one of them fails."""

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self.node = node
        self.config = config
        self.settings = config.settings
        self.generation: Generation = first_generation(config)
        self.recovering = False
        self._number = 1
        self._ends: tuple[tuple[int, int], ...] = ()
        self._ping_us = Micros(self.settings.ping_ms * US_PER_MS)
        self._patience_us = Micros(self.settings.ping_timeout_ms * US_PER_MS)
        self._retry_us = Micros(self.settings.retry_ms * US_PER_MS)
        self._confirm_us = Micros(self.settings.confirm_ms * US_PER_MS)
        for role, name in config.transactional:
            node.spawn(self._watch(role, name))
        for name in config.storages:
            node.spawn(self._tell(name))

    # --- watching ---------------------------------------------------------------------------------

    async def _watch(self, role: str, name: str) -> None:
        """Ping a process; recover when a member is lost or another process could serve again.

        A ping sent during a recovery may come before the process is recruited, and its answer after
        the recovery: it says nothing of the new generation. Nor do pings missed before it.
        """
        missed, known = 0, self.generation
        while True:
            await self.node.sleep(self._ping_us)
            generation, is_early = self.generation, self.recovering
            if generation is not known:
                missed, known = 0, generation
            answer = await self.node.request(name, Ping(generation), self._patience_us)
            if is_early or self.recovering or self.generation is not generation:
                missed = 0
                continue
            member = name in members(generation, role)
            if isinstance(answer, Pong):
                missed = 0
                lost = member and answer.generation != generation.number
                returned = not member and (role != "sequencer")
            else:
                missed += 1
                lost = member and missed >= self.settings.pings_missed
                returned = False
            if lost or returned:
                self.recovering = True
                self.node.spawn(self._recover())

    async def _tell(self, name: str) -> None:
        """Ping a storage server, so that it has the present generation."""
        while True:
            await self.node.sleep(self._ping_us)
            await self.node.request(name, Ping(self.generation), self._patience_us)

    # --- recovering -------------------------------------------------------------------------------

    async def _recover(self) -> None:
        self.node.probe("store-recovery")
        while not await self._attempt():
            await self.node.sleep(self._retry_us)
        self.recovering = False

    async def _attempt(self) -> bool:
        """Begin the next generation; False where too few processes answer."""
        self._number += 1
        locked = await self._lock()
        await self.node.sleep(self._confirm_us)
        held = [one for _, one in locked if one.generation >= self.generation.number]
        living = [(role, name) for role, name in await self._living() if role != "log"]
        if not held:
            return False
        source = max(held, key=lambda one: (one.generation, one.tail.end)).tail
        chosen = self._choose(source, [("log", name) for name, _ in locked] + living)
        if chosen is None:
            return False
        self._ends = (*self._ends, (chosen.number, source.end))
        if not await self._recruit(chosen, source):
            return False
        self.generation = chosen
        for name in self.config.storages:
            self.node.spawn(self._announce(name))
        return True

    async def _lock(self) -> list[tuple[str, Locked]]:
        """The logs that are locked now, with what they hold."""
        logs = self.config.logs
        answers = await self._ask(logs, [Lock(self._number)] * len(logs))
        return [
            (name, answer)
            for name, answer in zip(logs, answers, strict=True)
            if isinstance(answer, Locked)
        ]

    async def _living(self) -> list[tuple[str, str]]:
        processes = self.config.transactional
        names = [name for _, name in processes]
        answers = await self._ask(names, [Ping(self.generation)] * len(names))
        return [
            process
            for process, answer in zip(processes, answers, strict=True)
            if isinstance(answer, Pong)
        ]

    def _choose(self, source: Tail, living: Sequence[tuple[str, str]]) -> Generation | None:
        """The next generation, of processes that answer; None if a role has none."""
        by_role = {
            role: tuple(name for one, name in living if one == role)
            for role in ("sequencer", "grv", "proxy", "resolver", "log")
        }
        if not all(by_role.values()):
            return None
        return Generation(
            self._number,
            source.end + max(self.settings.recovery_jump, 1),
            by_role["sequencer"][0],
            by_role["grv"],
            by_role["proxy"],
            by_role["resolver"],
            by_role["log"],
            (*self._ends, (self._number, source.end)),
        )

    async def _recruit(self, chosen: Generation, source: Tail) -> bool:
        """Recruit the processes in the order in which they depend on each other."""
        request = Recruit(chosen, source)
        if not await self._all(chosen.logs, request):
            return False
        self.generation = chosen
        if not await self._all((*chosen.resolvers, chosen.sequencer), request):
            return False
        return await self._all((*chosen.proxies, *chosen.grvs), request)

    async def _all(self, names: Sequence[str], request: Recruit) -> bool:
        answers = await self._ask(names, [request] * len(names))
        return all(isinstance(answer, Recruited) for answer in answers)

    async def _ask(self, names: Sequence[str], requests: Sequence[Request[R]]) -> list[object]:
        """What each process answers to its request, all asked at once."""
        asked = [
            self.node.request(name, request, self._patience_us)
            for name, request in zip(names, requests, strict=True)
        ]
        return [await answer for answer in asked]

    async def _announce(self, name: str) -> None:
        await self.node.request(name, Ping(self.generation), self._patience_us)


def members(generation: Generation, role: str) -> tuple[str, ...]:
    """The processes of a role that serve a generation."""
    return {
        "sequencer": (generation.sequencer,),
        "grv": generation.grvs,
        "proxy": generation.proxies,
        "resolver": generation.resolvers,
        "log": generation.logs,
    }[role]
