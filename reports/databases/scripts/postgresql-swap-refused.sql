-- At SERIALIZABLE a copy may not take the place of a table that was updated in between.
-- database: postgresql
-- levels: SERIALIZABLE
-- shows: nothing
-- right: B has read a row that A has written since, and drops it: a dangerous structure.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);

-- Session B
BEGIN ISOLATION LEVEL SERIALIZABLE;
CREATE TABLE t_new (LIKE t INCLUDING ALL);
INSERT INTO t_new SELECT * FROM t;

-- Session A
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE t SET v = 11 WHERE id = 1;
COMMIT;

-- Session B
DROP TABLE t;
-- > error 40001
ROLLBACK;

-- Session A
SELECT * FROM t;
-- > id | v
-- > 1 | 11
