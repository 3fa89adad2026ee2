"""A crash as what a run shows: known by the kind of its first error and where that was raised.

The engine says which task has failed, by an error whose cause is the one of the task: it would be
of one kind and from one place whatever is broken.
"""

import re
import traceback
from collections.abc import Callable
from typing import Final

from ddlsim.checkers.judge import Verdict, Violation
from ddlsim.checkers.outcome import Outcome
from ddlsim.checkers.signature import CRASH
from ddlsim.cluster.run import Run
from ddlsim.garbage import collect_young
from ddlsim.history.history import History
from ddlsim.kernel.engine import FOREVER, SimulationCrashed
from ddlsim.plan.records import Plan
from ddlsim.problems import BadInputError

TIMES_EVENTS: Final = 3
MORE_EVENTS: Final = 50_000
"""A run that is varied may take so many times the events that it took, and so many more."""
NUMBER: Final = re.compile(r"\d+")


def crash_of(error: BaseException) -> Violation:
    """What a run shows that has raised; its only part is the file and the function that raised."""
    first = first_of(error)
    what = str(error).partition("\n")[0]
    return Violation(
        invariant="",
        checker=CRASH,
        kind=type(first).__name__,
        severity="safety",
        status=CRASH,
        strict_only=False,
        summary=what,
        clauses=(_place(first),),
    )


def first_of(error: BaseException) -> BaseException:
    """The error that the others were raised for."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _place(error: BaseException) -> str:
    """The file and the function that raised; of a run that the engine ended, why it did."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "no place"
    file = frames[-1].filename.replace("\\", "/").rpartition("/")[2]
    if isinstance(error, SimulationCrashed):
        return f"{file}, {NUMBER.sub('N', str(error).partition(',')[0])}"
    return f"{file} {frames[-1].name}"


def most_events(of: History, more: int = MORE_EVENTS) -> int:
    """The events that a variation of a run may take: without latency nodes may answer for ever."""
    return TIMES_EVENTS * of.executed_events + more


def ran(planned: Plan, events_max: int = FOREVER) -> tuple[History, BaseException | None]:
    """The history of a run, as far as that came, and what it raised.

    Raises `BadInputError` for a plan that is none.
    """
    under_way = Run(planned, events_max=events_max)
    history = under_way.history
    try:
        under_way.carry_out()
    except BadInputError:
        raise
    except (Exception, SystemExit) as error:
        history.end_us, history.executed_events = under_way.loop.now_us, under_way.loop.events
        return history, error
    del under_way
    collect_young()
    return history, None


def ran_and_judged(
    planned: Plan, judging: Callable[[History], Verdict], events_max: int = FOREVER
) -> tuple[History, Verdict]:
    """The history of a run and the verdict on it; where one of them raised, it shows a crash."""
    history, error = ran(planned, events_max)
    if error is None:
        try:
            return history, judging(history)
        except BadInputError:
            raise
        except (Exception, SystemExit) as raised:
            error = raised
    return history, Verdict(Outcome.CRASHED, (crash_of(error),), {}, (), (), {})
