"""`ddlsim sweep`: scenarios x designs x parameters x seeds, into one table of rows."""

import shlex
from collections import Counter
from typing import Any

from msgspec import structs

from ddlsim.analysis.sweep import store
from ddlsim.analysis.sweep import sweep as sweeps
from ddlsim.analysis.sweep.chunks import Tally
from ddlsim.analysis.sweep.sweep_file import load_sweep
from ddlsim.cli import streams
from ddlsim.cli.documents import documents
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError, note
from ddlsim.cli.views.progress import Progress
from ddlsim.escape import counted
from ddlsim.history.history import FORMAT
from ddlsim.registry import load_file

KEPT = "what is done is kept; the same command with --resume goes on"
SHOWN = 10


class Shown(sweeps.Watcher):
    """Tells a progress bar of everything that is to be run."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def plan(self, runs: int, done: Tally) -> None:
        """So many runs (more)."""
        self._progress.expect(runs)
        self._progress.found(done.runs, done.violated, done.failed)

    def ran(self, tally: Tally) -> None:
        """A chunk is done."""
        self._progress.count(tally.runs, tally.violated, tally.failed)

    def note(self, text: str) -> None:
        """What is shown beside the bar."""
        note(text)


def execute(options: Options) -> int:
    """Run what is missing, write the table, tell what it holds; 0 once it is complete."""
    for file in options.load:
        load_file(file)
    sweep = load_sweep(options.file, outside=options.allow_outside)
    if options.seeds is not None:
        sweep = structs.replace(sweep, seeds=options.seeds)
    if options.jobs is not None and options.master not in (None, "none"):
        raise InputError("sweep: --jobs is for processes, --master for Spark; keep one of them")
    further = further_of(options)
    asked = sweeps.Options(
        directory=options.out,
        command=command_of(options),
        master=options.master,
        jobs=options.jobs,
        resume=options.resume,
        loads=tuple(options.load),
        outside=options.allow_outside,
        settings=tuple(map(_setting, options.conf)),
        aggregates=options.aggregates,
    )
    with Progress(0, KEPT) as progress:
        done = sweeps.carry_out(sweep, asked, Shown(progress), further)
    document = document_of(options.out, done)
    if options.output == "json":
        streams.write(documents.text(document))
    else:
        show(document)
    return 0


def further_of(options: Options) -> sweeps.Next | None:
    """What --until asks for beyond the first round; to import it takes as long as all else."""
    if not options.until:
        return None
    from ddlsim.analysis.sweep import until

    targets = [until.read_target(text) for text in options.until]
    return until.further(targets, options.out, note)


def command_of(options: Options) -> str:
    """The command that gives the same rows again; where they go and what runs them is left out."""
    words = ["ddlsim", "sweep", options.file]
    if options.seeds is not None:
        words += ["--seeds", f"{options.seeds.start}..{options.seeds.stop - 1}"]
    for flag in ("until", "load"):
        for value in getattr(options, flag):
            words += [f"--{flag}", value]
    words += ["--allow-outside"] if options.allow_outside else []
    return shlex.join(words)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise InputError(f"sweep: --conf {text}: expected spark.KEY=VALUE")
    return key, value


# --- what it came to ------------------------------------------------------------------------------


def document_of(directory: str, done: sweeps.Done) -> dict[str, Any]:
    """What a sweep came to, as `--output json` prints it."""
    rows = store.read_rows(directory)
    manifest = store.load(directory)
    outcomes = Counter(rows["outcome"].to_pylist())
    return {
        "format": FORMAT,
        "title": manifest.title,
        "cells": done.cells,
        "runs": done.runs,
        "rounds": done.rounds,
        "by": done.by,
        "outcomes": dict(sorted(outcomes.items())),
        "violations": _violations(rows),
        "errors": _errors(rows),
        "tables": [f"{directory}/{name}" for name in (store.ROWS, store.CELLS, *done.tables)],
        "histories": sum(name is not None for name in rows["history"].to_pylist()),
        "provenance": manifest.provenance,
    }


def _violations(rows: Any) -> list[dict[str, Any]]:
    """What was found, by kind: in how many runs, and where first."""
    runs: Counter[tuple[str, ...]] = Counter()
    first: dict[tuple[str, ...], dict[str, Any]] = {}
    columns = rows.select(["cell", "seed", "history", "violations"])
    for batch in columns.to_batches():
        for row in batch.to_pylist():
            keys = ("status", "invariant", "checker", "kind")
            kinds = {tuple(each[key] for key in keys) for each in row["violations"]}
            runs.update(kinds)
            for kind in kinds:
                first.setdefault(kind, row)
    return [
        {
            **dict(zip(("status", "invariant", "checker", "kind"), kind, strict=True)),
            "runs": count,
            "first": {key: first[kind][key] for key in ("cell", "seed", "history")},
        }
        for kind, count in sorted(runs.items(), key=lambda item: (-item[1], item[0]))
    ]


def _errors(rows: Any) -> list[dict[str, Any]]:
    """What went wrong, by its words: how often, and where first."""
    errors: dict[str, dict[str, Any]] = {}
    columns = rows.select(["cell", "seed", "error"])
    for row in columns.filter(columns["error"].is_valid()).to_pylist():
        group = errors.setdefault(row["error"], {"error": row["error"], "runs": 0, "first": row})
        group["runs"] += 1
    return [
        {**group, "first": {key: group["first"][key] for key in ("cell", "seed")}}
        for group in sorted(errors.values(), key=lambda group: -group["runs"])
    ]


def show(document: dict[str, Any]) -> None:
    """The same for people."""
    from ddlsim.cli.views import words

    to = words.console()
    outcomes = document["outcomes"]
    head = f"{counted(document['cells'], 'cell')}, {counted(document['runs'], 'run')}"
    words.say(f"{document['title']}: {head}", to, "bold")
    words.labelled("outcomes", ", ".join(f"{name} {n:,}" for name, n in outcomes.items()), to)
    for label, found in (("found", document["violations"]), ("errors", document["errors"])):
        for place, each in enumerate(found[:SHOWN]):
            words.labelled("" if place else label, _line(each), to)
        if len(found) > SHOWN:
            words.labelled("", f"... and {counted(len(found) - SHOWN, 'more kind')}", to)
    if document["histories"]:
        words.labelled("histories", f"{document['histories']:,} kept", to)
    words.labelled("tables", ", ".join(document["tables"]), to)


def _line(each: dict[str, Any]) -> str:
    first, runs = each["first"], counted(each["runs"], "run")
    where = f"in {runs}, first cell {first['cell']} seed {first['seed']}"
    if "error" in each:
        return f"{each['error'].partition(chr(10))[0]}; {where}"
    kept = f" ({first['history']})" if first["history"] else ""
    name = f"{each['status']} {each['invariant']} {each['checker']} {each['kind']}"
    return f"{name}; {where}{kept}"
