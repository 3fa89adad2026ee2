"""Migrations as database engineers write them, each with the verdict that was derived by hand.

A verdict is a letter for each statement, in three columns: by IEP-110, by Ignite 3 as shipped and
by IEP-110 on empty tables (one column stands for all three):

    y   transactions in flight may commit        n   they abort
    r   the catalog refuses the statement        o   nothing changes

Behind them stand the tables and views of the schema whose transactions abort, by IEP-110.
"""

import pytest

from ddlsim.cli.documents import compat_formats
from ddlsim.lint.compat import BASELINES, Report, exit_code
from tests.support.linting import lint

SCHEMA = """
CREATE ZONE z WITH PARTITIONS = 4, REPLICAS = 1;
CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(10) NOT NULL DEFAULT 'x', d DECIMAL(5, 2),
                at TIMESTAMP(3), f REAL);
CREATE TABLE u (id INT PRIMARY KEY, t_id INT);
CREATE TABLE "Mixed" (id INT PRIMARY KEY, "Col" INT, "a.b c" INT);
CREATE VIEW w AS SELECT id, v FROM t;
CREATE VIEW w2 AS SELECT id FROM w;
CREATE INDEX i ON t (v);
"""
T = ("t", "w", "w2")
"""The table t and the views that read it."""
V, S, U = ("ALTER TABLE t ALTER COLUMN v", "ALTER TABLE t ALTER COLUMN s", "ALTER TABLE u")

MIGRATIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # --- compound ALTERs [110.compat.compound]
    ("ALTER TABLE t ADD COLUMN a INT, ADD COLUMN b INT NOT NULL DEFAULT 1", "y", ()),
    ("ALTER TABLE t ADD COLUMN (a INT, b INT), DROP COLUMN (f, d)", "n", T),
    ("ALTER TABLE t ADD COLUMN a INT, DROP COLUMN v", "r", ()),  # under an index
    ("ALTER TABLE t RENAME COLUMN v TO y, RENAME COLUMN y TO v", "y", ()),
    ("ALTER TABLE t RENAME COLUMN d TO e, ADD COLUMN d DECIMAL(5, 2)", "y y y", ()),
    ("ALTER TABLE t DROP COLUMN d, ADD COLUMN d DECIMAL(5, 2)", "n y n", T),
    (
        f"{U} ALTER COLUMN t_id SET DATA TYPE BIGINT, ALTER COLUMN t_id SET DATA TYPE INT",
        "n r n",
        ("u",),
    ),
    ("ALTER TABLE t ADD COLUMN a INT NOT NULL, DROP COLUMN f", "r", ()),
    ("ALTER TABLE t ADD COLUMN a INT CHECK (a > 0)", "n", T),
    # --- steps one after the other [110.compat.steps]
    ("ALTER TABLE t ADD COLUMN a INT; ALTER TABLE t DROP COLUMN a", "yn", T),
    ("ALTER TABLE t DROP COLUMN d; ALTER TABLE t ADD COLUMN d DECIMAL(5, 2)", "ny", T),
    (
        f"{U} ALTER COLUMN t_id SET DATA TYPE BIGINT; {U} ALTER COLUMN t_id SET DATA TYPE INT",
        "yn yr yn",
        ("u",),
    ),
    (f"{S} SET DEFAULT 'y'; {S} SET DEFAULT 'x'", "nn", T),
    ("CREATE UNIQUE INDEX k ON u (t_id); DROP INDEX k", "ny", ("u",)),
    (f"{U} ADD CONSTRAINT c CHECK (t_id > 0); {U} DROP CONSTRAINT c", "ny", ("u",)),
    # --- drops, renames and re-creates
    ("DROP TABLE u; CREATE TABLE u (id INT PRIMARY KEY, t_id INT)", "ny", ("u",)),
    (f"{U} RENAME TO old; CREATE TABLE u (id INT PRIMARY KEY)", "ny", ("u",)),
    (f"{U} RENAME TO x; ALTER TABLE x RENAME TO u", "nn", ("u",)),
    (
        f'{U} RENAME TO x; ALTER TABLE "Mixed" RENAME TO u; ALTER TABLE x RENAME TO "Mixed"',
        "nnn",
        ("u", "Mixed"),
    ),
    (f"{U} RENAME TO t", "r", ()),
    ("CREATE TABLE n (id INT PRIMARY KEY, v INT); ALTER TABLE n DROP COLUMN v", "yn", ()),
    ("CREATE TABLE n (id INT PRIMARY KEY); DROP TABLE n; CREATE TABLE n (a INT)", "yny", ()),
    ("DROP TABLE nope; DROP TABLE IF EXISTS nope; DROP TABLE u", "ron", ("u",)),
    # --- views on views [110.view]
    ("DROP TABLE t", "r", ()),
    ("DROP VIEW w", "r", ()),
    ("DROP VIEW w2; DROP VIEW w; DROP TABLE t", "nnn", T),
    ("DROP INDEX i; ALTER TABLE t DROP COLUMN v", "yn", T),
    ("ALTER VIEW w2 RENAME TO w3", "n", ("w2",)),
    ("ALTER VIEW w RENAME TO w3", "n", ("w", "w2")),
    ("DROP VIEW w2; CREATE VIEW w2 AS SELECT id FROM w", "ny", ("w2",)),
    ("CREATE VIEW x AS SELECT * FROM w JOIN u ON u.id = w.id; DROP TABLE u", "yr", ()),
    ("CREATE VIEW x AS SELECT * FROM nope", "r", ()),
    ("CREATE VIEW x AS SELECT nope FROM u", "r", ()),
    (
        "CREATE VIEW t AS SELECT id FROM u; CREATE VIEW IF NOT EXISTS w AS SELECT id FROM u",
        "ro",
        (),
    ),
    ("DROP TABLE w; DROP VIEW t; ALTER TABLE w ADD COLUMN a INT", "rrr", ()),
    # --- types [110.column.type]
    (f"{V} SET DATA TYPE VARCHAR(11)", "y r y", ()),
    (f"{V} SET DATA TYPE VARCHAR(10)", "n r n", T),
    (f"{V} SET DATA TYPE DATE", "r", ()),
    (f"{V} SET DATA TYPE INTEGER", "o", ()),
    ("ALTER TABLE t ALTER COLUMN d SET DATA TYPE NUMERIC(7, 2)", "y", ()),
    ("ALTER TABLE t ALTER COLUMN d SET DATA TYPE DEC(7, 3)", "n r n", T),
    ("ALTER TABLE t ALTER COLUMN at SET DATA TYPE TIMESTAMP(6)", "y r y", ()),
    ("ALTER TABLE t ALTER COLUMN at SET DATA TYPE TIMESTAMP(0)", "n r n", T),
    ("ALTER TABLE t ALTER COLUMN f SET DATA TYPE DOUBLE PRECISION", "y", ()),
    ("ALTER TABLE t ALTER COLUMN f SET DATA TYPE INT", "n r n", T),
    (f"{S} SET DATA TYPE CHARACTER VARYING(20) DEFAULT 'x'", "y", ()),
    (f"{S} SET DATA TYPE VARCHAR(9)", "n r n", T),
    (f"{S} SET DATA TYPE VARBINARY(90)", "r", ()),
    # --- NULL and defaults [110.column.nullable] [110.column.default]
    (f"{V} SET NOT NULL", "n r n", T),
    (f"{S} DROP NOT NULL", "y", ()),
    (f"{S} SET DEFAULT 'x'", "o", ()),
    (f"{S} DROP DEFAULT", "n", T),
    (f"{V} SET DATA TYPE BIGINT NOT NULL DEFAULT 7", "n r n", T),
    (f"{V} SET DATA TYPE BIGINT NULL", "y", ()),
    (f"{U} ADD COLUMN a INT NOT NULL", "r r n", ()),
    (f"{U} ADD COLUMN a INT NOT NULL DEFAULT NULL", "r r n", ()),
    (f"{U} ADD COLUMN a INT DEFAULT 'x'; {U} ADD COLUMN a INT DEFAULT -1", "ry", ()),
    (
        f"{U} ADD COLUMN a DECIMAL(4, 2) DEFAULT 1.005; {U} ADD COLUMN a VARCHAR(2) DEFAULT 'abc'",
        "rr",
        (),
    ),
    (f"{U} ADD COLUMN a DATE DEFAULT 'x'; {U} ADD COLUMN a TIME DEFAULT TIME '25:00:00'", "rr", ()),
    (
        f"{U} ADD COLUMN a DATE DEFAULT DATE '2026-01-01'; {U} ALTER a SET DEFAULT '2026-02-30'",
        "yr",
        (),
    ),
    (f"{U} ADD COLUMN a UUID DEFAULT rand_uuid", "r", ()),
    ("CREATE TABLE n (id UUID DEFAULT rand_uuid PRIMARY KEY, v INT)", "y", ()),
    ("CREATE TABLE n (id INT PRIMARY KEY, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP)", "r", ()),
    # --- keys
    ("ALTER TABLE t DROP COLUMN id; ALTER TABLE t ALTER COLUMN id SET DATA TYPE BIGINT", "rr", ()),
    ("ALTER TABLE t ALTER COLUMN id DROP NOT NULL", "r", ()),
    (f"{U} RENAME COLUMN id TO uid", "y n y", ()),
    # --- constraints and indexes
    (f"{U} ADD CONSTRAINT c FOREIGN KEY (t_id) REFERENCES t (id) ON DELETE CASCADE", "n", ("u",)),
    (f"{U} DROP CONSTRAINT c; {U} DROP CONSTRAINT IF EXISTS c", "ro", ()),
    ("CREATE INDEX k ON u (t_id DESC NULLS LAST); CREATE INDEX k ON t (v)", "yr", ()),
    ("CREATE INDEX k ON u (nope); CREATE INDEX k ON w (id); DROP INDEX nope", "rrr", ()),
    ("CREATE INDEX IF NOT EXISTS i ON u (id); DROP INDEX IF EXISTS nope", "oo", ()),
    # --- zones [110.zone]
    ("ALTER ZONE z SET REPLICAS = 3; ALTER ZONE z RENAME TO y; DROP ZONE y", "yyy", ()),
    ("ALTER ZONE z SET PARTITIONS = 8; ALTER ZONE z SET PARTITIONS = 4", "ro", ()),
    ("CREATE TABLE n (id INT PRIMARY KEY) ZONE z; DROP ZONE z", "yr", ()),
    ("CREATE TABLE n (id INT PRIMARY KEY) ZONE nope; ALTER ZONE z SET DEFAULT", "ry", ()),
    # --- names
    ('ALTER TABLE "Mixed" DROP COLUMN "Col"', "n", ("Mixed",)),
    ('ALTER TABLE "Mixed" DROP COLUMN "a.b c"', "n", ("Mixed",)),
    ('ALTER TABLE "Mixed" DROP COLUMN Col; ALTER TABLE Mixed DROP COLUMN "Col"', "rr", ()),
    ("ALTER TABLE PUBLIC.U ADD COLUMN A INT; ALTER TABLE public.u ADD COLUMN b INT", "yy", ()),
    ('ALTER TABLE "PUBLIC".u ADD COLUMN a INT; ALTER TABLE "public".u DROP COLUMN a', "yn", ("u",)),
    ('CREATE TABLE "select" (id INT PRIMARY KEY, "from" INT); DROP TABLE "select"', "yn", ()),
    ("CREATE TABLE größe (id INT PRIMARY KEY); ALTER TABLE GRÖSSE ADD COLUMN a INT", "yr", ()),
    # --- text
    (f"/* a; b */ {U} -- c; d\n ADD /* ddl */ COLUMN a VARCHAR DEFAULT ';--/*';;", "y", ()),
    (f"{U} ADD COLUMN a VARCHAR DEFAULT 'it''s';\r\n{U} DROP COLUMN a;\r\n", "yn", ("u",)),
    ("", "", ()),
    (" ;; -- nothing\n/* at all */ ;", "", ()),
)
LETTERS = {True: "y", False: "n", None: "r"}


def letters(report: Report) -> str:
    return "".join(
        "o" if one["no_op"] is not None else LETTERS[one["forward_compatible"]]
        for one in report["statements"]
    )


def aborting(report: Report) -> tuple[str, ...]:
    return tuple(name for name, one in report["tables"].items() if not one["forward_compatible"])


@pytest.mark.parametrize(("sql", "expected", "tables"), MIGRATIONS)
def test_the_verdicts_are_those_derived_by_hand(
    sql: str, expected: str, tables: tuple[str, ...]
) -> None:
    by_hand = expected.split(" ")
    for at, baseline in enumerate(BASELINES):
        report = lint(SCHEMA, sql, baseline)
        letter = by_hand[at] if len(by_hand) > 1 else by_hand[0]
        assert letters(report) == letter, baseline
        assert exit_code(report) == (3 if "r" in letter else 1 if "n" in letter else 0)
        if baseline == "iep":
            assert set(aborting(report)) == set(tables)
        _outputs_agree(report, letter)


def _outputs_agree(report: Report, letter: str) -> None:
    """Each output tells of each statement that aborts or is refused, at its place."""
    judged = zip(report["statements"], letter, strict=True)
    places = {(one["line"], one["column"]) for one, verdict in judged if verdict in "nr"}
    problems = list(compat_formats.problems(report))
    told = [(one.statement["line"], one.statement["column"]) for one in problems]
    assert set(told) == places
    github = compat_formats.github_text(report).splitlines()
    assert [line.partition(",title")[0] for line in github] == [
        f"::error file=migration,line={line},col={column}" for line, column in told
    ]
    junit = compat_formats.junit_text(report)
    assert junit.count("<failure") == letter.count("n")
    assert junit.count("<error") == letter.count("r")
    assert compat_formats.sarif_text(report).count('"ruleId"') == len(problems)
