-- A table that a copy has taken the place of is empty to an older transaction.
-- database: postgresql
-- levels: SERIALIZABLE, REPEATABLE READ
-- shows: vanished-rows
-- wrong: no committed state of t was ever empty. A finds the new t by its name, as that look-up
--        is not of A's snapshot, and none of its rows, as they are not in A's snapshot.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM other;

-- Session B
BEGIN ISOLATION LEVEL SERIALIZABLE;
CREATE TABLE t_new (LIKE t INCLUDING ALL);
INSERT INTO t_new SELECT * FROM t;
DROP TABLE t;
ALTER TABLE t_new RENAME TO t;
COMMIT;

-- Session A
SELECT * FROM t;
-- > id | v
-- > no rows
COMMIT;
