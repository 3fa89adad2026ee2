"""A failing run as the beginning of shrinking: what it violates, and its scenario as data."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ddlsim.checkers.judge import FINDING, Verdict, judge
from ddlsim.checkers.signature import CRASH, signature_of
from ddlsim.history.history import Header, History
from ddlsim.history.world_events import PartDiverged
from ddlsim.plan.plan import plan
from ddlsim.problems import BadInputError
from ddlsim.scenario import findings
from ddlsim.scenario.expect import judges_expected
from ddlsim.scenario.overrides import EMBEDDED
from ddlsim.scenario.scenario import NO_MUTANT, Scenario, override, read
from ddlsim.search.crash import most_events, ran_and_judged
from ddlsim.shrink.data import Data
from ddlsim.shrink.script import scripted, settled
from ddlsim.shrink.shrink import Budget, Shrinking
from ddlsim.shrink.trial import GRAVE, Failure, Target, names_of, shown, target_of

WITHOUT_MUTANT: Final = {"strategy.mutant": NO_MUTANT}


class NothingToShrinkError(BadInputError):
    """Raised for a run that violates nothing, and for one that cannot be repeated."""


def of_header(header: Header) -> tuple[Scenario, int]:
    """The scenario and the seed of a stored history; raises `ScenarioError` if it is none."""
    scenario = read(header.scenario_text, header.scenario, overrides=header.overrides)
    return scenario, header.seed


def begun(
    scenario: Scenario,
    seed: int,
    budget: Budget,
    *,
    strict: bool = False,
    all_claims: bool = False,
    violation: str | None = None,
    clock: Callable[[], float] = time.process_time,
) -> Shrinking:
    """Shrinking of a run before its first pass, for the violation that is named, if one is.

    Its first scenario is a scripted one that does the same, or, where that does not show the
    violation, the scenario itself. Raises `NothingToShrinkError`.
    """
    extra = {key: True for key, on in (("strict", strict), ("all_claims", all_claims)) if on}

    def judging(one: History) -> Verdict:
        return judge(one, strict=strict, all_claims=all_claims, findings=findings.known())

    history, verdict = ran_and_judged(plan(scenario, seed, models=True), judging)
    target = _target(scenario, history, verdict, violation, judging)
    events_max = most_events(history)
    models = target.status == CRASH or bool(history.of(PartDiverged))
    files = {key: value for key, value in scenario.overrides.items() if key.startswith(EMBEDDED)}
    for written in (True, False):
        data: Data = {**(scripted(scenario, seed) if written else settled(scenario)), **extra}
        for one in (target, replace(target, in_turn=False)):
            failure = Failure(scenario.name, data, seed, files, events_max, models)
            first = shown(failure, data, one)
            if first is not None:
                return Shrinking(failure, first, one, budget, clock)
    what = f"{target.signature.text} is not shown by the same scenario without its own head"
    raise NothingToShrinkError(f"{scenario.name}, seed {seed}: {what}")


def _target(
    scenario: Scenario,
    history: History,
    verdict: Verdict,
    named: str | None,
    judging: Callable[[History], Verdict],
) -> Target:
    """The violation that the run is shrunk for: the one named, what the scenario expects, else the
    gravest.

    Of a mutant's run it is one that the design without the mutant does not show, if there is any.
    """
    if named is not None:
        verdict = _only(verdict, named, f"{scenario.name}, seed {history.header.seed}")
    own = verdict
    if scenario.mutant is not None:
        without = plan(override(scenario, WITHOUT_MUTANT), history.header.seed)
        own = beyond(verdict, ran_and_judged(without, judging)[1])
    expected = _expected(scenario.expect)
    target = target_of(history, own, expected) or target_of(history, verdict, expected)
    if target is None:
        what = f"it is {verdict.outcome.word}, and nothing is violated; name a run that fails"
        raise NothingToShrinkError(f"{scenario.name}, seed {history.header.seed}: {what}")
    return target


def beyond(verdict: Verdict, control: Verdict) -> Verdict:
    """A verdict without the violations whose signature a control run is convicted of as well."""
    shared = {signature_of(one) for one in control.violations if one.status in GRAVE}
    left = [one for one in verdict.violations if signature_of(one) not in shared]
    return replace(verdict, violations=tuple(left))


def _only(verdict: Verdict, name: str, run_name: str) -> Verdict:
    """A verdict with what a name means alone: a signature or its id, a judge, a finding."""
    names = {name, f"{FINDING}{name}"}
    left = tuple(one for one in verdict.violations if not names.isdisjoint(names_of(one)))
    if not left:
        shown = "; ".join(dict.fromkeys(names_of(one)[0] for one in verdict.violations))
        what = f"nothing that it shows is called {name!r}; it shows: {shown or 'nothing'}"
        raise NothingToShrinkError(f"{run_name}: {what}")
    return replace(verdict, violations=left)


def _expected(expect: Any) -> Sequence[str]:
    """What a scenario expects, as violations name it: a signature, judges, a finding's status."""
    if not isinstance(expect, dict):
        return judges_expected(expect)
    judges = (f"{FINDING}{expect['finding']}",) if "finding" in expect else judges_expected(expect)
    return (*judges, expect["signature"]) if "signature" in expect else judges
