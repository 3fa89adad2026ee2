"""The linter on texts instead of files."""

from ddlsim.lint.compat import Report, Source, lint_files


def lint(schema_sql: str | None, migration_sql: str, baseline: str = "iep") -> Report:
    """`lint_files` of one text each; without a schema the migration begins with nothing."""
    schema = None if schema_sql is None else [Source("schema", schema_sql)]
    return lint_files(schema, [Source("migration", migration_sql)], baseline)
