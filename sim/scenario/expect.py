"""What a scenario expects of its run: `expect`, and `expect_under` for other designs.

`"ok"`, or the judges that find something and perhaps the signature of what they find:
`{ violated = ["I1"] }`, `{ stuck = ["liveness"] }`, `{ finding = "F-2", signature = "I3 ..." }`.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.outcome import STATUSES
from ddlsim.mutants.base import MUTANTS
from ddlsim.scenario.findings import described
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, few, near
from ddlsim.scenario.tables import ScenarioTable
from ddlsim.strategies.base import DESIGNS

WORDS: Final = ("ok", "stuck", "vacuous")


def judges_expected(expect: str | Mapping[str, Any]) -> tuple[str, ...]:
    """The invariants and checkers that are expected to find a breach, or what never ends."""
    if isinstance(expect, str):
        return ("liveness",) if expect == "stuck" else ()
    return tuple(name for kind in STATUSES for name in expect.get(kind, ()))


def label_of(strategy: str, mutant: str | None) -> str:
    """A design's label in results and in `expect_under`: `iep`, `iep + no_commit_check`."""
    return strategy if mutant is None else f"{strategy} + {mutant}"


def check_design(label: str, origin: Origin, path: Path) -> None:
    """Check that the strategy is known, and the mutant after ` + `."""
    strategy, plus, mutant = label.partition(" + ")
    check_strategy(strategy, origin, path)
    if plus:
        check_mutant(mutant, origin, path)


def check_strategy(name: str, origin: Origin, path: Path) -> None:
    """Check that a strategy is known."""
    if name not in DESIGNS:
        raise origin.error(path, f"no strategy is called {name!r}; {near(name, DESIGNS)}")


def check_mutant(name: str, origin: Origin, path: Path) -> None:
    """Check that a mutant is known."""
    if name not in MUTANTS:
        what = f"no mutant is called {name!r}; {few(name, MUTANTS, 'ddlsim list mutants')}"
        raise origin.error(path, what)


def expect_of(table: ScenarioTable, design: str, origin: Origin) -> str | dict[str, Any]:
    """The expected outcome under a design: its own entry of `expect_under`, else `expect`."""
    expect = read_expect(table.expect, origin)
    for label, one in table.expect_under.items():
        check_design(label, origin, ("expect_under", label))
        own = read_expect(one, origin, ("expect_under", label))
        expect = own if label == design else expect
    return expect


def read_expect(
    expect: str | dict[str, Any], origin: Origin, path: Path = ("expect",)
) -> str | dict[str, Any]:
    """The expected outcome, checked; a single checker becomes a list."""
    known = '"ok", "stuck", "vacuous", { violated = ["I1"] } or { finding = "F-2" }'
    if isinstance(expect, str):
        if expect not in WORDS:
            raise origin.error(path, f"expected {known}, not {expect!r}")
        return expect
    if not isinstance(expect, dict):
        raise origin.error(path, f"expected {known}")
    kinds = expect.keys() - {"signature"}
    if len(kinds) != 1 or not kinds <= {"finding", *STATUSES}:
        raise origin.error(path, f"expected {known}")
    (kind,) = kinds
    value: Any = expect[kind]
    if kind in STATUSES:
        value = _checkers(value, origin, (*path, kind))
    elif not re.fullmatch(r"F-\d+", str(value)):
        raise origin.error((*path, kind), 'expected the id of a finding, such as "F-2"')
    if "signature" not in expect:
        return {kind: value}
    signature = expect["signature"]
    if not isinstance(signature, str) or not signature:
        raise origin.error((*path, "signature"), "expected the signature that ddlsim shrink prints")
    return {kind: value, "signature": signature}


def _checkers(value: Any, origin: Origin, path: Path) -> list[str]:
    """The names of invariants or checkers; a single one becomes a list."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise origin.error(path, 'expected invariants or checkers, such as ["I1", "own_ddl"]')
    judges = [*CHECKERS, *dict.fromkeys(one.invariant for _, one in CHECKERS.items())]
    for name in names:
        if name not in judges:
            what = f"{name!r} is neither an invariant nor a checker; {near(name, judges)}"
            raise origin.error(path, what)
    return names


def check_finding(table: ScenarioTable, expect: str | dict[str, Any], origin: Origin) -> None:
    """Check that a file with `[finding]` expects it, and that an expected finding is known."""
    finding = table.finding
    wanted = expect.get("finding") if isinstance(expect, dict) else None
    if wanted is not None and finding is None:
        known = [one.id for one in described()]
        if wanted not in known:
            what = f"no finding is called {wanted!r}; ddlsim list scenarios shows findings/F-n"
            raise origin.error(("expect", "finding"), what)
    if finding is not None and wanted != finding.id:
        what = f'describes {finding.id}; say expect = {{ finding = "{finding.id}" }}'
        raise origin.error(("finding", "id"), what)
