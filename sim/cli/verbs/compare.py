"""`ddlsim compare`: designs side by side, under equal clients, statements, faults and delays."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import structs

from ddlsim.analysis.compare.columns import COLUMNS
from ddlsim.analysis.compare.compare import Left, World, compare, worlds
from ddlsim.analysis.compare.records import WORDS, Breach, Line
from ddlsim.cli import repeat, streams
from ddlsim.cli.documents import documents
from ddlsim.cli.documents.shapes_compare import Compare
from ddlsim.cli.options import Options
from ddlsim.cli.problems import CRASHED, InputError, note
from ddlsim.cli.views.progress import Progress
from ddlsim.files import make_folder, no_file, write_text
from ddlsim.history.history import FORMAT
from ddlsim.registry import load_file
from ddlsim.scenario import bounds

SHRINK_S: Final = 30.0
"""CPU seconds for shrinking a breach of one design."""


def execute(options: Options) -> int:
    """Run, print, and tell the exit code."""
    for file in options.load:
        load_file(file)
    settings = repeat.settings(options)
    if "strategy.name" in settings:
        raise InputError("compare: --set strategy.name: name designs as arguments; leave it out")
    chosen, left = worlds(
        options.strategies,
        options.scenario,
        settings,
        outside=options.allow_outside,
        also=repeat.also(options.load, outside=options.allow_outside),
    )
    bounds.check_seeds("compare", len(chosen) * len(options.seeds))
    if options.shrunk is not None:
        _claim(options.shrunk)
    with Progress(len(chosen) * len(options.seeds)) as progress:
        lines = compare(
            chosen, options.seeds, loads=options.load, jobs=options.jobs, watch=progress.watch
        )
    if options.shrunk is not None:
        lines = [_shrunk(options, line, chosen) for line in lines]
    show(options, document(options, chosen, lines, left))
    return exit_code(lines)


def exit_code(lines: Sequence[Line]) -> int:
    """0 where every run finished, whatever it showed: a table is no verdict; else 4."""
    return CRASHED if any(line.lost for line in lines) else 0


def document(
    options: Options, chosen: Sequence[World], lines: Sequence[Line], left: Sequence[Left]
) -> Compare:
    """Everything that there is to tell; each form of the output is made of it."""
    return {
        "format": FORMAT,
        "command": command_of(options),
        "seeds": [options.seeds[0], options.seeds[-1]],
        "runs": sum(line.runs for line in lines),
        "failed": sum(line.lost for line in lines),
        "scenarios": {one.scenario.name: one.scenario.title for one in chosen},
        "verdicts": {str(word): said for word, said in WORDS.items()},
        "columns": {column.key: _said(column.unit, column.said) for column in COLUMNS},
        "designs": list(lines),
        "left_out": [{"design": one.design, "why": one.why} for one in left],
    }


def _said(unit: str, said: str) -> str:
    return f"{said} ({'a share' if unit == '%' else unit or 'a number'})"


def command_of(options: Options) -> str:
    """The command that makes the same table again."""
    words = ["ddlsim", "compare", *options.strategies]
    words += [] if options.scenario is None else ["--scenario", options.scenario]
    words += ["--seeds", f"{options.seeds[0]}..{options.seeds[-1]}"]
    words += [word for one in options.set for word in ("--set", one)]
    return shlex.join(words + repeat.also(options.load, outside=options.allow_outside))


def show(options: Options, found: Compare) -> None:
    """Print the table in the form that was asked for."""
    if options.output == "json":
        streams.write(documents.text(msgspec.to_builtins(found)))
    elif options.output == "text":
        from ddlsim.cli.views import compare as view_compare
        from ddlsim.cli.views.words import console

        view_compare.show(found, console())
    else:
        from ddlsim.cli.views import compare_pages

        made = compare_pages.markdown if options.output == "markdown" else compare_pages.html
        streams.write(made(found), end="")


# --- shrinking -----------------------------------------------------------------------------------


def _claim(directory: str) -> None:
    """Refuse, before anything is run, a directory that holds something."""
    no_file("--shrunk", directory)
    path = Path(directory)
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"--shrunk {directory}: it is not empty; name a new or empty directory")
    make_folder(path)


def _shrunk(options: Options, line: Line, chosen: Sequence[World]) -> Line:
    """The line with the gravest breach shrunk that no shipped scenario shows."""
    from ddlsim.cli.verbs import shrunk
    from ddlsim.shrink import failing
    from ddlsim.shrink.shrink import Budget
    from ddlsim.shrink.size import counts_of

    breach = next((one for one in line.breaches if is_worth_it(one)), None)
    if breach is None:
        return line
    world = next(one for one in chosen if one.design == line.design)
    try:
        state = failing.begun(world.scenario, breach.seed, Budget(time_s=SHRINK_S))
    except failing.NothingToShrinkError as error:
        note(str(error))
        return line
    file = Path(options.shrunk, f"{line.design}.toml").as_posix()
    shorter = shrunk.shrunk_text(state, file, options.load)
    write_text(file, shorter.text)
    best = shorter.shrunk.best
    made = structs.replace(
        breach,
        invariant=best.violation.invariant,
        shortest=shorter.command,
        steps=counts_of(best.data)["entries"],
        text=shorter.text,
    )
    breaches = tuple(_taken(one, made) for one in line.breaches)
    return structs.replace(line, breaches=breaches)


def is_worth_it(one: Breach) -> bool:
    """Whether a breach is to be shrunk: a broken claim that no shipped scenario shows."""
    return one.status in ("violation", "stuck") and not one.shortest


def _taken(one: Breach, made: Breach) -> Breach:
    """The breach of the invariant that the shrunk scenario shows, with that scenario."""
    if one.invariant != made.invariant:
        return one
    return structs.replace(one, shortest=made.shortest, steps=made.steps, text=made.text)
