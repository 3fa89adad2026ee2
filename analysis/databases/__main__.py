"""Records real databases, cell by cell, and writes what was found as figures and pages.

usage: python3 dev.py study [--time SECONDS] [--seeds N] [--only TEXT] [--pages]
                            [--script NAME]...

Every cell, a database at a level of isolation under a workload, is recorded for --time seconds from
each of --seeds seeds. reports/databases/study.json keeps what was found; the pages and figures are
made of it alone, by --pages without recording anything. --only records the cells whose names,
database/level/workload, contain the text, and keeps the others.

--script runs scripts of reports/databases/scripts alone, each at all of its levels, and tells
whether the databases answer as the scripts have it. Servers are started here and ended with it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ddlsim.analysis.databases import pages, scripts, study
from ddlsim.analysis.databases.grid import cells
from ddlsim.analysis.databases.servers import lacking, servers
from ddlsim.files import TEXT_MOST, make_folder, unfit, write_text
from ddlsim.problems import BadInputError

HOME: Final = Path("reports/databases")
BAD_INPUT: Final = 2


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The options; ends with 2 where they make no sense."""
    usage = (__doc__ or "").partition("usage: ")[2].partition("\n\n")[0]
    asked = argparse.ArgumentParser(prog="python3 dev.py study", usage=usage)
    asked.add_argument("--time", type=float, default=10.0, metavar="SECONDS")
    asked.add_argument("--seeds", type=int, default=2, metavar="N")
    asked.add_argument("--only", default="", metavar="TEXT")
    asked.add_argument("--pages", action="store_true")
    asked.add_argument("--out", type=Path, default=HOME, metavar="DIR")
    asked.add_argument("--script", action="append", default=[], metavar="NAME")
    return asked.parse_args(words)


def run_scripts(names: Sequence[str]) -> int:
    """Run scripts at all of their levels; 1 if a database answers otherwise."""
    known = {one.name: one for one in scripts.all_of(HOME / "scripts")}
    if unknown := [name for name in names if name not in known]:
        raise BadInputError(f"no script is called {unknown[0]!r}; there are {', '.join(known)}")
    wrong = 0
    with servers() as found:
        for script in (known[name] for name in names):
            if needs := lacking(script.database):
                raise BadInputError(f"{script.name} needs {needs}")
            for level in script.levels or ("",):
                try:
                    scripts.run(script.at(level), found.database(script.database))
                except scripts.ScriptError as error:
                    wrong += 1
                    _say(str(error))
                else:
                    _say(f"{script.name}: answers as written{level and f' at {level}'}")
    return int(wrong > 0)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def carry_out(options: argparse.Namespace) -> int:
    """Record what is asked for, then write the pages."""
    make_folder(options.out)
    file = options.out / "study.json"
    known = _kept(file)
    if not options.pages:
        asked = study.Asked(options.time, tuple(range(options.seeds)))
        wanted = [cell for cell in cells() if options.only in cell.name]
        with servers() as found:
            for one in study.record(wanted, asked, found, _tell):
                known[(one["database"], one["level"], one["workload"])] = one
        order = [known[cell[:3]] for cell in cells() if cell[:3] in known]
        made = {"format": 1, "command": _command(options), **asked._asdict(), "cells": order}
        write_text(file, json.dumps(made, indent=1) + "\n")
    pages.write(_study(file), options.out, HOME / "scripts")
    return 0


def _command(options: argparse.Namespace) -> str:
    return f"python3 dev.py study --time {options.time:g} --seeds {options.seeds}"


def _kept(file: Path) -> dict[tuple[str, ...], study.Json]:
    """The cells of an earlier study."""
    found = _study(file)["cells"] if file.is_file() else []
    return {(one["database"], one["level"], one["workload"]): one for one in found}


def _study(file: Path) -> study.Json:
    try:
        if (why := unfit(file, TEXT_MOST)) is not None:
            raise BadInputError(f"{file} {why}")
        found: study.Json = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        text = f"{file} cannot be read ({error}); python3 dev.py study makes it"
        raise BadInputError(text) from error
    return found


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main(words: Sequence[str]) -> int:
    """The study; 2 and one line where the options or the machine make it impossible."""
    options = parsed(words)
    try:
        return run_scripts(options.script) if options.script else carry_out(options)
    except BadInputError as error:
        sys.stderr.write(f"dev.py study: {error}\n")
        return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
