"""The matrix of `ddlsim ablate` for people: a legend, each row in words, and what has no effect."""

from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import Console

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.documents.shapes_ablate import (
    AblateScenario,
    AblateScope,
    ScenarioRow,
    ScopeCell,
    ScopeRow,
    SeedCell,
)
from ddlsim.cli.verbs.explore_scope import other_rules, settings
from ddlsim.cli.views import matrix, words
from ddlsim.cli.views.matrix import Line
from ddlsim.escape import counted

OTHER: Final = " *"
"""Stands after a row with constants of its own."""
ENDS: Final = {
    "depth": "some rows have longer runs, behind --depth",
    "time": "ended by --time, with states left",
    "states": "ended at too many states, with states left; give smaller constants",
    "interrupted": "ended by an interrupt, with states left",
}
"""What left states, in words."""


# --- of a scope -----------------------------------------------------------------------------------


def show_scope(whole: AblateScope) -> None:
    """The matrix of a scope."""
    to = words.console()
    words.verdict(Outcome.called(whole["outcome"]), f"{whole['scope']}, {whole['strategy']}", to)
    words.labelled("explored", _explored(whole), to)
    words.labelled("constants", settings(whole["constants"]), to)
    for label, text in other_rules(whole["scope"], whole["rules"]):
        words.labelled(label, text, to)
    to.print()
    matrix.show(list(whole["invariants"]), list(_lines(whole)), to)
    to.print()
    for one, checker in whole["invariants"].items():
        words.labelled(one, checker, to)
    for mark, says in _legend(whole):
        words.labelled(mark, says, to)
    for row in whole["rows"]:
        if row["rule"] is not None or row["constants"]:
            to.print()
            _row(whole, row, to)
    to.print()
    words.command(whole["command"], to)
    words.say(f"no effect: {', '.join(whole['no_effect']) or 'none'}", to)


def _explored(whole: AblateScope) -> str:
    states = sum(row["states"] for row in whole["rows"])
    rows = f"{counted(len(whole['rows']), 'row')}, {states:,} states"
    ended = ENDS.get(whole["ended"])
    return f"{rows}; {ended or 'everything is decided'}"


def _lines(whole: AblateScope) -> Iterator[Line]:
    """The controls, then under each rule its other choices."""
    rule = None
    for row in whole["rows"]:
        if row["rule"] not in {rule, None}:
            yield Line(str(row["rule"]))
        rule = row["rule"]
        label = "control" if rule is None else f"  {row['choice']}"
        cells = [_cell(row["cells"][one]) for one in whole["invariants"]]
        yield Line(f"{label}{OTHER if row['constants'] else ''}", cells)


def _cell(cell: ScopeCell) -> str:
    if cell["decision"] == "violated":
        return f"{cell['actions']} ({cell['states']:,})"
    return "no effect" if cell["decision"] == "holds" else cell["decision"]


LEGEND: Final = {
    "violated": ("N (M)", "a shortest run that breaks it has N actions; it is found in M states"),
    "holds": ("no effect", "no run breaks it: all states were visited"),
    "not tested": (
        "not tested",
        "all states were visited, but what it is about cannot happen within the constants",
    ),
    "not decided": ("not decided", "no run breaks it so far, and states are left"),
}
"""What a cell means, by what is known of its invariant."""


def _legend(whole: AblateScope) -> Iterator[tuple[str, str]]:
    """The marks that the matrix has, each with what it means."""
    met = {cell["decision"] for row in whole["rows"] for cell in row["cells"].values()}
    yield from (says for decision, says in LEGEND.items() if decision in met)
    if any(row["constants"] for row in whole["rows"]):
        yield OTHER.strip(), "at constants of its own, without which there is nothing to see"


def _row(whole: AblateScope, row: ScopeRow, to: Console) -> None:
    """A row in words: what its choice says, under which names it is known, what it breaks."""
    if row["rule"] is None:
        words.say(f"control{OTHER}", to, "bold")
    else:
        words.say(f"{row['rule']}={row['choice']}", to, "bold")
        words.labelled("says", f"{row['says']} [{row['clause']}]", to)
    names = [f"{kind} {row[kind]}" for kind in ("mutant", "design") if row[kind] is not None]
    if names:
        words.labelled("is", ", ".join(names), to)
    if row["constants"]:
        words.labelled("constants", settings(row["constants"]), to)
    for one, cell in row["cells"].items():
        if cell["summary"] is not None:
            words.labelled(f"{one} {whole['invariants'][one]}", cell["summary"], to)
    if row["died"] is not None:
        words.labelled("crashed", row["died"], to)
    words.command(row["command"], to)


# --- of a scenario --------------------------------------------------------------------------------

NO_EFFECT: Final = "."
UNDECIDED: Final = "?"
UNJUDGED: Final = "-"
BESIDE: Final = ("stuck", "unmet", "crashed")
"""What runs may end as that no invariant is about."""
SCENARIO_ENDS: Final = {
    "finished": "",
    "time": "; ended by --time, with runs left",
    "interrupted": "; ended by an interrupt, with runs left",
}
"""What ended it, in words."""


def show_scenario(whole: AblateScenario) -> None:
    """The matrix of a scenario: the rows that changed something, and the columns that some breaks.

    What is left out is named below.
    """
    to = words.console()
    of = f"{whole['scenario']}, {whole['strategy']}"
    words.verdict(Outcome.called(whole["outcome"]), of, to)
    first, last = whole["seeds"]
    each = f"seed {first}" if first == last else f"seeds {first}..{last}"
    rows = f"{counted(len(whole['rows']), 'row')}, {each} of each, {counted(whole['runs'], 'run')}"
    words.labelled("run", f"{rows}{SCENARIO_ENDS[whole['ended']]}", to)
    to.print()
    shown = [row for row in whole["rows"] if row["effect"] != "changed nothing"]
    beside = [one for one in BESIDE if any(_ends(row)[one] for row in shown)]
    broken = [
        one for one in whole["invariants"] if any(row["cells"][one]["broken"] for row in shown)
    ]
    columns = broken or list(whole["invariants"])
    matrix.show([*columns, *beside], list(_seed_lines(whole, shown, columns, beside)), to)
    to.print()
    for mark, says in _seed_legend(whole, columns):
        words.labelled(mark, says, to)
    for row in shown:
        to.print()
        _mutant(row, to)
    to.print()
    words.command(whole["command"], to)
    kept = [one for one in whole["invariants"] if one not in broken]
    words.say(f"broken by no row: {', '.join(kept) or 'none'}", to)
    words.say(f"changed nothing: {', '.join(whole['changed_nothing']) or 'none'}", to)
    words.say(f"no effect: {', '.join(whole['no_effect']) or 'none'}", to)


def _ends(row: ScenarioRow) -> dict[str, int]:
    return {"stuck": row["stuck"], "unmet": row["unmet"], "crashed": row["crashed"]}


def _seed_lines(
    whole: AblateScenario,
    rows: Iterable[ScenarioRow],
    columns: Iterable[str],
    beside: Iterable[str],
) -> Iterator[Line]:
    of = _seeds(whole)
    for row in rows:
        cells = [_seed_cell(row, row["cells"][one], of) for one in columns]
        ends = [str(_ends(row)[one] or NO_EFFECT) for one in beside]
        yield Line(row["mutant"] or "control", [*cells, *ends])


def _seeds(whole: AblateScenario) -> int:
    first, last = whole["seeds"]
    return last - first + 1


def _seed_cell(row: ScenarioRow, cell: SeedCell, of: int) -> str:
    if cell["broken"]:
        return f"{cell['broken']}@{cell['first_seed']}"
    if row["runs"] < of:
        return UNDECIDED
    return UNJUDGED if cell["unjudged"] else NO_EFFECT


def _seed_legend(whole: AblateScenario, columns: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The marks that the matrix may have, each with what it means."""
    for one in columns:
        yield one, ", ".join(whole["invariants"][one])
    seeds = counted(_seeds(whole), "seed")
    yield "N@S", f"broken in N of {seeds}, first in seed S"
    yield NO_EFFECT, f"no effect in {seeds}"
    if whole["ended"] != "finished":
        yield UNDECIDED, "not decided: it is not broken so far, and some of the seeds were not run"
    if any(row["effect"] == "unknown" for row in whole["rows"]):
        yield UNJUDGED, "not broken, but some runs could not be judged by it"


def _mutant(row: ScenarioRow, to: Console) -> None:
    """A row in words: what the mutant does, what it breaks, and the commands that show it."""
    words.say(row["mutant"] or "control", to, "bold")
    if row["mutant"] is not None:
        words.labelled("says", f"{row['says']} [{row['breaks']}]", to)
        words.labelled("effect", _effect(row), to)
    if row["crash"] is not None:
        words.labelled("crash", row["crash"], to)
    by_command: dict[str, list[str]] = {}
    for one, cell in row["cells"].items():
        if cell["summary"] is not None and cell["command"] is not None:
            words.labelled(one, cell["summary"], to)
            by_command.setdefault(cell["command"], []).append(one)
    for command in by_command or {row["command"]: []}:
        words.command(command, to)


def _effect(row: ScenarioRow) -> str:
    """What came of it, and in how many runs anything differs from the control's."""
    differ = f"events differ in {row['changed']} of {counted(row['runs'], 'run')}"
    return f"{row['effect']}; {differ}"
