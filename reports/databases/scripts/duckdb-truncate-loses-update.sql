-- A table that is truncated and filled again loses an update that was committed in between.
-- database: duckdb
-- shows: lost-update
-- wrong: B's update is acknowledged and gone, and A, which rests on a snapshot without it, commits.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
BEGIN TRANSACTION;
CREATE TABLE kept AS SELECT * FROM t;

-- Session B
UPDATE t SET v = 11 WHERE id = 1;

-- Session A
TRUNCATE t;
INSERT INTO t SELECT * FROM kept;
COMMIT;
SELECT * FROM t;
-- > id | v
-- > 1 | 10
