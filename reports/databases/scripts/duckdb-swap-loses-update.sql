-- A copy that takes a table's place loses an update that was committed in between.
-- database: duckdb
-- shows: lost-update
-- wrong: B's update is acknowledged and gone, and A, which rests on a snapshot without it, commits.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
BEGIN TRANSACTION;
CREATE TABLE t_new AS SELECT * FROM t;

-- Session B
UPDATE t SET v = 11 WHERE id = 1;

-- Session A
DROP TABLE t;
ALTER TABLE t_new RENAME TO t;
COMMIT;
SELECT * FROM t;
-- > id | v
-- > 1 | 10
