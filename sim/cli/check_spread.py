"""Which files `check` judges, and where: here one by one, or on Spark, a task each."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from sim.cli.problems import InputError, is_bad_input
from sim.registry import load_file

HISTORIES: Final = (".jsonl", ".edn")
"""How histories in a directory end."""

Judge = Callable[[argparse.Namespace, str], Any]


def files_of(names: Sequence[str]) -> list[str]:
    """The files that are meant: a directory means every history in it and below."""
    files: list[str] = []
    for name in names:
        if not Path(name).is_dir():
            files.append(name)
            continue
        found = sorted(f for f in Path(name).rglob("*") if f.suffix in HISTORIES and f.is_file())
        if not found:
            raise InputError(f"{name}: no history below it; they end in {' or '.join(HISTORIES)}")
        files += map(str, found)
    return files


def judged(judge: Judge, options: argparse.Namespace) -> list[Any]:
    """What a judge makes of every file, in their order; the same wherever it is done."""
    files = files_of(options.files)
    if options.master in (None, "none"):
        return [judge(options, file) for file in files]
    from analysis import spark
    from analysis.spread import spread

    with spark.session(options.master) as session:
        results = spread(session, partial(_told, judge, options), files)
    for result in results:
        if isinstance(result, InputError):
            raise result
    return results


def _told(judge: Judge, options: argparse.Namespace, file: str) -> Any:
    """At a worker: what the judge says, or what is wrong with the file, as a value."""
    for plugin in options.load:
        load_file(plugin)
    try:
        return judge(options, file)
    except Exception as error:
        if is_bad_input(error):
            return InputError(str(error))
        raise
