"""`expect` of a step, read strictly: its outcome, its instants, and the version it runs on.

    "ok"                                     also "unknown"
    { aborts = "SCHEMA_CHANGED" }            and its transaction is over
    { fails = ["DDL_REFUSED", "OBJECT_EXISTS"] }   for one of these reasons
    { rows = [{ id = 1, w = { null = true } }] }
    { answer = false }                       of an insert: there was a row already

and beside any of these, or alone for a success: `waits_until_ms`, `version`, `commit_ts_ms`,
`tu_ms`. What is impossible, such as rows of a put or a Tu of a read, is an error with its line.
"""

from typing import Any, Final

from ddlsim.model.ops import Commit, Conditional, DataOperation, Ddl, Operation, Read
from ddlsim.model.reasons import Reason
from ddlsim.scenario.checks import check_reason
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, near

WORDS: Final = ("ok", "unknown")
ENDS: Final = ("outcome", "aborts", "fails", "rows", "answer")
"""At most one of these; without any the step must succeed."""
TIMES: Final = ("waits_until_ms", "commit_ts_ms", "tu_ms")
SUCCESSES: Final = ("version", "commit_ts_ms", "tu_ms")
"""Keys that only a step that succeeds can have."""
KINDS: Final = (*ENDS, "exact", *TIMES, "version", "tolerance_ms")
CELLS: Final = ({"null": True}, {"absent": True})


def read_step_expect(
    expect: str | dict[str, Any], do: Operation, *, implicit: bool, origin: Origin, path: Path
) -> str | dict[str, Any]:
    """The expectation, checked for what the step does; raises `ScenarioError`."""
    if isinstance(expect, str):
        if expect not in WORDS:
            what = f'"{expect}" is not an expectation; use "ok", "unknown" or a table of '
            what += ", ".join(KINDS)
            if expect in Reason.__members__:
                what = f'a reason stands in a table: {{ fails = "{expect}" }}, or aborts'
            raise origin.error(path, what)
        return expect
    for key, value in expect.items():
        if key not in KINDS:
            raise origin.error((*path, key), f"unknown key; {near(key, KINDS)}")
        _check_value(key, value, origin, (*path, key))
    _check_together(expect, origin, path)
    _check_possible(expect, do, implicit=implicit, origin=origin, path=path)
    return expect


def reasons_of(value: str | list[str]) -> list[str]:
    """One reason, or any of several."""
    return [value] if isinstance(value, str) else value


def _check_value(key: str, value: Any, origin: Origin, path: Path) -> None:
    if key in ("aborts", "fails"):
        if isinstance(value, list) and not value:
            raise origin.error(path, "must not be empty")
        for reason in value if isinstance(value, list) else [value]:
            check_reason(reason, origin, path)
    elif key == "outcome" and value not in WORDS:
        raise origin.error(path, f'expected "ok" or "unknown", not {value!r}')
    elif key.endswith("_ms") and (type(value) not in (int, float) or not value >= 0):
        raise origin.error(path, f"expected milliseconds, not {value!r}")
    elif key == "version" and (type(value) is not int or value < 1):
        raise origin.error(path, f"expected a schema version, 1 or more, not {value!r}")
    elif key in ("exact", "answer") and type(value) is not bool:
        raise origin.error(path, f"expected true or false, not {value!r}")
    elif key == "rows":
        _check_rows(value, origin, path)


def _check_rows(rows: Any, origin: Origin, path: Path) -> None:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise origin.error(path, "expected a list of rows: [{ id = 1, v = 5 }]")
    for number, row in enumerate(rows):
        for name, cell in row.items():
            if isinstance(cell, bool | int | float | str):
                continue
            if cell not in CELLS:
                what = "expected a value, { null = true } or { absent = true }"
                raise origin.error((*path, number, name), what)


def _check_together(expect: dict[str, Any], origin: Origin, path: Path) -> None:
    ends = [key for key in ENDS if key in expect]
    if len(ends) > 1:
        raise origin.error(path, f"expect just one of {', '.join(ENDS)}, not {' and '.join(ends)}")
    if not ends and not any(key in expect for key in (*TIMES, "version")):
        if "tolerance_ms" in expect:
            raise origin.error(path, "tolerance_ms is the tolerance of waits_until_ms")
        raise origin.error(path, f"expected one of {', '.join((*ENDS, *TIMES, 'version'))}")
    if "tolerance_ms" in expect and not any(key in expect for key in TIMES):
        raise origin.error(path, "tolerance_ms is the tolerance of waits_until_ms")
    if "exact" in expect and "rows" not in expect:
        raise origin.error((*path, "exact"), "needs rows")
    failed = "aborts" in expect or "fails" in expect or expect.get("outcome") == "unknown"
    for key in SUCCESSES:
        if failed and key in expect:
            raise origin.error((*path, key), "only a step that succeeds has one")


def _check_possible(
    expect: dict[str, Any], do: Operation, *, implicit: bool, origin: Origin, path: Path
) -> None:
    """Check that this kind of step can have such an outcome."""
    data = isinstance(do, DataOperation)
    for key, possible, what in (
        ("aborts", not isinstance(do, Ddl), "DDL is in no transaction; say fails"),
        ("rows", isinstance(do, Read), "only a read has rows"),
        ("answer", isinstance(do, Conditional), "only insert, replace and UPDATE have one"),
        ("version", data or isinstance(do, Ddl), "only an operation on rows or DDL has a version"),
        ("tu_ms", isinstance(do, Ddl), "only DDL activates anything"),
        (
            "commit_ts_ms",
            isinstance(do, Commit) or (data and implicit),
            "only a commit, or an operation that is a transaction of its own, commits",
        ),
    ):
        if key in expect and not possible:
            raise origin.error((*path, key), what)
