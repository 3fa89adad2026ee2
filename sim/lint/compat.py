"""The linter: which transactions in flight survive which statement of a migration, by which rule.

The statements are built one after the other upon the schema, just as a node builds them, and each
simple change is judged by the rules of a baseline [110.valid.1]. Two questions are answered.

*Per statement:* does a transaction that has enlisted the object survive it? The verdict names every
rule that matched, in the rules' order, with the column it is about. `objects` are names that the
statement knows, `tables` those of the tables below that it concerns: views with what they read.

*Per table of the schema:* does a transaction survive that has enlisted the table before the first
statement and commits after the last? Tables are followed by their ids, so that renames and drops,
and another table under an old name, change no answer. A table that no statement touches is safe
[110.compat.scope]. Views count as tables [110.view].

A baseline is the rules of a design and what its catalog refuses, by the very functions with which
the simulator runs it. `ignite3` refuses types that do not become wider, and SET NOT NULL. `b12` is
`iep` where a table may get a NOT NULL column without default, which it can while it is empty
[110.later.2]; here every table is taken to be so.

*Backward* [110.back]: may a transaction that used the table before a statement still read or write
there after it? By IEP-110 never; Ignite 3 as shipped counts some changes as no new version of the
table. `backward_compatible` says it of each statement and table.

A statement that the catalog refuses gets an `error`, its verdict is null, and what follows is
judged as if it did not stand there. What changes no schema is passed over, and listed. A comment
`-- ddlsim: ignore [CLAUSE ...] [reason]` on a line of a statement, or on lines of its own right
above it, keeps its incompatible verdict out of the exit code; with clauses, only if no other clause
forbids it. Each incompatible statement comes with the steps of a `remedy` (`compat_remedies`).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from ddlsim import sql
from ddlsim.lint.draft import Ground
from ddlsim.lint.remedies import remedy, remedy_of_refused
from ddlsim.model.clauses import CLAUSES
from ddlsim.model.ddl import ObjectChange, ObjectCreated, Statement
from ddlsim.model.ops import Get, Scan
from ddlsim.model.schema import View, Zone
from ddlsim.problems import BadInputError
from ddlsim.protocol.design.as_shipped import NO_TABLE_VERSION
from ddlsim.protocol.design.flows import allowed
from ddlsim.protocol.design.mandatory_columns import adds_mandatory_columns
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.compatibility import RULES, RuleSet, RuleVerdict, judge_step
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.script import SchemaScript
from ddlsim.strategies.base import STRATEGIES
from ddlsim.units import Timestamp

FORMAT: Final = 1
KNOWN: Final = frozenset(clause.id for clause in CLAUSES)
REFUSED: Final = 3
"""The exit code where the catalog refuses a statement."""
ON_EMPTY_TABLES: Final = "b12"
"""The baseline that takes every table for empty."""
AS_SHIPPED: Final = "ignite3"
"""The baseline of the shipped code, whose catalog lets columns become wider only."""


class Baseline(NamedTuple):
    """The rules by which statements are judged, and the design whose catalog takes or refuses."""

    rules: RuleSet
    strategy: str


BASELINES: Final = {
    "iep": Baseline(RULES["iep"], "iep"),
    AS_SHIPPED: Baseline(RULES[AS_SHIPPED], "ignite3"),
    ON_EMPTY_TABLES: Baseline(RULES["iep"], "b12_two_step"),
}
"""What is judged by which design, by the name of the baseline."""

Report = dict[str, Any]
"""The JSON document that the interface prescribes, as plain data."""


class Source(NamedTuple):
    """A file of statements: its name, and its text."""

    file: str
    text: str


class RefusedSchemaError(BadInputError):
    """A statement of the *schema* that the catalog refuses: there is nothing to migrate from."""

    def __init__(self, message: str, file: str, line: int) -> None:
        super().__init__(message, file, line)
        self.message = message
        self.file = file
        self.line = line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class UnreadableError(BadInputError):
    """Everything in the files that is no SQL: lines of `file:line:column: what; expected …`."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(*lines)
        self.lines = tuple(lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def lint_files(
    schema: Sequence[Source] | None, migration: Sequence[Source], baseline: str = "iep"
) -> Report:
    """Judge a migration of a schema, each of them several files in order.

    Without a schema the migration begins with nothing, and a table is followed from its creation
    on: the transaction has enlisted it right then. Raises `UnreadableError` with everything that is
    no SQL, and `RefusedSchemaError`.
    """
    before, scripts = _read(schema or ()), _read(migration)
    wrong = [
        f"{file}:{error.line}:{error.column}: {error.message}; expected {error.expected}"
        for file, script in (*before, *scripts)
        for error in script.errors
    ]
    wrong += [line for file, script in scripts for line in _misspelt(file, script)]
    if wrong:
        raise UnreadableError(wrong)
    judging = _Migration(baseline, [one for _, script in before for one in script.statements])
    for file, script in before:
        for parsed in script.statements:
            judging.assume(file, parsed)
    judging.follow_all()
    for file, script in scripts:
        for parsed in script.statements:
            judging.judge(file, parsed, _ignores(script, parsed))
            if schema is None:
                judging.follow_all()
    passed = [
        {"file": file, "line": one.line, "column": one.column, "sql": one.sql, "word": one.word}
        for file, script in scripts
        for one in script.passed_over
    ]
    return {**judging.report(), "files": [one.file for one in migration], "passed_over": passed}


def _read(sources: Iterable[Source]) -> list[tuple[str, sql.Script]]:
    return [(source.file, sql.parse_script(source.text)) for source in sources]


def exit_code(report: Report) -> int:
    """0: every statement is compatible or ignored; 1: some are not; 3: some were refused."""
    verdicts = [one["forward_compatible"] for one in report["statements"] if one["ignored"] is None]
    if any(one["error"] is not None for one in report["statements"]):
        return REFUSED
    return 0 if all(verdicts) else 1


# --- comments that ask for a verdict to be ignored -----------------------------------------------

_CLAUSE: Final = re.compile(r"(?:98|110)(?:\.\w+)*|\d+(?:\.\w+)+")
IGNORE: Final = "ignore"
"""The one request that a comment may make."""


class Ignored(NamedTuple):
    """A comment that keeps verdicts out of the exit code: of these clauses, or of all."""

    clauses: tuple[str, ...]
    reason: str


def _ignored(text: str) -> Ignored:
    """What stands behind `ddlsim: ignore`: clauses first, then why."""
    words = text.split()
    clauses: list[str] = []
    while words and _CLAUSE.fullmatch(words[0].rstrip(",:;")):
        clauses.append(words.pop(0).rstrip(",:;"))
    return Ignored(tuple(clauses), " ".join(words).strip(" ,:;-"))


def _ignores(script: sql.Script, parsed: sql.Parsed) -> Ignored | None:
    """What the comments about a statement ask for together."""
    lines = range(parsed.line, parsed.end_line + 1)
    found = [_ignored(one.text) for one in script.requests if one.about in lines]
    if not found:
        return None
    every = all(one.clauses for one in found)
    clauses = tuple(clause for one in found for clause in one.clauses) if every else ()
    return Ignored(clauses, "; ".join(one.reason for one in found if one.reason))


def _misspelt(file: str, script: sql.Script) -> Iterable[str]:
    """Comments that ask for what there is not, name no clause, or concern no statement."""
    used = {line for one in script.statements for line in range(one.line, one.end_line + 1)}
    for one in script.requests:
        if one.word != IGNORE:
            yield f"{file}:{one.line}: no request is called ddlsim: {one.word}; write {IGNORE}"
            continue
        for clause in _ignored(one.text).clauses:
            if clause not in KNOWN:
                what = f"ddlsim: ignore names no clause {clause}; see list clauses"
                yield f"{file}:{one.line}: {what}"
        if one.about not in used:
            yield f"{file}:{one.line}: ddlsim: ignore stands beside no DDL; put it right above some"


class Build(Protocol):
    """What turns a statement into changes: `ddl.build`, or that of a schema."""

    def __call__(
        self, statement: Statement, snapshot: Snapshot, next_object_id: int, *, mandatory: bool
    ) -> Built | NoOp | Refused: ...


class _Migration:
    """The catalog while statements are built upon it, and the verdicts so far.

    `schema` are the statements that are assumed.
    """

    def __init__(self, baseline: str, schema: Sequence[sql.Parsed] = ()) -> None:
        self._baseline = baseline
        self._schema = SchemaScript(one.statement for one in schema)
        self._rules, strategy = BASELINES[baseline]
        self._design = STRATEGIES.get(strategy)
        self._snapshot = Snapshot()
        self._written: dict[str, str] = {}
        self._followed: dict[int, str] = {}
        self._because: dict[int, int] = {}
        self._changed: dict[int, int] = {}
        self._uses: dict[int, frozenset[int]] = {}
        self._statements: list[Report] = []

    def assume(self, file: str, parsed: sql.Parsed) -> None:
        """Build a statement of the schema; nothing is judged yet."""
        outcome = self._build(parsed, self._schema.build)
        if isinstance(outcome, Refused):
            raise RefusedSchemaError(outcome.message, file, parsed.line)
        if isinstance(outcome, Built):
            self._install(outcome)

    def follow_all(self) -> None:
        """From here on there are transactions that have enlisted any table or view there is."""
        for found in self._snapshot.objects():
            if not isinstance(found, Zone):
                self._followed.setdefault(found.id, self._shown(found.name))
                self._uses.setdefault(found.id, frozenset(self._enlisted(found.id)))

    def _enlisted(self, object_id: int) -> Iterable[int]:
        """What a transaction enlists with an object: what views read, through all of them."""
        yield object_id
        found = self._snapshot.by_id(object_id)
        for one in found.tables if isinstance(found, View) else ():
            yield from self._enlisted(one)

    def judge(self, file: str, parsed: sql.Parsed, ignored: Ignored | None = None) -> None:
        """Build a statement of the migration and note what the rules say."""
        outcome = self._build(parsed)
        entry: Report = {"sql": parsed.sql, "file": file, "line": parsed.line}
        entry |= {"column": parsed.column, "objects": [], "tables": []}
        entry |= {"forward_compatible": True, "backward_compatible": True, "rules": []}
        entry |= {"error": None, "no_op": None, "remedy": [], "ignored": None}
        if isinstance(outcome, Refused):
            entry["forward_compatible"] = entry["backward_compatible"] = None
            entry["error"] = {"reason": outcome.reason.name, "message": outcome.message}
            entry["remedy"] = remedy_of_refused(_ddl(parsed), parsed.sql, self._ground())
        elif isinstance(outcome, NoOp):
            entry["no_op"] = outcome.reason
        else:
            entry["objects"] = [self._name(change) for change in outcome.objects]
            changed = {one.object_id for one in outcome.objects}
            entry["tables"] = [
                name for one, name in self._followed.items() if changed & self._uses[one]
            ]
            verdicts = [self._judge_object(change) for change in outcome.objects]
            entry["rules"] = [_rule(verdict) for group in verdicts for verdict in group]
            entry["forward_compatible"] = all(
                verdict.compatible for group in verdicts for verdict in group
            )
            entry["backward_compatible"] = self._judge_backward(outcome)
            if not entry["forward_compatible"]:
                [change] = outcome.objects
                entry["remedy"] = remedy(change, parsed.sql, self._ground())
                entry["ignored"] = _applies(ignored, entry["rules"])
            self._install(outcome)
        self._statements.append(entry)

    def _judge_backward(self, built: Built) -> bool:
        """Whether transactions may go on to use all that the statement changes [110.back]."""
        fine = NO_TABLE_VERSION if self._baseline == AS_SHIPPED else ()
        allowed = True
        for change in built.objects:
            new = isinstance(change.changes[0], ObjectCreated) or change.kind == "zone"
            if not new and not all(isinstance(one, fine) for one in change.changes):
                allowed = False
                self._changed.setdefault(change.object_id, len(self._statements))
        return allowed

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
            because = self._first(self._because, object_id)
            changed = self._first(self._changed, object_id)
            if name in tables and (because is None or tables[name]["because"] is not None):
                continue  # two tables bore this name one after the other: the first "no" stays
            tables[name] = {
                "forward_compatible": because is None,
                "because": because,
                "backward_compatible": changed is None,
                "changed_by": changed,
            }
        return {
            "format": FORMAT,
            "baseline": self._baseline,
            "statements": self._statements,
            "tables": tables,
        }

    def _first(self, statements: dict[int, int], object_id: int) -> int | None:
        """The first statement that concerns an object, or a table that it reads [110.view]."""
        used = self._uses[object_id]
        return min((statements[one] for one in used if one in statements), default=None)

    def _build(self, parsed: sql.Parsed, build: Build = build) -> Built | NoOp | Refused:
        for name, written in parsed.written.items():
            self._written.setdefault(name, written)
        return self._outcome(_ddl(parsed), self._snapshot, build)

    def _outcome(
        self, statement: Statement, snapshot: Snapshot, build: Build = build
    ) -> Built | NoOp | Refused:
        """What the baseline's catalog makes of a statement."""
        mandatory = self._baseline == ON_EMPTY_TABLES and adds_mandatory_columns(statement)
        built = build(statement, snapshot, snapshot.next_object_id, mandatory=mandatory)
        return allowed(self._design, built)

    def _ground(self) -> Ground:
        """What a remedy of the next statement is carried out upon."""
        tightens = self._baseline != AS_SHIPPED
        return Ground(self._snapshot, self._outcome, self._rules, tightens)

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


def _ddl(parsed: sql.Parsed) -> Statement:
    """The statement, which is no query."""
    assert not isinstance(parsed.statement, Get | Scan), "a script passes over queries"
    return parsed.statement


def _applies(ignored: Ignored | None, rules: list[Report]) -> Report | None:
    """A comment's answer, if it covers every clause that forbids the statement."""
    if ignored is None:
        return None
    forbidding = {one["clause"] for one in rules if one["verdict"] == "incompatible"}
    if ignored.clauses and not forbidding <= set(ignored.clauses):
        return None
    return {"clauses": sorted(forbidding), "reason": ignored.reason}


def _rule(verdict: RuleVerdict) -> Report:
    """A verdict as the interface wants it."""
    return {
        "clause": verdict.clause,
        "verdict": "compatible" if verdict.compatible else "incompatible",
        "reason": verdict.reason,
        "column": verdict.column,
    }
