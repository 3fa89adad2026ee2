"""What the verbs share that take a scope where they take a scenario."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.outcome import Outcome
from ddlsim.cli import repeat
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.scenario.load import load
from ddlsim.scenario.overrides import read_setting
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import Scenario
from ddlsim.scenario.shipped import place_of
from ddlsim.spec.base import BASELINE, SCOPES, Setup, set_up
from ddlsim.spec.visited import Decision


def is_scope(name: str | None) -> bool:
    """Whether a word names a scope, not a scenario."""
    return name is not None and name in SCOPES


def near(name: str) -> str | None:
    """The scope that a name may stand for that is neither a file's nor a scenario's."""
    if name.endswith(".toml") or Path(name).exists() or place_of(name) is not None:
        return None
    return next(iter(get_close_matches(name.casefold(), SCOPES, 1)), None)


def scenario_of(verb: str, options: Options) -> Scenario:
    """The scenario that a command names; a name like that of a scope is answered with the scope."""
    try:
        return load(options.scenario, repeat.settings(options), outside=options.allow_outside)
    except ScenarioError:
        scope = near(options.scenario)
        if scope is None:
            raise
        what = "neither a file nor a shipped scenario; did you mean"
        raise InputError(f"{verb} {options.scenario}: {what} {scope}, a scope?") from None


def refuse(verb: str, options: Options, flags: Sequence[str], why: str) -> None:
    """Raise `InputError` for the first of some flags that was given; `why` it makes no sense."""
    for flag in flags:
        value = getattr(options, flag)
        if not (value is None or value is False or value == ()):
            raise InputError(f"{verb}: --{flag.replace('_', '-')} {why}")


def setup_of(verb: str, options: Options, of_scenarios: Sequence[str]) -> Setup:
    """The scope that a command names, as its flags set it up; flags of scenarios are refused."""
    name = options.scenario
    where = f"ddlsim list scopes {name} --output json"
    why = f"is for scenarios, and {name} is a scope; its constants and rules: {where}"
    refuse(verb, options, of_scenarios, why)
    setup = set_up(
        SCOPES.get(name),
        BASELINE if options.strategy is None else options.strategy,
        getattr(options, "mutant", None),
        settings_of(options),
    )
    for invariant in setup.scope.invariants:
        checker_of(verb, invariant)
    return setup


def settings_of(options: Options) -> Mapping[str, object]:
    """What --set says, by constant or rule."""
    return dict(read_setting(text) for text in options.set)


def checker_of(verb: str, invariant: str) -> str:
    """The name of the checker that judges an invariant of runs; `InputError` where none does."""
    for name, one in CHECKERS.items():
        if one.invariant == invariant:
            return name
    known = "those are listed by ddlsim list checkers"
    raise InputError(f"{verb}: no checker judges the scope's invariant {invariant}; {known}")


def outcome_of(decisions: Collection[Decision]) -> Outcome:
    """Violated; unknown where something is not decided, vacuous where it is not tested; ok."""
    if "violated" in decisions:
        return Outcome.VIOLATED
    if "not decided" in decisions:
        return Outcome.UNKNOWN
    return Outcome.VACUOUS if "not tested" in decisions else Outcome.OK
