"""The linter: which transactions in flight survive which statement of a migration, by which rule.

The statements are built one after the other upon the schema, just as a node builds them, and each
simple change is judged by the rules of a baseline [110.valid.1]. Two questions are answered.

*Per statement:* does a transaction that has enlisted the object survive it? The verdict names every
rule that matched, in the rules' order, with the column it is about. `objects` are names that the
statement knows, `tables` those of the tables below that it concerns.

*Per table of the schema:* does a transaction survive that has enlisted the table before the first
statement and commits after the last? Tables are followed by their ids, so that renames and drops,
and another table under an old name, mislead nobody. A table that no statement touches is safe
[110.compat.scope]. Views count as tables [110.view].

The baseline `b12` is `iep` where a table may get a NOT NULL column without default, which it can
while it is empty [110.later.2]; here every table is taken to be so.

A statement that the catalog refuses is bad input, as unreadable SQL is: it gets an `error`, its
verdict is null, and what follows is judged as if it did not stand there.
"""

from typing import Any, Final

from sim import sql
from sim.model.ddl import ObjectChange
from sim.model.ops import Get, Scan
from sim.model.schema import Zone
from sim.protocol.catalog import Snapshot
from sim.protocol.compatibility import IEP, RULES, RuleSet, RuleVerdict, judge_step
from sim.protocol.ddl import Built, NoOp, Refused, build
from sim.protocol.mandatory_columns import adds_mandatory_columns
from sim.units import Timestamp

FORMAT: Final = 1
ON_EMPTY_TABLES: Final = "b12"
"""The baseline that takes every table for empty."""
BASELINES: Final = {**RULES, ON_EMPTY_TABLES: IEP}
"""The rules by the name of their baseline."""

Report = dict[str, Any]
"""The JSON document that the interface prescribes, as plain data."""


class RefusedSchemaError(Exception):
    """A statement of the *schema* that the catalog refuses: there is nothing to migrate from."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message, line)
        self.message = message
        self.line = line

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


def lint(schema_sql: str, migration_sql: str, baseline: str = "iep") -> Report:
    """Judge a migration of a schema; raises `sql.SqlError` and `RefusedSchemaError`."""
    migration = _Migration(baseline)
    for parsed in sql.parse(schema_sql):
        migration.assume(parsed)
    migration.follow_all()
    for parsed in sql.parse(migration_sql):
        migration.judge(parsed)
    return migration.report()


def lint_from_scratch(migration_sql: str, baseline: str = "iep") -> Report:
    """Judge a history of statements that begins with nothing.

    A table is followed from its creation on: the transaction has enlisted it right then.
    """
    migration = _Migration(baseline)
    for parsed in sql.parse(migration_sql):
        migration.judge(parsed)
        migration.follow_all()
    return migration.report()


def exit_code(report: Report) -> int:
    """0: every statement is compatible; 1: some are not; 2: some were refused."""
    verdicts = [statement["forward_compatible"] for statement in report["statements"]]
    if None in verdicts:
        return 2
    return 0 if all(verdicts) else 1


class _Migration:
    """The catalog while statements are built upon it, and the verdicts so far."""

    def __init__(self, baseline: str) -> None:
        self._baseline = baseline
        self._rules: RuleSet = BASELINES[baseline]
        self._snapshot = Snapshot()
        self._written: dict[str, str] = {}
        self._followed: dict[int, str] = {}
        self._because: dict[int, int] = {}
        self._statements: list[Report] = []

    def assume(self, parsed: sql.Parsed) -> None:
        """Build a statement of the schema; nothing is judged yet."""
        outcome = self._build(parsed)
        if isinstance(outcome, Refused):
            raise RefusedSchemaError(outcome.message, parsed.line)
        if isinstance(outcome, Built):
            self._install(outcome)

    def follow_all(self) -> None:
        """From here on there are transactions that have enlisted any table or view there is."""
        for found in self._snapshot.objects():
            if not isinstance(found, Zone):
                self._followed.setdefault(found.id, self._shown(found.name))

    def judge(self, parsed: sql.Parsed) -> None:
        """Build a statement of the migration and note what the rules say."""
        outcome = self._build(parsed)
        entry: Report = {"sql": parsed.sql, "line": parsed.line, "objects": [], "tables": []}
        entry |= {"forward_compatible": True, "rules": [], "error": None, "no_op": None}
        if isinstance(outcome, Refused):
            entry["forward_compatible"] = None
            entry["error"] = {"reason": outcome.reason.name, "message": outcome.message}
        elif isinstance(outcome, NoOp):
            entry["no_op"] = outcome.reason
        else:
            entry["objects"] = [self._name(change) for change in outcome.objects]
            used = [one.object_id for one in outcome.objects if one.object_id in self._followed]
            entry["tables"] = [self._followed[object_id] for object_id in used]
            verdicts = [self._judge_object(change) for change in outcome.objects]
            entry["rules"] = [_rule(verdict) for group in verdicts for verdict in group]
            entry["forward_compatible"] = all(
                verdict.compatible for group in verdicts for verdict in group
            )
            self._install(outcome)
        self._statements.append(entry)

    def _judge_object(self, change: ObjectChange) -> tuple[RuleVerdict, ...]:
        """The verdicts on one object; the first "no" is what its transactions abort for."""
        verdicts = judge_step(change, self._rules)
        if not all(verdict.compatible for verdict in verdicts):
            self._because.setdefault(change.object_id, len(self._statements))
        return verdicts

    def report(self) -> Report:
        """What has been found, in the shape of the interface."""
        tables: dict[str, Report] = {}
        for object_id, name in self._followed.items():
            because = self._because.get(object_id)
            if name in tables and (because is None or tables[name]["because"] is not None):
                continue  # two tables bore this name one after the other: the first "no" stays
            tables[name] = {"forward_compatible": because is None, "because": because}
        return {
            "format": FORMAT,
            "baseline": self._baseline,
            "statements": self._statements,
            "tables": tables,
        }

    def _build(self, parsed: sql.Parsed) -> Built | NoOp | Refused:
        if isinstance(parsed.statement, Get | Scan):
            expected = "CREATE, ALTER or DROP"
            raise sql.SqlError("a query is no part of a migration", parsed.line, 1, expected)
        for name, written in parsed.written.items():
            self._written.setdefault(name, written)
        snapshot, statement = self._snapshot, parsed.statement
        mandatory = self._baseline == ON_EMPTY_TABLES and adds_mandatory_columns(statement)
        return build(statement, snapshot, snapshot.next_object_id, mandatory=mandatory)

    def _install(self, built: Built) -> None:
        version = self._snapshot.version + 1
        now = Timestamp(version)
        self._snapshot = self._snapshot.after(version, now, now, built.objects)

    def _name(self, change: ObjectChange) -> str:
        """An object by the name that the statement knows it by."""
        before = self._snapshot.by_id(change.object_id)
        return self._shown(change.name if before is None else before.name)

    def _shown(self, name: str) -> str:
        """A name as it was first written."""
        return self._written.get(name, name)


def _rule(verdict: RuleVerdict) -> Report:
    """A verdict as the interface wants it."""
    return {
        "clause": verdict.clause,
        "verdict": "compatible" if verdict.compatible else "incompatible",
        "reason": verdict.reason,
        "column": verdict.column,
    }
