"""Which files `check` judges, and where: here one by one, or on Spark, a task each."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from ddlsim import files
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError, note
from ddlsim.cli.verbs.check_foreign import Foreign
from ddlsim.extras import MissingExtraError, needed_by
from ddlsim.foreign import inputs
from ddlsim.graph.models import DEFAULT
from ddlsim.history import parquet
from ddlsim.history.recording import HISTORY, STATEMENTS
from ddlsim.problems import BadInputError
from ddlsim.registry import load_file

HISTORIES: Final = (".jsonl", ".edn", ".columns.parquet", parquet.SUFFIX)
"""How histories in a directory end."""
MIXED: Final = (".json", ".parquet")
"""How other files in a directory end that are judged where their content is a history."""
PACKED: Final = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""How files end that may be histories and are not read, since they are packed."""
NAMED: Final = 3
"""How many files that were passed over a note names."""

Judge = Callable[[Options, str], Any]


def files_of(names: Sequence[str]) -> list[str]:
    """The files that are meant: a directory means every history in it and below.

    Of a recording that is the file of its statements, whose judge reads the history beside it.
    """
    meant: list[str] = []
    for name in names:
        if not name:
            raise InputError("check: the name of a file is empty; name a history")
        meant += _below(name) if Path(name).is_dir() else [name]
    return meant


def _below(name: str) -> list[str]:
    """The histories of a directory, and what may hide some: reading that says what is wrong.

    A note on stderr tells what was passed over.
    """
    below, shut = files.below(name)
    found = {f for f in below if f.name.endswith(HISTORIES)}
    found = {f for f in found if f.name != HISTORY or f.with_name(STATEMENTS) not in found}
    mixed = [f for f in below if f.name.endswith(MIXED) and not f.name.endswith(HISTORIES)]
    found.update(f for f in mixed if inputs.is_history(str(f)))
    if not found and not shut:
        raise InputError(
            f"{name}: no history below it; they end in {' or '.join(HISTORIES)}, and files that "
            f"end in {' or '.join(MIXED)} are judged if they hold one"
        )
    _passed_over(name, "hold no history", [f for f in mixed if f not in found])
    _passed_over(name, "are packed", [f for f in below if _is_packed(f)])
    return [str(f) for f in sorted([*found, *shut])]


def _is_packed(file: Path) -> bool:
    """Whether a file is called as a history that was packed."""
    return file.name.endswith(PACKED) and file.stem.endswith((*HISTORIES, *MIXED))


def _passed_over(name: str, why: str, files: list[Path]) -> None:
    """A note of files of a directory that are not judged, if there are any."""
    if files:
        first = ", ".join(str(one.relative_to(name)) for one in files[:NAMED])
        more = f" and {len(files) - NAMED:,} more" if files[NAMED:] else ""
        note(f"{name}: passed over, for they {why}: {first}{more}")


def judged(judge: Judge, options: Options) -> list[Any]:
    """What a judge makes of every file, in their order; the same wherever it is done.

    Of several files, one that cannot be judged is an `InputError` in its place.
    """
    meant = files_of(options.files)
    if options.master in (None, "none"):
        one_by_one = judge if len(meant) == 1 else partial(_judged, judge)
        return [one_by_one(options, file) for file in meant]
    from ddlsim.analysis.spark import session as sessions
    from ddlsim.analysis.spark.spread import spread

    with sessions.session(options.master) as session:
        large = {file: _large(session, options, file) for file in meant if _is_large(options, file)}
        small = [file for file in meant if file not in large]
        reports = spread(session, partial(_report, judge, options), small)
    every = {**large, **dict(zip(small, reports, strict=True))}
    return [every[file] for file in meant]


def _is_large(options: Options, file: str) -> bool:
    """Whether a file is a history of columns, which Spark judges in parts."""
    kind = inputs.kind_of(file) if options.input == "auto" else options.input
    return bool(kind == inputs.COLUMNS)


def _large(session: Any, options: Options, file: str) -> Any:
    """What Spark says of one history, partitioned by key."""
    from ddlsim.analysis.large import history as large_history
    from ddlsim.foreign import columns_report
    from ddlsim.graph import store
    from ddlsim.graph.history import HistoryError

    try:
        store.verify(Path(file))
        model, strict = options.model or DEFAULT, bool(options.strict)
        verdict = large_history.judge(session, file, model, strict=strict)
        report = columns_report.report(verdict, file, strict=strict)
        return Foreign(file, inputs.COLUMNS, report)
    except HistoryError as wrong:
        return InputError(str(columns_report.bad(file, wrong)))


def _report(judge: Judge, options: Options, file: str) -> Any:
    """At a worker: what the judge says, or what is wrong with the file, as a value."""
    for plugin in options.load:
        load_file(plugin)
    return _judged(judge, options, file)


def _judged(judge: Judge, options: Options, file: str) -> Any:
    try:
        with needed_by("check"):
            return judge(options, file)
    except MissingExtraError as error:
        return InputError(f"{file}: {error}")
    except Exception as error:
        if isinstance(error, BadInputError):
            return InputError(str(error))
        raise
