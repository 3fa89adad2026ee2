"""`ddlsim explore SCOPE`: every state of an abstract machine of the documents, within bounds."""

import shlex
import time
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.outcome import Outcome
from ddlsim.cli import streams
from ddlsim.cli.documents import documents, shapes_explore
from ddlsim.cli.exit_codes import NOT_DECIDED
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.cli.signals import code_of
from ddlsim.cli.views import words
from ddlsim.cli.views.progress import Meter
from ddlsim.cli.views.words import counted
from ddlsim.files import no_file
from ddlsim.history.history import FORMAT
from ddlsim.scenario.overrides import read_setting
from ddlsim.scenario.shipped import place_of
from ddlsim.spec import tla
from ddlsim.spec.base import DOCUMENTS, SCOPES, Machine, Setup, set_up
from ddlsim.spec.exhaust import Exhaustion, Explored, Found

Decision = Literal["holds", "violated", "not decided"]
OF_SCENARIOS: Final = (
    "late", "fate", "kind", "seed", "strict", "all_claims", "out", "jobs", "allow_outside",
)  # fmt: skip
"""Flags that mean nothing for a scope."""


def is_scope(name: str) -> bool:
    """Whether a word names a scope, not a scenario."""
    return name in SCOPES


def near(name: str) -> str | None:
    """The scope that a name may stand for that is neither a file's nor a scenario's."""
    if name.endswith(".toml") or Path(name).exists() or place_of(name) is not None:
        return None
    return next(iter(get_close_matches(name.casefold(), SCOPES, 1)), None)


def execute(options: Options) -> int:
    """Explore, print what holds and what does not; the exit code."""
    setup = _set_up(options)
    files = _written(setup, options.tla)
    machine = setup.machine()
    until_broken = len(setup.scope.invariants) if options.keep_going else 1
    search = Exhaustion(machine, depth=options.depth, until_broken=until_broken)
    explored, interrupt = _explored(options, search)
    whole = document(options, setup, explored, machine, files)
    if options.output == "json":
        streams.write(documents.text(whole))
    else:
        show(whole)
    if interrupt is not None:
        return code_of(interrupt)
    came = outcome(explored)
    return NOT_DECIDED if came is Outcome.UNKNOWN else came.exit_code


def outcome(explored: Explored) -> Outcome:
    """Violated, ok, or unknown where states are left."""
    if explored.found:
        return Outcome.VIOLATED
    return Outcome.OK if explored.ended in {"exhausted", "depth"} else Outcome.UNKNOWN


def _set_up(options: Options) -> Setup:
    name = options.scenario
    for flag in OF_SCENARIOS:
        value = getattr(options, flag)
        if not (value is None or value is False or value == ()):
            what = f"--{flag.replace('_', '-')} is for scenarios, and {name} is a scope"
            raise InputError(f"explore: {what}; its constants and rules: ddlsim list scopes {name}")
    settings = dict(read_setting(text) for text in options.set)
    return set_up(SCOPES.get(name), options.strategy or DOCUMENTS, options.mutant, settings)


def _written(setup: Setup, folder: str | None) -> tuple[Path, ...]:
    """The TLA+ module and its configuration, if they are asked for."""
    if folder is None:
        return ()
    no_file("--tla", folder)
    return tla.write(setup, Path(folder))


# --- the search -----------------------------------------------------------------------------------


def _explored(options: Options, search: Exhaustion) -> tuple[Explored, KeyboardInterrupt | None]:
    until = None if options.time is None else time.monotonic() + options.time
    try:
        with StatesMeter(search) as meter:

            def is_over() -> bool:
                meter.watch()
                return until is not None and time.monotonic() >= until

            return search.run(is_over), None
    except KeyboardInterrupt as interrupt:
        return search.result("interrupted"), interrupt


class StatesMeter(Meter):
    """Shows how many states there are so far; how many there will be is not known."""

    def __init__(self, search: Exhaustion) -> None:
        super().__init__(float("inf"))
        self._search = search

    def watch(self) -> None:
        """Some more are done."""
        self.show(self._search.states, f"{self._search.states / self.elapsed_s:,.0f} per second")

    def status(self) -> str:
        """How far it is, in words."""
        return self.counts

    @property
    def counts(self) -> str:
        """The states so far, and how deep they are."""
        search = self._search
        return f"{search.states:,} states, {counted(search.actions, 'action')} deep"


# --- the document ---------------------------------------------------------------------------------


def document(
    options: Options,
    setup: Setup,
    explored: Explored,
    machine: Machine[Any],
    files: tuple[Path, ...],
) -> shapes_explore.ExploreScope:
    """The document of `--output json`."""
    return {
        "format": FORMAT,
        "scope": setup.scope.name,
        "title": setup.scope.title,
        "strategy": setup.design,
        "mutant": setup.mutant,
        "constants": setup.constants,
        "rules": setup.rules,
        "outcome": outcome(explored).word,
        "ended": explored.ended,
        "states": explored.states,
        "generated": explored.generated,
        "depth": explored.depth,
        "invariants": _decisions(setup, explored),
        "found": [_found(machine, found) for found in explored.found],
        "tla": [file.as_posix() for file in files],
        "command": _command(options),
    }


def _decisions(setup: Setup, explored: Explored) -> dict[str, Decision]:
    violated = {found.invariant for found in explored.found}
    rest: Decision = "holds" if explored.ended in {"exhausted", "depth"} else "not decided"
    return {one: "violated" if one in violated else rest for one in setup.scope.invariants}


def _found(machine: Machine[Any], found: Found) -> shapes_explore.ScopeFound:
    last = found.steps[-1].state if found.steps else found.first
    return {
        "invariant": found.invariant,
        "checker": checker_of(found.invariant),
        "summary": machine.why(found.invariant, last),
        "states": found.states,
        "steps": list(_steps(machine, found)),
    }


def _steps(machine: Machine[Any], found: Found) -> Iterator[shapes_explore.ScopeStep]:
    before = found.first
    for step in found.steps:
        sentence = machine.words(step.label, before, step.state)
        yield {
            "action": str(step.label[0]),
            "sentence": sentence,
            "state": machine.shown(step.state),
        }
        before = step.state


def checker_of(invariant: str) -> str:
    """The name of the checker that judges an invariant of runs."""
    return next(name for name, one in CHECKERS.items() if one.invariant == invariant)


def _command(options: Options) -> str:
    """The command that explores again."""
    said = ["ddlsim", "explore", options.scenario]
    for flag in ("strategy", "mutant", "depth", "tla"):
        if getattr(options, flag) is not None:
            said += [f"--{flag}", str(getattr(options, flag))]
    said += [word for value in options.set for word in ("--set", value)]
    said += ["--keep-going"] * options.keep_going
    said += [word for file in options.load for word in ("--load", file)]
    return shlex.join(said)


# --- for people -----------------------------------------------------------------------------------


def show(whole: shapes_explore.ExploreScope) -> None:
    """The same for people."""
    to = words.console()
    design = whole["strategy"] + (f", mutant {whole['mutant']}" if whole["mutant"] else "")
    result = next(one for one in Outcome if one.word == whole["outcome"])
    words.verdict(result, f"{whole['scope']}, {design}", to)
    states = f"{whole['states']:,} states, {whole['generated']:,} generated"
    words.labelled("explored", f"{states}, depth {whole['depth']}; {ENDS[whole['ended']]}", to)
    words.labelled("constants", _settings(whole["constants"]), to)
    for label, text in _other_rules(whole["scope"], whole["rules"]):
        words.labelled(label, text, to)
    for decision in ("holds", "violated", "not decided"):
        of = [one for one, is_so in whole["invariants"].items() if is_so == decision]
        if of:
            named = ", ".join(f"{one} {checker_of(one)}" for one in of)
            words.labelled(decision, named, to)
    for found in whole["found"]:
        words.say(f"{found['invariant']} {found['checker']}", to, "bold")
        words.labelled("summary", found["summary"], to)
        for number, step in enumerate(found["steps"], 1):
            words.labelled(f"step {number}", step["sentence"], to)
    if whole["tla"]:
        words.labelled("TLA+", ", ".join(whole["tla"]), to)
    words.command(whole["command"], to)


def _settings(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _other_rules(scope: str, chosen: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The rules that are not the document's, each with what it says; or that all of them are."""
    others = [one for one in SCOPES.get(scope).rules if chosen[one.name] != one.default]
    for one in others:
        choice = chosen[one.name]
        yield "rule", f"{one.name} = {choice}: {one.choices[choice]} [{one.clause}]"
    if not others:
        yield "rules", f"the documents' (ddlsim list scopes {scope} --output json)"


ENDS: Final = {
    "exhausted": "there are no others",
    "violation": "ended by what it found",
    "depth": "there are others behind --depth",
    "time": "ended by --time, with states left",
    "states": "ended by its memory, with states left; give smaller constants",
    "interrupted": "ended by an interrupt, with states left",
}
"""What ended it, in words."""
