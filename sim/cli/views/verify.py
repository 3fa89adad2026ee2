"""The regression suite for people: mutants, claims, what disappoints, what was left out."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from ddlsim.cli.documents.verify import command as repeat
from ddlsim.cli.views.run import some
from ddlsim.cli.views.words import INDENT, block, command, labelled, say, unreached
from ddlsim.escape import counted
from ddlsim.mutation.power import Power
from ddlsim.verify.claims import ClaimRow
from ddlsim.verify.kills import MutantRow
from ddlsim.verify.suite import BLOCKS
from ddlsim.verify.verification import NOT_RUN, ScenarioRow, Verification

MUTANT_WIDTH = 31
CLAUSE_WIDTH = 19
BECAUSE = ", the time was up"
SCENARIO_FOLDER = "negative/"


def show(result: Verification, to: Console, measured: Power | None = None) -> None:
    """The whole result."""
    _headline(result, to)
    if measured is not None:
        _power(measured, to)
    _mutants(result.mutants, to)
    _survivors(result, to)
    _claims(result.claims, to)
    _wrong(result, to)
    _left_out(result, to)


def _headline(result: Verification, to: Console) -> None:
    word, style = ("AS EXPECTED", "bold green")
    if result.unexpected:
        word, style = ("NOT AS EXPECTED", "bold red")
    elif not result.decided:
        word, style = ("NOT DECIDED", "bold yellow")
    to.print(Text.assemble((word, style), f"  {_size(result)}"))
    undecided = len(result.undecided_mutants)
    if result.score is not None:
        of = result.killed + len(result.survivors)
        more = f"; {undecided} more not decided" if undecided else ""
        say(f"mutation score {result.score:.1%}: {result.killed} of {of} mutants killed{more}", to)
    elif undecided:
        say(f"no mutation score: {counted(undecided, 'mutant')} not decided", to)
    designs = {row.strategy for row in result.claims}
    broken = sum(bool(row.breaches) for row in result.claims)
    kept = sum(row.word == "kept" for row in result.claims)
    waiting = sum(row.word == "not decided" for row in result.claims)
    more = f", {waiting} not decided" if waiting else ""
    judged = counted(len(designs), "design")
    say(f"{counted(kept, 'claim')} of {judged} kept, {broken} broken{more}", to)


def _power(measured: Power, to: Console) -> None:
    killed, of = measured.killed, measured.mutants
    worlds = counted(measured.seeds, "world")
    say(
        f"power of the search {killed / of:.0%}: {killed} of {counted(of, 'fault')} in the "
        f"protocol's source (sample {measured.sample}) convicted within {worlds} each, "
        f"chosen from {measured.surveyed} seeds by where the fault makes a difference",
        to,
    )
    missed = [f"{area} {mutants - found}" for area, (mutants, found) in measured.areas.items()]
    say(f"not convicted: {', '.join(one for one in missed if not one.endswith(' 0'))}", to)


def _size(result: Verification) -> str:
    return f"{counted(result.cases, 'case')}, {counted(result.runs, 'run')}"


def _mutants(rows: Sequence[MutantRow], to: Console) -> None:
    """One line each: the clause, how many seeds a conviction takes, and which checkers convict.

    A name or a list of clauses that is longer than its column has a line of its own above the rest.
    """
    if not rows:
        return
    to.print()
    to.print(Text(f"{'mutant':{MUTANT_WIDTH}} {'breaks':{CLAUSE_WIDTH}} seeds  killed by", "bold"))
    for row in sorted(rows, key=lambda one: (one.mutant, one.scenario)):
        seeds = f"{row.median_seeds:g}" if row.median_seeds is not None else "-"
        others = [checker for checker in row.killed_by if checker != row.judge]
        waits = not row.complete
        by = row.judge if row.killed else "not decided" if waits else "survived"
        style = "" if row.killed else "bold yellow" if waits else "bold red"
        name, clause = row.mutant, row.breaks
        if len(name) > MUTANT_WIDTH or len(clause) > CLAUSE_WIDTH:
            to.print(Text(f"{name} {clause}", style), soft_wrap=True)
            name = clause = ""
        line = f"{name:{MUTANT_WIDTH}} {clause:{CLAUSE_WIDTH}} {seeds:>5}  {by}"
        to.print(Text(line, style), soft_wrap=True)
        if row.scenario.removeprefix(SCENARIO_FOLDER) != row.mutant:
            say(f"in {row.scenario}", to, "dim", INDENT)
        if others:
            say(f"also by {', '.join(others)}", to, "dim", INDENT)
    say("seeds: median over disjoint blocks until its own judge convicts it", to, "dim")


def _survivors(result: Verification, to: Console) -> None:
    for one in result.survivors:
        why = one.reason or "no reason is given"
        to.print()
        labelled("SURVIVED", f"{one.mutant}, {counted(one.runs, 'run')}: {why}", to, "bold yellow")


def _claims(rows: Iterable[ClaimRow], to: Console) -> None:
    """What each design kept in a line, and a line for each claim with something to tell."""
    for strategy in dict.fromkeys(row.strategy for row in rows):
        own = [row for row in rows if row.strategy == strategy]
        to.print()
        kept = [row.invariant for row in own if row.word == "kept"]
        waits = [row.invariant for row in own if row.word == "not decided"]
        claims = (
            f"not decided: {' '.join(waits)}" if waits else f"kept: {' '.join(kept) or 'nothing'}"
        )
        star = " (fields set by scenarios)" if strategy.endswith("*") else ""
        labelled(
            strategy,
            f"{counted(own[0].runs, 'run')}{star}; {claims}",
            to,
        )
        for row in own:
            if more := _remarks(row):
                style = "bold red" if row.example is not None and not row.excuse else ""
                say(f"{row.invariant} {more}", to, style, INDENT)


def _remarks(row: ClaimRow) -> str:
    """What is worth a line: breaches of any kind; nothing of an invariant that no run broke."""
    parts = []
    if row.breaches:
        why = f" (known: {row.excuse})" if row.excuse else ""
        why = " (as scenarios expect)" if row.example is None else why
        parts.append(f"BROKEN in {counted(row.breaches, 'run')}{why}")
    counts = {
        "out of assumption": row.out_of_assumption,
        "accepted": row.accepted,
        "not judged": row.unjudged,
        **{f"explained by {finding}": times for finding, times in row.findings.items()},
    }
    parts += [f"{what} in {times}" for what, times in counts.items() if times]
    return ", ".join(parts)


def _wrong(result: Verification, to: Console) -> None:
    if result.unexpected:
        to.print()
        to.print(Text("not as expected", "bold red"))
        for line in result.unexpected:
            say(line, to, indent=INDENT)
    for row in result.scenarios:
        if row.wrong and not row.undecided and not row.excused:
            _in_full(row, to)


def _in_full(row: ScenarioRow, to: Console) -> None:
    """A judge's words on a scenario that disappoints, and the command that repeats it."""
    to.print()
    to.print(Text(f"{row.label}, seed {row.seed}", "bold"), soft_wrap=True)
    block(row.argument, to)
    command(repeat(row), to)


def _seeds_run(result: Verification) -> str:
    """For how many seeds the time was enough, where the number of seeds decides anything."""
    if not result.runs:
        return "nothing was run"
    parts = []
    if result.least_run is not None and result.most_run is not None:
        least, most = result.least_run, counted(result.most_run, "seed")
        often = most if least == result.most_run else f"{least} to {most}"
        parts.append(f"the time was enough for {often} of each case that depends on the seed")
    if any(row.kind == "mutant" and row.wanted is None for row in result.scenarios):
        parts.append(f"a mutant is run until it is convicted {BLOCKS} times")
    if any(row.wanted is not None for row in result.scenarios):
        parts.append("one run decides a scripted case")
    return "; ".join(parts)


def _left_out(result: Verification, to: Console) -> None:
    to.print()
    if not result.decided:
        to.print(Text("not decided when the time was up; give it more", "bold yellow"))
        for line in result.open:
            if not line.endswith(NOT_RUN):
                say(line, to, indent=INDENT)
    if result.not_run:
        what = f"{counted(len(result.not_run), 'case')} not run{BECAUSE}: {some(result.not_run)}"
        say(what, to, indent=INDENT)
    if short := result.short:
        wanted = short[0].wanted
        fewest = min(short, key=lambda row: row.runs)
        what = f"{counted(len(short), 'case')} with fewer than {wanted} seeds, as expected so far"
        say(f"{what}; fewest: {fewest.label}, {fewest.runs}", to, indent=INDENT)
    if result.bounded:
        say(_seeds_run(result), to)
    if vacuous := result.vacuous:
        labelled("vacuous", ", ".join(row.scenario for row in vacuous), to, "bold yellow")
    if result.never_reached:
        labelled("never reached", unreached(result.never_reached), to)
