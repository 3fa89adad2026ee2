"""Reports of the linter for CI systems: JUnit XML, SARIF, and annotations of GitHub."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import ddlsim
from ddlsim.cli.documents import junit
from ddlsim.escape import escaped
from ddlsim.model.clauses import CLAUSES

SARIF_VERSION: Final = "2.1.0"
STEPS_MOST: Final = 12
"""A line tells no more steps than these."""
SQL_MOST: Final = 300
"""Characters of a statement within a message."""
REFUSED: Final = "refused"
"""The rule of a statement that the catalog refuses."""


class Problem(NamedTuple):
    """A statement that does not pass: `level` is error, or note where a comment ignores it."""

    level: str
    rule: str
    message: str
    statement: dict[str, Any]


def problems(report: dict[str, Any]) -> Iterator[Problem]:
    """One for each rule that forbids a statement, and one for each refusal."""
    for one in report["statements"]:
        if one["error"] is not None:
            yield Problem("error", REFUSED, one["error"]["message"], one)
            continue
        level = "error" if one["ignored"] is None else "note"
        instead = _remedy(one)
        for rule in one["rules"]:
            if rule["verdict"] == "incompatible":
                column = f"column {rule['column']}: " if rule["column"] else ""
                text = f"transactions in flight abort: {column}{rule['reason']}"
                yield Problem(level, rule["clause"], text + instead, one)
                instead = ""


def _remedy(statement: dict[str, Any]) -> str:
    """The steps in a line; they stand beside the first problem of a statement only."""
    steps = [
        one["do"] + (f": {in_a_line(one['sql'])}" if one["sql"] else "")
        for one in statement["remedy"]
    ]
    if not steps:
        return ""
    if len(steps) > STEPS_MOST:
        steps[STEPS_MOST:] = [f"... {len(steps)} steps in all: `ddlsim compat` shows them"]
    return "; instead: " + "; ".join(f"{at}. {text}" for at, text in enumerate(steps, 1))


def in_a_line(sql: str) -> str:
    """SQL without its line breaks, and cut where it is long."""
    line = " ".join(sql.split())
    return line if len(line) <= SQL_MOST else f"{line[:SQL_MOST]} ..."


def junit_text(report: dict[str, Any]) -> str:
    """A test for each statement."""
    found: dict[int, list[Problem]] = {}
    for problem in problems(report):
        found.setdefault(id(problem.statement), []).append(problem)
    return junit.text("ddlsim compat", report["baseline"], [
        _case(one, found.get(id(one), [])) for one in report["statements"]
    ])  # fmt: skip


def _case(statement: dict[str, Any], wrong: list[Problem]) -> junit.TestCase:
    name = f"{statement['file']}:{statement['line']}: {in_a_line(statement['sql'])}"
    errors = [one for one in wrong if one.level == "error"]
    if not errors:
        return junit.TestCase(name)
    kind = "error" if errors[0].rule == REFUSED else "failure"
    text = "\n".join(f"[{one.rule}] {one.message}" for one in errors)
    return junit.TestCase(name, kind, errors[0].rule, errors[0].message, text)


def sarif_text(report: dict[str, Any]) -> str:
    """Static analysis results, as code hosts read them."""
    found = list(problems(report))
    meaning = {clause.id: clause.sentence for clause in CLAUSES}
    meaning[REFUSED] = "the catalog refuses the statement"
    rules = [
        {"id": rule, "shortDescription": {"text": meaning[rule]}}
        for rule in sorted({one.rule for one in found})
    ]
    driver = {"name": "ddlsim", "version": ddlsim.__version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(one) for one in found]}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": SARIF_VERSION,
        "runs": [run],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _result(problem: Problem) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": problem.statement["file"]},
        "region": {
            "startLine": problem.statement["line"],
            "startColumn": problem.statement["column"],
        },
    }
    result: dict[str, Any] = {
        "ruleId": problem.rule,
        "level": problem.level,
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": place}],
    }
    if problem.level == "note":
        why = problem.statement["ignored"]["reason"]
        result["suppressions"] = [{"kind": "inSource", "justification": why}]
    return result


def github_text(report: dict[str, Any]) -> str:
    """A workflow command in a line for each problem; empty where there is none."""
    lines = []
    for one in problems(report):
        word = "error" if one.level == "error" else "notice"
        place = one.statement
        given = {"file": place["file"], "line": place["line"], "col": place["column"]}
        given["title"] = f"ddlsim {one.rule}"
        said = ",".join(f"{key}={_property(str(value))}" for key, value in given.items())
        lines.append(f"::{word} {said}::{_data(escaped(one.message))}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMATS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "junit": junit_text,
    "sarif": sarif_text,
    "github": github_text,
}
