"""`ddlsim compat`: which transactions in flight survive which statement of a migration."""

import re
import sys
from pathlib import Path

from ddlsim import files
from ddlsim.cli import streams
from ddlsim.cli.documents import documents
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError, note
from ddlsim.escape import natural
from ddlsim.lint import compat
from ddlsim.lint.compat import Source
from ddlsim.scenario.files import reason, text_at
from ddlsim.verify import abort_share

STDIN = files.STDIN
SQL = ".sql"
VERSION = re.compile(r"([^\W\d_]*)(\d+(?:[._]\d+)*)(.*)", re.DOTALL)
"""A name as tools for migrations have it: letters, numbers between `.` or `_`, and what it does."""
FLYWAY = re.compile(r"(?:([VUB])(\d+(?:[._]\d+)*)|R)__.+", re.DOTALL)
"""A name as Flyway has it: V and a version, U and the version that it undoes, B and the version up
to which it stands for all, or R."""
CALLBACK = re.compile(
    r"(?:createSchema|(?:before|after)(?:Each)?(?:Migrate|Repeatables|Versioned|Undo|Clean|Info|"
    r"Validate|Baseline|Repair|Connect)\w*)(?:__.+)?",
    re.DOTALL,
)
"""The name of a script that Flyway runs around its own steps."""
EMPTY = "there is no statement in it"


def execute(options: Options) -> int:
    """Lint, print, and return 0 all compatible, 1 some not, 3 some refused, 2 unreadable."""
    try:
        report = report_of(options)
    except compat.UnreadableError as error:
        for line in error.lines[:-1]:
            note(line)
        raise InputError(error.lines[-1]) from None
    except compat.RefusedSchemaError as error:
        raise InputError(str(error)) from None
    for statement in report["statements"]:
        if statement["error"] is not None:
            message = statement["error"]["message"]
            note(f"{statement['file']}:{statement['line']}: refused: {message}")
    for file in _empty(report):
        note(f"{file}: {EMPTY}")
    for passed in report["passed_over"]:
        place = f"{passed['file']}:{passed['line']}"
        note(f"{place}: passed over: {passed['word']} changes no schema")
    _print(report, options)
    return compat.exit_code(report)


def report_of(options: Options) -> compat.Report:
    """What the linter says, with the share of aborts where rates are given."""
    _check(options)
    report = lint(options)
    if not report["statements"] and not report["passed_over"]:
        name, *more = report["files"]
        which = f"{name} and {len(more)} more" if more else name
        raise InputError(f"compat: {which}: {EMPTY}; nothing is judged")
    if options.ddl_rate is None:
        return report
    return abort_share.with_rates(report, ddl_rate=options.ddl_rate, tx_length=options.tx_length)


def _empty(report: compat.Report) -> list[str]:
    """The files of a migration in which nothing stands but comments."""
    used = {one["file"] for key in ("statements", "passed_over") for one in report[key]}
    return [file for file in report["files"] if file not in used]


def _print(report: compat.Report, options: Options) -> None:
    if options.output == "text":
        from ddlsim.cli.views import compat as view_compat
        from ddlsim.cli.views.words import console

        view_compat.show(report, console(), from_scratch=bool(options.from_scratch))
        return
    from ddlsim.cli.documents import compat_formats

    streams.write({"json": documents.text, **compat_formats.FORMATS}[options.output](report))


def _check(options: Options) -> None:
    """Just one way to say what there is, and rates in pairs."""
    if options.from_scratch and options.files:
        raise InputError("compat: --from-scratch takes the place of SCHEMA.sql; keep one of them")
    if not options.from_scratch and len(options.files) < 2:
        name = "MIGRATION.sql" if options.files else "SCHEMA.sql"
        raise InputError(f"compat: {name} is missing; or say --from-scratch FILE.sql")
    if (options.ddl_rate is None) != (options.tx_length is None):
        missing = "--tx-length" if options.tx_length is None else "--ddl-rate"
        raise InputError(f"compat: {missing} is missing; the two go together")


def lint(options: Options) -> compat.Report:
    """Judge the files, in order; the first is the schema unless it begins with nothing."""
    named: list[str] = options.from_scratch or options.files
    if named.count(STDIN) > 1:
        raise InputError("compat: - is the standard input, which can be read once")
    read = [[_source(file) for file in files_of(name)] for name in named]
    first = None if options.from_scratch else read.pop(0)
    return compat.lint_files(first, [one for each in read for one in each], options.baseline)


def files_of(name: str) -> list[str]:
    """A file, or the `.sql` files of a folder and below it, by their versions and names.

    Where all are named as Flyway's, they come as Flyway runs them on a new database, wherever they
    lie: the B file of the highest version, V files of higher ones by their versions, then R files
    by their names. What it does not run there is left out.
    """
    if not name:
        raise InputError("compat: the name of a file is empty; name a file of SQL")
    folder = Path(name)
    if name == STDIN or not folder.is_dir():
        return [name]
    below, shut = files.below(folder)
    found = [one for one in below if one.suffix.lower() == SQL]
    if shut:  # what the migration does is not known, and reading says why
        return [str(shut[0])]
    if not found:
        raise InputError(f"{name}: no {SQL} file in this folder")
    return [str(one) for one in _of_flyway(found) or sorted(found, key=_in_order)]


def _of_flyway(found: list[Path]) -> list[Path]:
    """The files in Flyway's order; none unless all have its names, and one a version."""
    around = [one for one in sorted(found) if CALLBACK.fullmatch(one.stem)]
    matched = {one: FLYWAY.fullmatch(one.stem) for one in sorted(found) if one not in around}
    named = {one: match.groups() for one, match in matched.items() if match is not None}
    if len(named) < len(matched) or not {"V", "B"} & {letter for letter, _ in named.values()}:
        return []
    for one in around:
        note(f"{one}: left out: Flyway runs it around its own steps, and counts it as no migration")
    ordered: list[tuple[int, list[int], str, Path]] = []
    begins = max((_numbers(version) for letter, version in named.values() if letter == "B"),
                 default=None)  # fmt: skip
    for one, (letter, version) in named.items():
        number = _numbers(version or "")
        if letter == "U":
            note(f"{one}: left out: Flyway runs it to undo a version, never on the way up")
        elif letter is not None and begins is not None and not _is_run(letter, number, begins):
            note(f"{one}: left out: a B file stands for it on a new database")
        else:
            ordered.append((int(letter is None), number, one.name, one))
    return [one for *_, one in sorted(ordered)]


def _is_run(letter: str, number: list[int], begins: list[int]) -> bool:
    """Whether Flyway runs a B or V file where the highest B file has the version `begins`."""
    return number == begins if letter == "B" else number > begins


def _in_order(path: Path) -> list[tuple[object, ...]]:
    """V2 before V2.1, and that before V10, however the names go on; part by part of the path."""
    return [_versioned(part) for part in path.parts]


def _versioned(name: str) -> tuple[object, ...]:
    found = VERSION.fullmatch(name)
    if found is None:
        return (name, [], [], name)
    letters, version, rest = found.groups()
    return (letters, _numbers(version), natural(rest), name)


def _numbers(version: str) -> list[int]:
    return [int(one) for one in re.split("[._]", version) if one]


def _source(file: str) -> Source:
    """A file with its text; `-` is the standard input."""
    if file != STDIN:
        return Source(file, text_at(file, file))
    try:
        text = sys.stdin.read(files.TEXT_MOST + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {reason(error)}") from None
    if len(text) > files.TEXT_MOST:
        raise InputError(f"stdin: {files.larger(len(text), files.TEXT_MOST)}")
    return Source("stdin", text.removeprefix("\ufeff").replace("\r\n", "\n"))
