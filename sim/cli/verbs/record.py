"""`ddlsim record`: a real database under DDL and DML as a history, judged like any other."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

from ddlsim import files
from ddlsim.checkers.outcome import Outcome
from ddlsim.cli import streams
from ddlsim.cli.documents import documents, shapes_record
from ddlsim.cli.documents.shapes import Checked
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.cli.verbs.check_foreign import Foreign
from ddlsim.foreign import inputs
from ddlsim.history.history import FORMAT
from ddlsim.history.recording import STATEMENTS
from ddlsim.record.dialects.base import DATABASES, Database
from ddlsim.record.faults.base import FAULTS
from ddlsim.record.recorder import LONGEST_S, Recorded, Wanted, record
from ddlsim.record.url import url_of, without_password
from ddlsim.record.workloads.base import WORKLOADS

SECONDS: Final = 10.0
"""How long a recording takes where nothing is said."""
KIND: Final = "recording"


def execute(options: Options) -> int:
    """Record, judge what was recorded, tell both; the exit code is that of the judgement."""
    database = opened(options)
    wanted = Wanted(
        _workload(database, options.workload), options.clients,
        _isolation(database, options.isolation), options.seed, options.ddl_rate,
        options.time or (SECONDS if options.transactions is None else LONGEST_S),
        options.transactions, _faults(database, options.fault),
    )  # fmt: skip
    with folder_of(options.out) as folder:
        recorded = record(database, wanted, folder)
    file = (folder / STATEMENTS).as_posix()
    judged = None
    if not options.unjudged:
        judged = Foreign(file, KIND, inputs.INPUTS[KIND].judge(file, options.model))
    made = document(options, wanted, database, recorded, judged)
    if options.output == "json":
        streams.write(documents.text(made))
    else:
        _show(made, judged, database.left_behind)
    if not recorded.tally.ended["ok"]:
        return Outcome.VACUOUS.exit_code
    return Outcome.OK.exit_code if judged is None else judged.outcome.exit_code


def opened(options: Options) -> Database:
    """The database of the URL."""
    url = url_of(options.url)
    return DATABASES.get(url.drivername)(url, prepared=options.prepared)


def _workload(database: Database, asked: str) -> str:
    """The workload, if the database can have it; else `InputError`."""
    if WORKLOADS.get(asked).copies and not database.transactional_ddl:
        raise InputError(f"--workload {asked}: {database.name} has no DDL inside of transactions")
    return asked


def _isolation(database: Database, asked: str | None) -> str:
    """The level that is asked for, or the database's default; `InputError` if it has none such."""
    if asked is None:
        return next(iter(database.levels))
    if asked not in database.levels:
        known = ", ".join(database.levels)
        raise InputError(f"--isolation {asked}: {database.name} has no such level; it has {known}")
    return asked


def _faults(database: Database, asked: Sequence[str]) -> tuple[str, ...]:
    """The faults that are asked for; `InputError` for one that the database cannot be given."""
    for name in asked:
        if FAULTS.get(name).name not in database.faults:
            known = ", ".join(database.faults)
            raise InputError(f"--fault {name}: {database.name} cannot be given it; it has {known}")
    return tuple(asked)


@contextmanager
def folder_of(directory: str) -> Iterator[Path]:
    """The folder of --out, new or empty; where the block fails, a new one without files is gone."""
    files.no_file("--out", directory)
    path = Path(directory)
    is_new = not path.exists()
    files.make_folder(path)
    if held := sorted(entry.name for entry in path.iterdir()):
        raise InputError(f"--out {directory}: holds {held[0]}; name a new or empty directory")
    try:
        yield path
    except BaseException:
        if is_new and not any(path.iterdir()):
            path.rmdir()
        raise


def document(
    options: Options,
    wanted: Wanted,
    database: Database,
    recorded: Recorded,
    judged: Foreign | None,
) -> shapes_record.Record:
    """The document of `--output json`."""
    ended = recorded.tally.ended
    return {
        "format": FORMAT,
        "command": command_of(options),
        "directory": options.out,
        "database": database.name,
        "server": recorded.facts.server,
        "driver": recorded.facts.driver,
        "isolation": wanted.isolation,
        "says": recorded.says,
        "promise": recorded.promise,
        "workload": wanted.workload,
        "seed": wanted.seed,
        "clients": wanted.clients,
        "committed": ended["ok"],
        "failed": ended["fail"],
        "unknown": ended["info"],
        "changes": recorded.tally.changes,
        "why": dict(sorted(recorded.tally.why.items())),
        "seconds": round(recorded.seconds, 3),
        "silent": recorded.silent,
        "notes": recorded.notes,
        "check": None if judged is None else cast(Checked, judged.document()),
    }


def command_of(options: Options) -> str:
    """The command that records again, once what the first one wrote is removed; a password in the
    URL is left out.
    """
    words = ["ddlsim", "record", without_password(options.url), "--out", options.out]
    words += ["--workload", options.workload, "--clients", str(options.clients)]
    words += ["--seed", str(options.seed), "--ddl-rate", str(options.ddl_rate)]
    for flag in ("isolation", "transactions", "model"):
        if getattr(options, flag) is not None:
            words += [f"--{flag}", str(getattr(options, flag))]
    words += [word for name in options.fault for word in ("--fault", name)]
    words += ["--time", f"{options.time:g}s"] if options.time else []
    return shlex.join(words + ["--prepared"] * options.prepared + ["--unjudged"] * options.unjudged)


def _show(made: shapes_record.Record, judged: Foreign | None, file: str) -> None:
    """The report; `file` is the database's, if it is one."""
    from ddlsim.cli.views.words import command, console, labelled, say

    to = console()
    say(f"{made['server']}, {made['isolation']}: {made['workload']}", to, "bold")
    labelled("driver", made["driver"], to)
    labelled("promise", f"{made['promise']}; it says {made['says']}", to)
    ended = f"{made['committed']:,} committed, {made['changes']:,} of them with DDL"
    if made["failed"] or made["unknown"]:
        ended += f"; {made['failed']:,} failed, {made['unknown']:,} unknown"
    labelled("transactions", f"{ended}, in {made['seconds']:.1f} s", to)
    if made["why"]:
        labelled("aborted for", ", ".join(f"{n:,} {why}" for why, n in made["why"].items()), to)
    if made["silent"]:
        labelled("silent", f"{made['silent']} did not come to an end in time", to)
    for note in made["notes"]:
        labelled("note", note, to)
    labelled("written", made["directory"], to)
    if judged is not None:
        to.print()
        judged.show(to)
    to.print()
    both = f"{file} and {made['directory']} are" if file else f"{made['directory']} is"
    command(made["command"], to, f"once {both} removed")
