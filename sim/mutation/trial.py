"""One trial: a forked process that imports the package, one module changed, and searches."""

import gc
import os
import resource
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Final, NoReturn

import msgspec

from ddlsim.execute.workers import Lifeline, death, fork
from ddlsim.garbage import collect_seldom
from ddlsim.model.records import Record
from ddlsim.mutation.course import Course, Surveyed, packed
from ddlsim.mutation.loader import Reached, install, install_counts
from ddlsim.mutation.mutants import Mutant
from ddlsim.mutation.records import Conviction, Searched, World

MEMORY: Final = 4 << 30
"""The bytes of address space that a trial may take."""
TOUR_EVENTS: Final = 100_000
"""A world that takes more events in a survey is left out: others are cheaper to try."""
LAST_RESORT_S: Final = 120
"""The system ends a trial that takes so much more CPU time than its budget."""


class Budget(Record, frozen=True):
    """When a trial ends without a conviction: after a number of runs, or an amount of CPU time.

    A run that takes more CPU time than `run_cpu_s`, or more events than `run_events`, is taken for
    one that never ends.
    """

    seeds: int | None = None
    cpu_s: float | None = None
    run_cpu_s: float = 30.0
    run_events: int = 1_000_000


class Begun(Record, frozen=True, tag="begun"):
    """The trial begins the run of this number."""

    number: int


class Unimportable(Record, frozen=True, tag="unimportable"):
    """The package cannot be imported with this mutant."""

    error: str


class Ended(Record, frozen=True, tag="ended"):
    """The result of a trial; `reached` as in `Result`."""

    searched: Searched
    reached: int
    cpu_s: float


class Toured(Record, frozen=True, tag="toured"):
    """The worlds of a part of a survey."""

    worlds: list[Surveyed]


class Used(Record, frozen=True, tag="used"):
    """The functions that the rules of designs consist of."""

    rules: dict[str, list[str]]


Message = Begun | Unimportable | Ended | Toured | Used
Work = Callable[[Connection], None]
"""What a child does; it sends its messages to its parent."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Message).decode


class Child:
    """A forked process under way, and the last run that it has begun."""

    def __init__(self, work: Work, cpu_s: float | None) -> None:
        self.receiver, sender = Pipe(duplex=False)
        self.number: int | None = None
        self._lifeline = Lifeline()
        self._pid = fork()
        if not self._pid:
            _serve(sender, self._lifeline, work, cpu_s)
        self._lifeline.in_parent()
        sender.close()

    def message(self) -> Message | str:
        """The next message but for runs that begin; a phrase for its death if it died."""
        while True:
            try:
                message: Message = _decode(self.receiver.recv_bytes())
            except EOFError:
                return death(self._reaped())
            if not isinstance(message, Begun):
                self._reaped()
                return message
            self.number = message.number
            if not self.receiver.poll():
                return ""

    def kill(self) -> None:
        """End it at once."""
        os.kill(self._pid, 9)
        self._reaped()

    def _reaped(self) -> int:
        self.receiver.close()
        self._lifeline.close()
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _serve(sender: Connection, lifeline: Lifeline, work: Work, cpu_s: float | None) -> NoReturn:
    """Do the work in the child; never returns and skips the parent's exit handlers."""
    code = 1
    try:
        lifeline.in_child()
        gc.freeze()
        collect_seldom()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if cpu_s is not None:
            most = int(cpu_s) + LAST_RESORT_S
            resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        work(sender)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


# --- what children do ----------------------------------------------------------------------------


def trial_of(mutant: Mutant | None, course: Course, first: int, budget: Budget) -> Work:
    """The search from a course's world of a number on, with a mutant or without."""

    def work(sender: Connection) -> None:
        reached = Reached() if mutant is None else install(mutant)
        try:
            from ddlsim.mutation.search import Search
            from ddlsim.strategies.base import DESIGNS

            for design in dict.fromkeys((*course.designs, course.at(first).design)):
                DESIGNS.get(design)
            search = Search(budget.run_cpu_s, budget.run_events)
        except Exception as error:
            text = f"{type(error).__name__}: {error}".partition("\n")[0]
            sender.send_bytes(_encode(Unimportable(text)))
            return
        runs = _Runs(sender, reached)
        began_s = time.process_time()

        def over(done: int) -> bool:
            late = budget.cpu_s is not None and time.process_time() - began_s >= budget.cpu_s
            return late or done == budget.seeds

        searched = search.first_conviction(course, first, over, runs.begin)
        runs.end()
        cpu_s = round(time.process_time() - began_s, 3)
        sender.send_bytes(_encode(Ended(searched, runs.reached, cpu_s)))

    return work


def tour_of(design: str, seeds: Sequence[int]) -> Work:
    """The survey of some worlds of a design; those that do not end as they should are left out."""

    def work(sender: Connection) -> None:
        counts = install_counts()
        from ddlsim.mutation.search import Search, digest
        from ddlsim.strategies.base import DESIGNS

        DESIGNS.get(design)
        search = Search(Budget().run_cpu_s, TOUR_EVENTS)
        found: list[Surveyed] = []
        for seed in seeds:
            counts[:] = bytes(len(counts))
            history = search.ran_in_time(World(design, seed))
            if history is not None:
                world, events = World(design, seed, digest(history)), history.executed_events
                found.append(Surveyed(world, max(events, 1), packed(counts)))
        sender.send_bytes(_encode(Toured(found)))

    return work


class _Runs:
    """Sends each run that begins, and counts those that execute the changed statement."""

    def __init__(self, sender: Connection, reached: Reached) -> None:
        self._sender = sender
        self._statement = reached
        self._before = reached.times
        self.reached = 0

    def begin(self, number: int) -> None:
        self.end()
        self._sender.send_bytes(_encode(Begun(number)))

    def end(self) -> None:
        self.reached += self._statement.times > self._before
        self._before = self._statement.times


def rules_of(designs: Sequence[str]) -> Work:
    """The rules of designs."""

    def work(sender: Connection) -> None:
        from ddlsim.mutation import search

        sender.send_bytes(_encode(Used(search.rules_used(designs))))

    return work


def lost(course: Course, number: int, how: str) -> Conviction:
    """The conviction of a run at which the process died."""
    world = course.at(number)
    return Conviction(world.design, world.seed, "crash", how, "")
