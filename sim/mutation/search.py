"""The search that mutants are tried under, and what counts as a conviction.

It imports the protocol: only the process of one trial may import this module.
"""

import re
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Final, NoReturn

from ddlsim.checkers.judge import Verdict, judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.mutation.areas import STRICT
from ddlsim.mutation.course import Course
from ddlsim.mutation.records import By, Conviction, Searched, World
from ddlsim.mutation.source import ROOT
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.scenario import findings
from ddlsim.strategies.base import DESIGNS
from ddlsim.verify.campaign import BAD_INPUT

TOO_MANY: Final = re.compile(r"\w+: more than \d+ events")
"""The text of the error of a run with too many events."""
LENGTH: Final = 100
"""How much is kept of why a world cannot be read."""


class EndlessError(BaseException):
    """A run takes too much CPU time; no handler of the protocol may catch it."""


class Search:
    """Runs worlds one after the other; a replaceable part: what finds a conviction.

    A run that takes more CPU time or more events than given here is convicted of being endless.
    """

    def __init__(self, run_cpu_s: float, run_events: int) -> None:
        self._run_cpu_s = run_cpu_s
        self._findings = findings.known()
        self._run_events = run_events

    def first_conviction(
        self,
        course: Course,
        first: int,
        over: Callable[[int], bool],
        begun: Callable[[int], object],
    ) -> Searched:
        """Search from a course's world of this number on, until one is convicted or `over(runs)`.

        `begun` is called with the number of each world.
        """
        runs = same = 0
        while not over(runs):
            begun(first + runs)
            found = self.conviction(course.at(first + runs))
            runs += 1
            if isinstance(found, Conviction):
                return Searched(runs, same, found)
            same += found
        return Searched(runs, same, None)

    def conviction(self, world: World) -> Conviction | bool:
        """Run and judge a world: its conviction; or whether it ran as without a mutant.

        One that ran as before is not judged again. A world that cannot be read is not convicted,
        unless it ran without a mutant: then its first schema is refused.
        """
        design, seed = world.design, world.seed
        try:
            with _timed(self._run_cpu_s):
                history = self.ran(world)
                if world.run and world.run == digest(history):
                    return True
                strict = design in STRICT
                verdict = judge(history, strict=strict, findings=self._findings)
        except BAD_INPUT as error:
            return world.run != "" and _unread(design, seed, error)
        except EndlessError:
            return Conviction(design, seed, "endless", "too much CPU time", "")
        except Exception as error:
            return _crash(design, seed, error)
        return conviction_of(design, seed, verdict) or False

    def ran_in_time(self, world: World) -> History | None:
        """The history of a world; None where it takes too long, cannot be read or crashes."""
        try:
            with _timed(self._run_cpu_s):
                return self.ran(world)
        except (Exception, EndlessError):
            return None

    def ran(self, world: World) -> History:
        """The history of a world."""
        source = swarm.source_of(None, {"strategy.name": world.design})
        scenario = swarm.scenario(source, world.seed)
        return run(plan(scenario, world.seed, models=True), events_max=self._run_events)


def digest(history: History) -> str:
    """What differs as soon as any event of two runs does."""
    counts = f"{history.executed_events} {len(history.events)} {history.end_us}"
    return f"{counts} {history.fingerprint()}"


def conviction_of(design: str, seed: int, verdict: Verdict) -> Conviction | None:
    """The conviction of a judged run; None where it is none."""
    if verdict.outcome is Outcome.VIOLATED:
        first = next(one for one in verdict.violations if one.status == "violation")
        return Conviction(
            design, seed, "violation", f"{first.invariant} {first.checker}", first.kind
        )
    if verdict.outcome is Outcome.STUCK:
        what = [event.waits_for for event in verdict.stuck]
        what += [one.kind for one in verdict.violations if one.status == "stuck"]
        return Conviction(design, seed, "stuck", "stuck", what[0])
    return None


def _unread(design: str, seed: int, error: Exception) -> Conviction:
    return Conviction(design, seed, "crash", "the world cannot be read", f"{error}"[:LENGTH])


def _crash(design: str, seed: int, error: Exception) -> Conviction:
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    frames = [one for one in traceback.extract_tb(cause.__traceback__) if _is_ours(one.filename)]
    where = f"{Path(frames[-1].filename).stem}.{frames[-1].name}" if frames else ""
    text = f"{type(cause).__name__}: {cause}".partition("\n")[0]
    by: By = "assertion" if isinstance(cause, AssertionError) else "crash"
    if TOO_MANY.match(text):
        by, text = "endless", "too many events"
    return Conviction(design, seed, by, text, where)


def _is_ours(file: str) -> bool:
    return Path(file).resolve().is_relative_to(ROOT)


@contextmanager
def _timed(cpu_s: float) -> Iterator[None]:
    """Raise `EndlessError` once the block has taken this much CPU time."""

    def late(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise EndlessError

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


# --- which rules the baselines have ---------------------------------------------------------------


def rules_used(designs: Sequence[str]) -> dict[str, list[str]]:
    """The functions that each design's rules consist of, as `file:function`."""
    return {name: sorted(_parts(designs_rules(name))) for name in designs}


def designs_rules(name: str) -> list[FunctionType]:
    """The rules of a design that are functions."""
    design = DESIGNS.get(name)
    values = [getattr(design, field.name) for field in fields(design) if field.name != "header"]
    rules = [one for value in values for one in (value if isinstance(value, tuple) else (value,))]
    return [rule for rule in rules if isinstance(rule, FunctionType)]


def _parts(rules: list[FunctionType]) -> set[str]:
    found: dict[FunctionType, None] = dict.fromkeys(rules)
    left = list(rules)
    while left:
        rule = left.pop()
        for name in _names(rule.__code__):
            one = rule.__globals__.get(name)
            if isinstance(one, FunctionType) and one not in found:
                found[one] = None
                left.append(one)
    return {_place(rule) for rule in found if _is_ours(rule.__code__.co_filename)}


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)


def _place(rule: FunctionType) -> str:
    file = Path(rule.__code__.co_filename).resolve().relative_to(ROOT).as_posix()
    return f"{file}:{rule.__qualname__}"
