"""One candidate, run and judged: whether it fails as the run that is being shrunk did."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import field

from ddlsim.checkers.judge import Verdict, Violation, judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.checkers.signature import CRASH, Signature, is_of, signature_of
from ddlsim.history.events import Failed, Invoked, Ok, Unknown
from ddlsim.history.history import History
from ddlsim.kernel.engine import FOREVER
from ddlsim.model.records import Record
from ddlsim.plan.plan import plan
from ddlsim.problems import BadInputError
from ddlsim.scenario import findings
from ddlsim.scenario.scenario import Scenario, read
from ddlsim.scenario.tomltext import toml_text
from ddlsim.search.crash import ran_and_judged
from ddlsim.shrink.data import Data
from ddlsim.shrink.size import Size, size_of

NAME: Final = "shrunk"
ACCEPTED: Final = "accepted"


class Target(Record, frozen=True):
    """What every candidate must show: a violation of this signature and status, this outcome.

    `in_turn`: no client had two operations open at a time, so none may have.
    """

    signature: Signature
    status: str
    outcome: Outcome
    in_turn: bool


class Failure(Record, frozen=True):
    """A failing run: its scenario as data, its seed, and the files that the scenario names.

    A candidate whose run takes more than `events_max` events does not fail as this one did: without
    latency nodes may answer each other for ever at one instant. `models`: a part of a node differed
    from its model in the run that is shrunk, so candidates are compared with models as well.
    """

    name: str
    data: Data
    seed: int
    files: dict[str, Any] = field(default_factory=dict)
    events_max: int = FOREVER
    models: bool = False


class Shown:
    """A scenario that fails as it should: its data and size, its run, and the violation."""

    def __init__(self, data: Data, history: History, verdict: Verdict, target: Target) -> None:
        self.data = data
        self.history = history
        self.verdict = verdict
        self.size: Size = size_of(data)
        self.violation = next(
            one for one in verdict.violations if is_of(one, target.signature, target.status)
        )

    @property
    def ends_us(self) -> int:
        """When the last event came that shows the violation; of a crash, when the run ended."""
        if self.violation.status == CRASH:
            return self.history.end_us
        return max((event.at_us for event in self.violation.witness), default=0)


def scenario_of(failure: Failure, data: Data) -> Scenario:
    """The scenario of some data; raises `ScenarioError` where it is none."""
    return read(toml_text(data), NAME, overrides=failure.files)


def judged(failure: Failure, data: Data) -> tuple[History, Verdict] | None:
    """Run and judge some data under the failure's seed; None where it is no scenario."""
    try:
        planned = plan(scenario_of(failure, data), failure.seed, models=failure.models)
    except BadInputError:
        return None
    return ran_and_judged(
        planned, lambda history: judge(history, findings=findings.known()), failure.events_max
    )


def shown(failure: Failure, data: Data, target: Target) -> Shown | None:
    """The run of some data if it fails as the target says; None if not, or if it cannot be run."""
    try:
        found = judged(failure, data)
    except (Exception, SystemExit):  # a candidate may well break the simulated code
        return None
    if found is None:
        return None
    history, verdict = found
    if verdict.outcome is not target.outcome:
        return None
    if not any(is_of(one, target.signature, target.status) for one in verdict.violations):
        return None
    if target.in_turn and not in_turn(history):
        return None
    return Shown(data, history, verdict, target)


def in_turn(history: History) -> bool:
    """Whether each client had at most one operation open at a time."""
    open_ops: dict[str, str] = {}
    for event in history.events:
        match event:
            case Invoked():
                if event.client in open_ops:
                    return False
                open_ops[event.client] = event.op
            case Ok() | Failed() | Unknown():
                open_ops.pop(event.client, None)
    return True


def target_of(history: History, verdict: Verdict, expect: Iterable[str] = ()) -> Target | None:
    """The gravest violation of a run as a target, of equally grave ones the simplest.

    What `expect` names goes before anything else. None where nothing is broken and nothing a
    finding.
    """
    wanted = set(expect)

    def rank(one: Violation) -> tuple[bool, bool, int, bool, int]:
        names = names_of(one)
        is_it, is_named = names[0] in wanted, not wanted.isdisjoint(names)
        return (not is_it, not is_named, _gravity(one.status), not one.steps, len(one.steps))

    counted = [one for one in verdict.violations if _gravity(one.status) < len(GRAVE)]
    if not counted:
        return None
    first = min(counted, key=rank)
    return Target(signature_of(first), first.status, verdict.outcome, in_turn(history))


def names_of(violation: Violation) -> tuple[str, ...]:
    """What names a violation: its signature, the id of that, its status, checker and invariant."""
    signature = signature_of(violation)
    status, judge = violation.status, (violation.checker, violation.invariant)
    return signature.text, signature.id, status, *judge


GRAVE: Final = (CRASH, "violation", "stuck", "finding")
"""The statuses that a run is shrunk for, the gravest first."""


def _gravity(status: str) -> int:
    kind = status.partition(":")[0]
    return GRAVE.index(kind) if kind in GRAVE else len(GRAVE)
