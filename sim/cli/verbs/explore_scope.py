"""`ddlsim explore SCOPE`: every state of an abstract machine of the documents, within bounds."""

import shlex
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli import streams
from ddlsim.cli.documents import documents, shapes_explore
from ddlsim.cli.exit_codes import NOT_DECIDED
from ddlsim.cli.options import Options
from ddlsim.cli.signals import code_of
from ddlsim.cli.verbs import scoped
from ddlsim.cli.views import words
from ddlsim.cli.views.progress import Meter
from ddlsim.escape import counted
from ddlsim.files import no_file
from ddlsim.history.history import FORMAT
from ddlsim.spec import tla
from ddlsim.spec.base import BASELINE, SCOPES, Machine, Setup
from ddlsim.spec.exhaust import STATES_MOST, Found
from ddlsim.spec.visited import Decision, Visited

VERB: Final = "explore"
OF_SCENARIOS: Final = (
    "late", "fate", "kind", "seed", "strict", "all_claims", "out", "jobs", "allow_outside",
)  # fmt: skip
"""Flags that mean nothing for a scope."""


def execute(options: Options) -> int:
    """Explore, print what holds and what does not; the exit code."""
    setup = scoped.setup_of(VERB, options, OF_SCENARIOS)
    files = _written(setup, options.tla)
    visited = Visited(
        setup, depth=options.depth, keep_going=options.keep_going, states_most=STATES_MOST
    )
    interrupt = _visit(visited, options)
    whole = document(options, setup, visited, files)
    if options.output == "json":
        streams.write(documents.text(whole))
    else:
        show(whole)
    if interrupt is not None:
        return code_of(interrupt)
    came = Outcome.called(whole["outcome"])
    return NOT_DECIDED if came is Outcome.UNKNOWN else came.exit_code


def _written(setup: Setup, folder: str | None) -> tuple[Path, ...]:
    """The TLA+ module and its configuration, if they are asked for."""
    if folder is None:
        return ()
    no_file("--tla", folder)
    return tla.write(setup, Path(folder))


# --- the search -----------------------------------------------------------------------------------


def _visit(visited: Visited, options: Options) -> KeyboardInterrupt | None:
    """Visit all within --time, and show how far it is; the interrupt that ended it, if one did."""
    until = None if options.time is None else time.monotonic() + options.time
    with StatesMeter(visited) as meter:

        def is_over() -> bool:
            meter.watch()
            return until is not None and time.monotonic() >= until

        return visited.run(is_over)


class StatesMeter(Meter):
    """Shows how many states there are so far; how many there will be is not known."""

    def __init__(self, visited: Visited) -> None:
        super().__init__(float("inf"))
        self._visited = visited

    def watch(self) -> None:
        """Some more are done."""
        before = sum(visit.states for visit in self._visited.visits)
        states = before + self._visited.search.states
        self.show(states, f"{states / self.elapsed_s:,.0f} per second")

    def status(self) -> str:
        """How far it is, in words."""
        return self.counts

    @property
    def counts(self) -> str:
        """The states so far, and how deep they are."""
        search = self._visited.search
        return f"{search.states:,} states, {counted(search.actions, 'action')} deep"


# --- the document ---------------------------------------------------------------------------------


def document(
    options: Options, setup: Setup, visited: Visited, files: tuple[Path, ...]
) -> shapes_explore.ExploreScope:
    """The document of `--output json`."""
    machine, largest = setup.machine(), visited.largest
    decided = {one: visited.decision(one) for one in setup.scope.invariants}
    return {
        "format": FORMAT,
        "scope": setup.scope.name,
        "title": setup.scope.title,
        "strategy": setup.design,
        "mutant": setup.mutant,
        "constants": setup.constants,
        "rules": setup.rules,
        "outcome": scoped.outcome_of(decided.values()).word,
        "ended": visited.ended,
        "states": largest.states,
        "generated": largest.generated,
        "depth": largest.depth,
        "invariants": decided,
        "found": [_found(machine, found) for found in visited.found.values()],
        "tla": [file.as_posix() for file in files],
        "command": _command(options),
    }


def _found(machine: Machine[Any], found: Found) -> shapes_explore.ScopeFound:
    last = found.steps[-1].state if found.steps else found.first
    return {
        "invariant": found.invariant,
        "checker": scoped.checker_of(VERB, found.invariant),
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
    design = words.design(whole["strategy"], whole["mutant"])
    words.verdict(Outcome.called(whole["outcome"]), f"{whole['scope']}, {design}", to)
    states = f"{whole['states']:,} states, {whole['generated']:,} generated"
    deep = f"depth {whole['depth']} ({counted(whole['depth'] - 1, 'action')})"
    words.labelled("explored", f"{states}, {deep}; {ENDS[whole['ended']]}", to)
    words.labelled("constants", settings(whole["constants"]), to)
    for label, text in other_rules(whole["scope"], whole["rules"]):
        words.labelled(label, text, to)
    for decision, why in DECISIONS.items():
        of = [one for one, is_so in whole["invariants"].items() if is_so == decision]
        if of:
            named = ", ".join(f"{one} {scoped.checker_of(VERB, one)}" for one in of)
            words.labelled(decision, f"{named}{why}", to)
    for found in whole["found"]:
        words.say(f"{found['invariant']} {found['checker']}", to, "bold")
        words.labelled("summary", found["summary"], to)
        for number, step in enumerate(found["steps"], 1):
            words.labelled(f"step {number}", step["sentence"], to)
    if whole["tla"]:
        words.labelled("TLA+", ", ".join(whole["tla"]), to)
    words.command(whole["command"], to)


def settings(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def other_rules(scope: str, chosen: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The rules in which it differs from `iep`, each with what it says; or that there are none."""
    others = [one for one in SCOPES.get(scope).rules if chosen[one.name] != one.default]
    for one in others:
        choice = chosen[one.name]
        yield "rule", f"{one.name} = {choice}: {one.choices[choice]} [{one.clause}]"
    if not others:
        yield "rules", f"those of {BASELINE} (ddlsim list scopes {scope} --output json)"


ENDS: Final = {
    "exhausted": "there are no others",
    "violation": "ended by what it found",
    "depth": "there are others behind --depth",
    "time": "ended by --time, with states left",
    "states": f"ended at {STATES_MOST:,} states, with states left; give smaller constants",
    "interrupted": "ended by an interrupt, with states left",
}
"""What ended it, in words."""
DECISIONS: Final[dict[Decision, str]] = {
    "holds": "",
    "violated": "",
    "not tested": ": what it is about cannot happen within these constants; raise time, or another",
    "not decided": "",
}
"""What may be known of an invariant, and what is said besides."""
