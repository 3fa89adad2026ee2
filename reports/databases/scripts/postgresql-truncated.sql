-- A table that is truncated and filled again in one transaction is empty to an older one.
-- database: postgresql
-- levels: SERIALIZABLE, REPEATABLE READ
-- shows: vanished-rows
-- wrong: no committed state of the table was ever empty.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM other;

-- Session B
BEGIN ISOLATION LEVEL SERIALIZABLE;
CREATE TEMPORARY TABLE kept AS SELECT * FROM t;
TRUNCATE t;
INSERT INTO t SELECT * FROM kept;
COMMIT;

-- Session A
SELECT * FROM t;
-- > id | v
-- > no rows
COMMIT;
