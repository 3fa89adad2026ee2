"""Lines of the table of designs, made by hand, and rows of runs without a verdict."""

from typing import Any

from ddlsim.analysis.compare.columns import COLUMNS
from ddlsim.analysis.compare.records import WORDS, Anomalies, Breach, Formula, Line, Value
from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.documents.shapes_compare import Compare
from ddlsim.history.figures import figures, samples
from ddlsim.history.history import History
from ddlsim.verify.campaign import Runner
from ddlsim.verify.row import RunRow, pools_of


class Unjudged(Runner):
    """Measures runs and does not judge them, which takes as long as some designs' runs: closed
    forms are of figures and prices alone."""

    def judged(self, history: History) -> RunRow:
        """A row of figures alone."""
        header, taken = history.header, samples(history)
        return RunRow(
            header.scenario, header.design.name, header.mutant, header.seed, Outcome.UNKNOWN,
            figures=figures(history, taken), pools=pools_of(taken),
        )  # fmt: skip


NUMBERS = {
    "changes_met": 8.5,
    "dml_added_p50": 0.0,
    "dml_added_p99": 22.8,
    "dml_added_mean": 1.3,
    "dml_p50": 4.1,
    "dml_p99": 151.4,
    "ddl_p50": 70.7,
    "ddl_p99": 362.0,
    "schema_aborts": 0.121,
    "refused": 0.0,
    "frozen": 0.0122,
    "reads_per_transaction": 0.69,
    "reads_per_ddl": 8.5,
    "messages_per_transaction": 21.6,
    "hottest_per_s": 1234.5,
    "hottest_share": 0.278,
    "schema_hottest_per_s": 61.0,
    "strict_share": 0.15,
}


def a_breach(**changes: Any) -> Breach:
    """A node that answered with an old version, in some runs."""
    fields: dict[str, Any] = {
        "invariant": "I1",
        "severity": "safety",
        "status": "violation",
        "runs": 3,
        "of": 20,
        "seed": 4,
        "summary": "wrong-version: node n3 got version 1 of t",
        "source": "runs",
        "command": "ddlsim run comparison/ignite --strategy d --seed 4",
    }
    return Breach(**{**fields, **changes})


def a_line(design: str, **changes: Any) -> Line:
    """A design that keeps what it claims."""
    numbers = {key: Value(value, value / 2, value * 2) for key, value in NUMBERS.items()}
    fields: dict[str, Any] = {
        "design": design,
        "summary": "waits for safe time | in the past",
        "source": "IEP-98",
        "plane": "ignite",
        "scenario": "comparison/ignite",
        "runs": 20,
        "lost": 0,
        "crash": "",
        "verdict": "safe",
        "kept": ("I1", "I2"),
        "breaches": (),
        "findings": {},
        "holes": (),
        "known": "",
        "strict": (),
        "committed": 4_000,
        "statements": 240,
        **numbers,
    }
    return Line(**{**fields, **changes})


def a_table() -> Compare:
    """Three designs: one safe, one with recorded holes, one unsafe with less measured."""
    unmeasured = Value(None, why="plane other does not measure reads of metadata")
    lines = [
        a_line(
            "first",
            formulas={
                "dml_added_mean": Formula("6.1", 0.9, 1.4, agrees=True),
                "ddl_p50": Formula("6.2", 170.2, 190.4, agrees=False),
                "schema_aborts": Formula("6.3", 0.0, 0.0, agrees=False),
            },
        ),
        a_line(
            "second",
            verdict="holes",
            holes=("F-1", "F-2"),
            findings={"F-2": 1},
            known="it stamps late",
            strict=(Anomalies("I3", "safety", 4, 3, {"finding:F-2": 1, "violation": 3}, {}),),
        ),
        a_line(
            "third",
            verdict="unsafe",
            kept=(),
            lost=1,
            crash="ValueError: the plane has no local_keys",
            breaches=(
                a_breach(),
                a_breach(
                    invariant="I3",
                    source="shipped",
                    runs=1,
                    of=1,
                    summary="schema-G-single: a cycle: D2 < T1 < D2",
                    command="ddlsim run strategies/A1-T1",
                    shortest="ddlsim run strategies/A1-T1",
                    steps=4,
                ),
            ),
            reads_per_transaction=unmeasured,
            reads_per_ddl=unmeasured,
        ),
    ]
    return {
        "format": 1,
        "command": "ddlsim compare first second third --seeds 0..19",
        "seeds": [0, 19],
        "runs": 60,
        "failed": 1,
        "scenarios": {"comparison/ignite": "Designs side by side"},
        "verdicts": {str(word): said for word, said in WORDS.items()},
        "columns": {column.key: column.said for column in COLUMNS},
        "designs": lines,
        "left_out": [{"design": "fourth", "why": "no scenario comparison/other is shipped"}],
    }
