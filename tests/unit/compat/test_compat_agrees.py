"""The linter says what a run of its baseline's design does, statement by statement.

T1 and T2 have written to the table before the statement comes. T1 commits after it, and may commit
exactly if the linter calls the statement forward-compatible; T2 uses the table after it, and may do
so exactly if the linter calls it backward-compatible. What the linter calls refused is refused.
"""

from typing import Any

import pytest

from ddlsim.lint.compat import BASELINES
from ddlsim.model.reasons import Reason
from tests.clauses.story import Story, Told
from tests.support.linting import lint

SCHEMA = (
    "CREATE ZONE z WITH PARTITIONS = 1, REPLICAS = 1; "
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, w BIGINT NOT NULL DEFAULT 1, s VARCHAR(5), "
    "at TIMESTAMP(3), d DECIMAL(5, 2), f REAL, k SMALLINT, b VARBINARY(4), "
    "CONSTRAINT c CHECK (v > 0)); "
    "CREATE TABLE u (id INT PRIMARY KEY); CREATE INDEX i ON t (k); "
    "CREATE VIEW o AS SELECT id FROM u"
)
ALTER = "ALTER TABLE t ALTER COLUMN"
STATEMENTS = (
    "ALTER TABLE t ADD COLUMN n INT",
    "ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 5",
    "ALTER TABLE t ADD COLUMN n INT NOT NULL",
    "ALTER TABLE t ADD COLUMN v INT",
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS v INT",
    "ALTER TABLE t DROP COLUMN v",
    "ALTER TABLE t DROP COLUMN k",
    "ALTER TABLE t DROP COLUMN id",
    "ALTER TABLE t DROP COLUMN v, ADD COLUMN v INT",
    "ALTER TABLE t ADD COLUMN n INT, DROP COLUMN n",
    "ALTER TABLE t RENAME COLUMN v TO y",
    "ALTER TABLE t RENAME COLUMN v TO y, RENAME COLUMN y TO v",
    f"{ALTER} v SET DATA TYPE BIGINT",
    f"{ALTER} v SET DATA TYPE SMALLINT",
    f"{ALTER} v SET DATA TYPE VARCHAR(11)",
    f"{ALTER} v SET DATA TYPE VARCHAR(10)",
    f"{ALTER} v SET DATA TYPE DOUBLE",
    f"{ALTER} v SET DATA TYPE DECIMAL(10, 0)",
    f"{ALTER} v SET DATA TYPE DATE",
    f"{ALTER} f SET DATA TYPE DOUBLE",
    f"{ALTER} s SET DATA TYPE VARCHAR(6)",
    f"{ALTER} s SET DATA TYPE VARCHAR(4)",
    f"{ALTER} s SET DATA TYPE INT",
    f"{ALTER} b SET DATA TYPE VARBINARY(5)",
    f"{ALTER} b SET DATA TYPE VARCHAR(8)",
    f"{ALTER} at SET DATA TYPE TIMESTAMP(6)",
    f"{ALTER} at SET DATA TYPE TIMESTAMP(0)",
    f"{ALTER} at SET DATA TYPE DATE",
    f"{ALTER} d SET DATA TYPE DECIMAL(7, 2)",
    f"{ALTER} d SET DATA TYPE DECIMAL(7, 3)",
    f"{ALTER} d SET DATA TYPE DECIMAL(4, 2)",
    f"{ALTER} id SET DATA TYPE BIGINT",
    f"{ALTER} v SET NOT NULL",
    f"{ALTER} w DROP NOT NULL",
    f"{ALTER} w SET NOT NULL",
    f"{ALTER} w SET DEFAULT 2",
    f"{ALTER} w SET DEFAULT 1",
    f"{ALTER} w DROP DEFAULT",
    f"{ALTER} v SET DATA TYPE BIGINT NOT NULL",
    f"{ALTER} v SET DATA TYPE BIGINT DEFAULT 3",
    f"{ALTER} v SET DATA TYPE BIGINT, {ALTER.partition(' t ')[2]} v SET DATA TYPE INT",
    f"{ALTER} v SET NOT NULL, {ALTER.partition(' t ')[2]} v DROP NOT NULL",
    "ALTER TABLE t ADD CONSTRAINT e CHECK (v < 9)",
    "ALTER TABLE t DROP CONSTRAINT c",
    "CREATE INDEX j ON t (v)",
    "CREATE UNIQUE INDEX j ON t (v)",
    "DROP INDEX i",
    "ALTER TABLE t RENAME TO x",
    "DROP TABLE t",
    "DROP TABLE u",
    "DROP VIEW o",
    "CREATE TABLE x (id INT PRIMARY KEY)",
    "CREATE TABLE t (id INT PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)",
    "DROP TABLE IF EXISTS x",
    "ALTER ZONE z SET REPLICAS = 3",
    "ALTER ZONE z SET PARTITIONS = 2",
    "DROP ZONE z",
)
ON_EMPTY = tuple(one for one in STATEMENTS if "ADD COLUMN" in one)
"""Other statements `b12` takes as `iep` does."""
CASES = [
    *((baseline, sql) for baseline in ("iep", "ignite3") for sql in STATEMENTS),
    *(("b12", sql) for sql in ON_EMPTY),
]
BORDER = {"SCHEMA_INCOMPATIBLE", "SCHEMA_CHANGED", "ROLLBACK_ONLY", "TABLE_DROPPED"}


def run(baseline: str, *statements: str) -> Told:
    """Both transactions, and the statements one after the other, under the baseline's design."""
    each = 500 if baseline == "b12" else 250  # two steps: 2 (DD + CSmax), or DD + CSmax = 107 ms
    ddl = [f"{50 + each * at} d@n1: d{at} = {one}" for at, one in enumerate(statements)]
    late = 50 + each * len(statements)
    lines = [
        "20 T1@n1: w1 = put t 1",
        "20 T2@n2: w2 = put t 2",
        *ddl,
        f"{late} T1: c1 = commit",
        f"{late} T2: w3 = put t 3",
    ]
    story = Story("\n".join(lines), schema=SCHEMA, name=BASELINES[baseline].strategy)
    story.text = story.text.replace("\nddl =", "\nmisfit = true\nddl =")  # some are refused
    return story.tell()


def on_t(report: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = report["tables"]["t"]
    return found


@pytest.mark.parametrize(("baseline", "sql"), CASES)
def test_a_verdict_is_what_a_run_of_the_design_does(baseline: str, sql: str) -> None:
    told = run(baseline, sql)
    report = lint(SCHEMA, sql, baseline)
    [statement] = report["statements"]
    refused = statement["error"]
    assert told["d0"] == ("ok" if refused is None else refused["reason"])
    assert (told["c1"] == "ok") is on_t(report)["forward_compatible"]
    assert (told["w3"] == "ok") is on_t(report)["backward_compatible"]
    assert {told["c1"], told["w3"]} <= {"ok", *BORDER}


FOLLOWED = (
    (f"{ALTER} v SET DATA TYPE VARCHAR(11)", f"{ALTER} v SET DATA TYPE BIGINT"),
    (f"{ALTER} v SET DATA TYPE SMALLINT", f"{ALTER} v SET DATA TYPE BIGINT"),
    (f"{ALTER} v SET DATA TYPE SMALLINT", f"{ALTER} v SET DATA TYPE INT"),
    (f"{ALTER} at SET DATA TYPE TIMESTAMP(6)", f"{ALTER} at SET DATA TYPE TIMESTAMP(3)"),
    (f"{ALTER} v SET NOT NULL", f"{ALTER} v DROP NOT NULL"),
    ("ALTER TABLE t ADD COLUMN n INT NOT NULL", "ALTER TABLE t ADD COLUMN n INT"),
    ("DROP TABLE u", "CREATE TABLE u (id INT PRIMARY KEY)"),
)


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("pair", FOLLOWED)
def test_what_follows_a_refusal_is_judged_on_the_schema_as_it_stays(
    pair: tuple[str, str], baseline: str
) -> None:
    told = run(baseline, *pair)
    report = lint(SCHEMA, ";\n".join(pair), baseline)
    reasons = [
        "ok" if one["error"] is None else one["error"]["reason"] for one in report["statements"]
    ]
    assert [told["d0"], told["d1"]] == reasons
    assert (told["c1"] == "ok") is on_t(report)["forward_compatible"]
    assert (told["w3"] == "ok") is on_t(report)["backward_compatible"]


def test_the_shipped_catalog_refuses_more_than_the_texts() -> None:
    """So that the table above cannot agree by refusing nothing."""

    def refused(baseline: str) -> set[str]:
        reports = {sql: lint(SCHEMA, sql, baseline)["statements"][0] for sql in STATEMENTS}
        return {sql for sql, one in reports.items() if one["error"] is not None}

    more = refused("ignite3") - refused("iep")
    assert {f"{ALTER} v SET DATA TYPE VARCHAR(11)", f"{ALTER} v SET NOT NULL"} <= more
    assert refused("iep") - refused("b12") == {"ALTER TABLE t ADD COLUMN n INT NOT NULL"}
    assert {reason.name for reason in Reason} >= BORDER
