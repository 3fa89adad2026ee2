"""What statements need and no statement of a scenario makes."""

import pytest

from ddlsim.scenario.declared import Declared
from ddlsim.sql import parse

SCHEMA = """
CREATE ZONE z WITH PARTITIONS = 4;
CREATE TABLE t (id INT PRIMARY KEY, v INT, at TIMESTAMP, CONSTRAINT c CHECK (v > 0), UNIQUE (v));
CREATE TABLE u (id INT PRIMARY KEY);
CREATE TABLE k (v INT);
CREATE INDEX i ON t (v);
CREATE VIEW w AS SELECT id FROM t;
ALTER TABLE t RENAME TO t2;
ALTER TABLE t2 RENAME COLUMN v TO vv;
ALTER VIEW w RENAME TO w2;
"""
LACKING = {
    "ALTER TABLE t ADD CONSTRAINT x CHECK (nope > 0)": "t has a column 'nope'",
    "ALTER TABLE t ADD CONSTRAINT x CHECK (nope + 1 > 0)": "t has a column 'nope'",
    "ALTER TABLE t ADD CONSTRAINT x UNIQUE (nope)": "t has a column 'nope'",
    "ALTER TABLE t ADD CONSTRAINT x FOREIGN KEY (v) REFERENCES a (id)": "no table is called 'a'",
    "ALTER TABLE t ADD CONSTRAINT x FOREIGN KEY (v) REFERENCES w (id)": "no table is called 'w'",
    "ALTER TABLE t ADD CONSTRAINT x FOREIGN KEY (v) REFERENCES u (v)": "u has a column 'v'",
    "ALTER TABLE t DROP CONSTRAINT d": "t has a constraint 'd'",
    "ALTER TABLE t DROP CONSTRAINT t_check_7": "t has a constraint 't_check_7'",
    "ALTER TABLE u DROP CONSTRAINT c": "u has a constraint 'c'",
    "ALTER TABLE IF EXISTS u DROP COLUMN v": "u has a column 'v'",
    "ALTER TABLE w ADD COLUMN x INT": "no table is called 'w'",
    "CREATE INDEX j ON w (id)": "no table is called 'w'",
    "CREATE VIEW x AS SELECT id FROM a": "no table or view is called 'a'",
    "CREATE VIEW x AS SELECT nope FROM t2": "t2 has a column 'nope'",
    "CREATE TABLE n (id INT PRIMARY KEY, CHECK (v > 0))": "table 'n' has no column 'v'",
    "CREATE TABLE n (id INT PRIMARY KEY, v INT REFERENCES a (id))": "no table is called 'a'",
    "CREATE TABLE n (id INT PRIMARY KEY) ZONE y": "no zone is called 'y'",
    "ALTER ZONE y SET REPLICAS = 3": "no zone is called 'y'",
    "ALTER TABLE t ALTER COLUMN v SET DATA TYPE DATE": "v of t (INTEGER) to DATE",
    "ALTER TABLE t2 ALTER COLUMN vv SET DATA TYPE BOOLEAN": "vv of t2 (INTEGER) to BOOLEAN",
    "DROP INDEX j": "no index is called 'j'",
    "DROP TABLE w": "no table is called 'w'",
    "DROP VIEW t": "no view is called 't'",
    "DROP ZONE y": "no zone is called 'y'",
    "ALTER VIEW v RENAME TO y": "no view is called 'v'",
}
POSSIBLE = """
ALTER TABLE t ADD CONSTRAINT x CHECK (TIMESTAMPDIFF(MINUTE, at, CURRENT_TIMESTAMP) > t.v);
ALTER TABLE t2 ADD CONSTRAINT x CHECK (vv + v > 0);
ALTER TABLE u ADD COLUMN x INT CHECK (x > 0);
ALTER TABLE u ADD CONSTRAINT x FOREIGN KEY (id) REFERENCES t2 (vv);
ALTER TABLE u ADD CONSTRAINT x FOREIGN KEY (id) REFERENCES t;
ALTER TABLE t2 DROP CONSTRAINT c;
ALTER TABLE t2 DROP CONSTRAINT t_unique_12;
ALTER TABLE t DROP CONSTRAINT IF EXISTS d;
ALTER TABLE IF EXISTS a DROP CONSTRAINT c;
ALTER TABLE k ADD CONSTRAINT x UNIQUE (__p_key);
ALTER TABLE t ALTER COLUMN v SET DATA TYPE DOUBLE;
ALTER TABLE t ALTER COLUMN v SET DATA TYPE INT;
ALTER TABLE t ALTER COLUMN at SET DATA TYPE DATE;
ALTER TABLE t2 ALTER COLUMN vv SET DATA TYPE TIMESTAMP;
CREATE VIEW x AS SELECT w.id, v FROM w JOIN t2 ON t2.id = w.id;
CREATE VIEW x AS WITH q AS (SELECT id AS a FROM t) SELECT a FROM q;
CREATE TABLE n (id INT PRIMARY KEY, p INT REFERENCES n (id), q INT REFERENCES t2 (id));
CREATE TABLE n (id INT PRIMARY KEY, CHECK (v > 0), v INT) ZONE z;
CREATE TABLE n (id INT PRIMARY KEY) ZONE "default";
ALTER ZONE "default" SET DEFAULT;
DROP INDEX i; DROP INDEX IF EXISTS j; DROP VIEW w; DROP VIEW w2; DROP VIEW IF EXISTS a; DROP ZONE z
"""


@pytest.mark.parametrize("scripted", [True, False])
def test_what_no_statement_makes_is_lacking(scripted: bool) -> None:
    schema = [one.statement for one in parse(SCHEMA)]
    for text, why in LACKING.items():
        [one] = parse(text)
        found = Declared([*schema, one.statement], scripted=scripted).refused(
            one.statement, "say so"
        )
        if scripted or "no table" in why or "table 'n'" in why:
            assert found is not None, text
            assert why in found, text
            assert "(say so)" in found, text
        else:  # clients with DDL of their own may make it
            assert found is None, text


def test_what_some_statement_makes_at_any_time_is_not_lacking() -> None:
    possible = [one.statement for one in parse(POSSIBLE)]
    declared = Declared([*(one.statement for one in parse(SCHEMA)), *possible])
    assert [found for one in possible if (found := declared.refused(one, ""))] == []
