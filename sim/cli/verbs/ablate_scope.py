"""`ddlsim ablate SCOPE`: every other choice of each rule, and a shortest run for what it breaks."""

import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ddlsim.checkers.outcome import Outcome, worst
from ddlsim.cli import repeat, streams
from ddlsim.cli.documents import documents
from ddlsim.cli.documents.shapes_ablate import AblateScope, ScopeCell, ScopeEffect, ScopeRow
from ddlsim.cli.exit_codes import NOT_DECIDED
from ddlsim.cli.options import Options
from ddlsim.cli.signals import code_of
from ddlsim.cli.verbs import scoped
from ddlsim.cli.views.progress import Meter
from ddlsim.history.history import FORMAT
from ddlsim.search import ablate_scope
from ddlsim.search.ablate_scope import Came, Limits
from ddlsim.spec.ablation import Row, rows_of
from ddlsim.spec.base import BASELINE, Setup, set_up
from ddlsim.spec.exhaust import STATES_MOST
from ddlsim.spec.visited import Decision

VERB: Final = "ablate"
OF_SCENARIOS: Final = ("seeds", "mutants", "swarm", "strict", "all_claims", "allow_outside")
"""Flags that mean nothing for a scope."""
GRAVEST: Final[tuple[Decision, ...]] = ("violated", "not decided", "not tested", "holds")
"""What may be known of an invariant; a row is what its gravest cell is."""


class Done(NamedTuple):
    """What came of each row, None for one that had none by the end; what interrupted it."""

    came: Sequence[Came | None]
    interrupt: KeyboardInterrupt | None = None


def execute(options: Options) -> int:
    """Explore all rows, print the matrix; the exit code."""
    control = scoped.setup_of(VERB, options, OF_SCENARIOS)
    rows = rows_of(control, scoped.settings_of(options).keys())
    done = _explored(options, rows)
    whole = document(options, control, rows, done)
    if options.output == "json":
        streams.write(documents.text(whole))
    else:
        from ddlsim.cli.views import ablate as view

        view.show_scope(whole)
    if done.interrupt is not None:
        return code_of(done.interrupt)
    outcome = Outcome.called(whole["outcome"])
    return NOT_DECIDED if outcome is Outcome.UNKNOWN else outcome.exit_code


def _explored(options: Options, rows: Sequence[Row]) -> Done:
    until_s = None if options.time is None else time.monotonic() + options.time
    limits = Limits(options.depth, until_s, STATES_MOST)
    came: list[Came | None] = [None] * len(rows)

    def watch(place: int, one: Came) -> None:
        came[place] = one
        meter.watch(one)

    try:
        with RowsMeter(len(rows)) as meter:
            ablate_scope.explore(rows, limits, watch, loads=options.load, jobs=options.jobs)
    except KeyboardInterrupt as interrupt:
        return Done(came, interrupt)
    return Done(came)


class RowsMeter(Meter):
    """Shows how many rows are done."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self._rows, self._done, self._states = rows, 0, 0

    def watch(self, came: Came) -> None:
        """Another row is done."""
        self._done += 1
        self._states += came.states
        self.show(self._done, "some take much longer than others")

    def status(self) -> str:
        """How far it is, in words."""
        return f"{self._done} of {self._rows} rows done, {self.counts}"

    @property
    def counts(self) -> str:
        """The states of the rows that are done."""
        return f"{self._states:,} states"


# --- the document ---------------------------------------------------------------------------------


def document(options: Options, control: Setup, rows: Sequence[Row], done: Done) -> AblateScope:
    """The document of `--output json`."""
    scope = control.scope
    shown = [_row(options, row, came) for row, came in zip(rows, done.came, strict=True)]
    return {
        "format": FORMAT,
        "scope": scope.name,
        "title": scope.title,
        "strategy": control.design,
        "constants": control.constants,
        "rules": control.rules,
        "outcome": _outcome(shown).word,
        "ended": _ended(shown, done),
        "invariants": {one: scoped.checker_of(VERB, one) for one in scope.invariants},
        "rows": shown,
        "no_effect": [label_of(row) for row in shown if row["rule"] and not _shows(row)],
        "command": _command(options, control),
    }


def label_of(row: ScopeRow) -> str:
    """A row in a word: rule=choice."""
    return "control" if row["rule"] is None else f"{row['rule']}={row['choice']}"


def _shows(row: ScopeRow) -> bool:
    return row["effect"] != "no effect"


def _outcome(rows: Sequence[ScopeRow]) -> Outcome:
    """That of the controls; crashed where a row was lost, unknown where one is not decided."""
    controls = [row for row in rows if row["rule"] is None]
    decided = [cell["decision"] for row in controls for cell in row["cells"].values()]
    found = [scoped.outcome_of(decided)]
    found += [Outcome.CRASHED for row in rows if row["died"] is not None]
    undecided = any(
        cell["decision"] == "not decided" for row in rows for cell in row["cells"].values()
    )
    return worst([*found, Outcome.UNKNOWN] if undecided else found)


def _ended(rows: Sequence[ScopeRow], done: Done) -> str:
    """What left states in some row, or that no states are left."""
    if done.interrupt is not None:
        return "interrupted"
    left = (row["ended"] for row in rows if row["ended"] not in {"exhausted", "violation"})
    return next(left, "exhausted")


def _row(options: Options, row: Row, came: Came | None) -> ScopeRow:
    scope = row.setup.scope
    rule = next((one for one in scope.rules if one.name == row.rule), None)
    cells = {one: _cell(one, came) for one in scope.invariants}
    return {
        "rule": row.rule,
        "choice": row.choice,
        "says": None if rule is None or row.choice is None else rule.choices[row.choice],
        "clause": None if rule is None else rule.clause,
        "mutant": row.named.mutant,
        "design": row.named.design,
        "constants": dict(row.constants),
        "effect": _effect(cells),
        "cells": cells,
        "states": 0 if came is None else came.states,
        "ended": "interrupted" if came is None else came.ended,
        "died": None if came is None else came.died,
        "command": _explore(options, row.setup),
    }


def _cell(invariant: str, came: Came | None) -> ScopeCell:
    found = None if came is None else came.shortest.get(invariant)
    return {
        "decision": "not decided" if came is None else came.decisions[invariant],
        "actions": None if found is None else found.actions,
        "states": None if found is None else found.states,
        "summary": None if found is None else found.summary,
    }


def _effect(cells: Mapping[str, ScopeCell]) -> ScopeEffect:
    """The gravest of the decisions."""
    gravest = min((cell["decision"] for cell in cells.values()), key=GRAVEST.index)
    return "no effect" if gravest == "holds" else gravest


def _explore(options: Options, setup: Setup) -> str:
    """The command that explores a row alone."""
    said = ["ddlsim", "explore", options.scenario, *_design(setup)]
    before = set_up(setup.scope, setup.design)
    for name, value in {**setup.constants, **setup.rules}.items():
        if {**before.constants, **before.rules}[name] != value:
            said += ["--set", f"{name}={value}"]
    return shlex.join([*said, "--keep-going", *_depth(options), *_loads(options)])


def _command(options: Options, control: Setup) -> str:
    """The command that explores all rows again."""
    said = ["ddlsim", "ablate", options.scenario, *_design(control)]
    said += [word for value in options.set for word in ("--set", value)]
    return shlex.join([*said, *_depth(options), *_loads(options)])


def _design(setup: Setup) -> list[str]:
    return [] if setup.design == BASELINE else ["--strategy", setup.design]


def _depth(options: Options) -> list[str]:
    return [] if options.depth is None else ["--depth", str(options.depth)]


def _loads(options: Options) -> list[str]:
    return repeat.also(options.load, outside=False)
