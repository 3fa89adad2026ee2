"""Golden texts of the command line: results made by hand, as people read them at 80 columns.

python -m tests.golden.cli --write     renews the texts; review the difference
"""

import contextlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.documents import documents, junit
from ddlsim.cli.documents.run import Report, case_of
from ddlsim.cli.verbs.check_foreign import Foreign
from ddlsim.cli.views import (
    compare as view_compare,
)
from ddlsim.cli.views import (
    compare_pages,
)
from ddlsim.cli.views import (
    compat as view_compat,
)
from ddlsim.cli.views import (
    run as view,
)
from ddlsim.cli.views import (
    verify as view_verify,
)
from ddlsim.cli.views.words import console
from ddlsim.foreign.witness.records import Log, load, parse
from ddlsim.foreign.witness.report import report
from ddlsim.foreign.witness.witness import judge_log
from ddlsim.lint import compat
from ddlsim.lint.compat import Source
from ddlsim.verify import abort_share
from ddlsim.verify.suite import Trial
from ddlsim.verify.verification import verification
from tests.support.compared import a_table
from tests.support.results import a_crash, a_cycle, a_report, a_row, a_violation, some_figures
from tests.unit.verify.test_suite import a_case, a_mutant_case

FOLDER = Path(__file__).parent / "cli"
WITNESS = Path(__file__).parents[2] / "scenarios" / "witness"
SCHEMA = """CREATE TABLE orders (id INT PRIMARY KEY, v INT, w VARCHAR(10));
CREATE TABLE c (id INT PRIMARY KEY)"""
MIGRATION = """ALTER TABLE orders ADD COLUMN note VARCHAR;
ALTER TABLE orders DROP COLUMN v;
ALTER TABLE nobody DROP COLUMN v;
ALTER TABLE orders ALTER COLUMN w SET DATA TYPE VARCHAR(20)"""


def ok() -> Report:
    return a_report(a_row(), reaches=("completeness-wait",))


def violated() -> Report:
    return a_report(a_row(7, a_violation(), a_cycle("accepted", because="nobody claims it")))


def many() -> Report:
    """Several seeds: what is the same is told once."""
    other = a_cycle(kind="G2-predicate", summary="another cycle")
    clean = [a_row(seed) for seed in range(20, 40)]
    return a_report(
        a_row(3, a_violation(), a_violation(summary="the same of T2"), a_cycle()),
        a_row(4, a_cycle(), other),
        a_row(5, a_cycle("finding:F-99", because="explained by F-99")),
        a_row(6, a_violation(status="out_of_assumption", because="the skew was more than CSmax")),
        *clean,
        expect={"violated": ["I1", "I8"]},
        reaches=("completeness-wait", "leader-changed"),
    )


def troubled() -> Report:
    """Crashes, operations that never end, steps that are missed."""
    stuck = "c1.3 of c1 never ended: it waits for an answer to commit from n2"
    missed = "step r1 (line 12): expected ok, got SCHEMA_CHANGED"
    return a_report(
        a_crash(1),
        a_crash(2),
        a_row(3, outcome=Outcome.STUCK, stuck=(stuck,)),
        a_row(4, missed=(missed,)),
        a_row(5, outcome=Outcome.UNKNOWN, unjudged=("I1",)),
    )


def vacuous() -> Report:
    return a_report(a_row(), reaches=("leader-changed", "completeness-wait"))


def large() -> Report:
    """Numbers that still fit."""
    figures = some_figures(attempts=12_345_678, committed=11_000_000, events=9_876_543_210)
    return a_report(a_row())._replace(figures=figures)


def text(report: Report) -> str:
    return printed(lambda: view.show(report, console()))


def printed(tell: Callable[[], Any]) -> str:
    """What is written to stdout where that is no terminal."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        tell()
    return out.getvalue()


def linted() -> str:
    schema, migration = Source("schema.sql", SCHEMA), Source("m", MIGRATION)
    report = compat.lint_files([schema], [migration], "iep")
    report = abort_share.with_rates(report, ddl_rate=0.1, tx_length=2)
    return printed(lambda: view_compat.show(report, console()))


def verified() -> str:
    """A kill, a survivor, a mutant that had one run, broken claims, a scenario without luck."""
    guilty = [Trial(a_row(seed, *[a_violation()][: seed % 2]), a_row(seed)) for seed in range(6)]
    suite = [
        (a_mutant_case(expect={"violated": ["I1"]}), guilty),
        (
            a_mutant_case(mutant="decides_again", judge="forward_compatible"),
            [Trial(a_row(seed, a_cycle("accepted")), a_row(seed)) for seed in range(6)],
        ),
        (a_mutant_case(mutant="open_boundary"), [Trial(a_row(0), a_row(0))]),
        (a_case(reaches=("leader-changed",)), [Trial(a_row(0)), Trial(a_row(1, a_cycle()))]),
        (a_case(kind="claims", strategy="iep_literal"), [Trial(a_row(0, a_cycle()))]),
        (a_case(kind="claims", strategy="a5_safetime", under="a5_safetime"), []),
    ]
    cases, trials = zip(*suite, strict=True)
    result = verification(cases, trials, range(6), every_mutant=False)
    return printed(lambda: view_verify.show(result, console()))


def witness(name: str) -> str:
    """A shipped witness log, judged."""
    return _witness(f"{name}.jsonl", load(str(WITNESS / f"{name}.jsonl")))


def _witness(file: str, log: Log) -> str:
    judged = Foreign(file, "witness", report(judge_log(log)))
    return printed(lambda: judged.show(console()))


def doubtful() -> str:
    """A witness log of which parts cannot be judged."""
    log = parse([*(WITNESS / "clean.jsonl").read_bytes().splitlines()[:-3], b"{"], "cut.jsonl")
    return _witness("cut.jsonl", log)


def cases() -> str:
    report = troubled()
    return junit.text(
        "ddlsim run", "smoke", [case_of(r, f"seed {r.seed}") for r in report.sum.runs]
    )


STORIES: dict[str, Callable[[], str]] = {
    "compare.txt": lambda: printed(lambda: view_compare.show(a_table(), console())),
    "compare.md": lambda: compare_pages.markdown(a_table()),
    "run_ok.txt": lambda: text(ok()),
    "run_violated.txt": lambda: text(violated()),
    "run_many.txt": lambda: text(many()),
    "run_troubled.txt": lambda: text(troubled()),
    "run_vacuous.txt": lambda: text(vacuous()),
    "run_large.txt": lambda: text(large()),
    "run_violated.json": lambda: documents.text(violated().document()) + "\n",
    "run_troubled.xml": lambda: cases() + "\n",
    "compat.txt": linted,
    "verify.txt": verified,
    "witness_clean.txt": lambda: witness("clean"),
    "witness_atomicity.txt": lambda: witness("atomicity"),
    "witness_own_ddl.txt": lambda: witness("own_ddl"),
    "witness_forward_compatible.txt": lambda: witness("forward_compatible"),
    "witness_doubtful.txt": doubtful,
}


def main(arguments: list[str]) -> int:
    """Renew what differs, or only tell."""
    different = [name for name in STORIES if not same(name)]
    for name in different:
        if "--write" in arguments:
            (FOLDER / name).write_text(STORIES[name](), "utf-8")
        sys.stdout.write(f"{name}\n")
    return 1 if different and "--write" not in arguments else 0


def same(name: str) -> bool:
    """Whether a story reads as it was reviewed."""
    path = FOLDER / name
    return path.exists() and path.read_text("utf-8") == STORIES[name]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
