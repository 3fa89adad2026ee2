"""`ddlsim compat`: which transactions in flight survive which statement of a migration."""

import argparse
from pathlib import Path

from sim import sql
from sim.cli import documents
from sim.cli.problems import InputError, note
from sim.world import abort_share, compat


def execute(options: argparse.Namespace) -> int:
    """Lint, print, and tell the exit code: 0 all compatible, 1 some not, 2 some refused."""
    _check(options)
    report = lint(options)
    if options.ddl_rate is not None:
        report = abort_share.with_rates(
            report, ddl_rate=options.ddl_rate, tx_length=options.tx_length
        )
    for statement in report["statements"]:
        if statement["error"] is not None:
            message = statement["error"]["message"]
            note(f"{migration_of(options)}:{statement['line']}: refused: {message}")
    if options.output == "json":
        print(documents.text(report))
    else:
        from sim.cli import view_compat
        from sim.cli.words import console

        from_scratch = options.from_scratch is not None
        view_compat.show(report, migration_of(options), console(), from_scratch=from_scratch)
    return compat.exit_code(report)


def _check(options: argparse.Namespace) -> None:
    """Just one way to say what there is, and rates in pairs."""
    if options.from_scratch is not None and options.schema is not None:
        raise InputError("compat: --from-scratch takes the place of SCHEMA.sql; keep one of them")
    for name in ("schema", "migration"):
        if options.from_scratch is None and getattr(options, name) is None:
            what = f"{name.upper()}.sql is missing; or say --from-scratch FILE.sql"
            raise InputError(f"compat: {what}")
    if (options.ddl_rate is None) != (options.tx_length is None):
        missing = "--tx-length" if options.tx_length is None else "--ddl-rate"
        raise InputError(f"compat: {missing} is missing; the two go together")


def migration_of(options: argparse.Namespace) -> str:
    """The file whose statements are judged."""
    name: str = options.migration if options.from_scratch is None else options.from_scratch
    return name


def lint(options: argparse.Namespace) -> compat.Report:
    """Judge the files; what is wrong with one is told with its name and line."""
    migration = _readable(migration_of(options))
    if options.from_scratch is not None:
        return _judged(options.from_scratch, options.from_scratch, "", migration, options.baseline)
    schema = _readable(options.schema)
    return _judged(options.schema, options.migration, schema, migration, options.baseline)


def _readable(file: str) -> str:
    """The text of a file that is SQL."""
    try:
        text = Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{file}: {why}") from None
    try:
        sql.parse(text)
    except sql.SqlError as error:
        raise InputError(_told(file, error)) from None
    return text


def _judged(
    schema_file: str, migration_file: str, schema: str, migration: str, baseline: str
) -> compat.Report:
    try:
        if schema_file == migration_file:
            return compat.lint_from_scratch(migration, baseline)
        return compat.lint(schema, migration, baseline)
    except compat.RefusedSchemaError as error:
        raise InputError(f"{schema_file}:{error.line}: {error.message}") from None
    except sql.SqlError as error:  # a query, which is SQL but no DDL
        raise InputError(_told(migration_file, error)) from None


def _told(file: str, error: sql.SqlError) -> str:
    return f"{file}:{error.line}:{error.column}: {error.message}; expected {error.expected}"
