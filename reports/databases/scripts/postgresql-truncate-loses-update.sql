-- A table that is truncated and filled again loses an update that was committed in between.
-- database: postgresql
-- levels: REPEATABLE READ
-- shows: lost-update
-- wrong: A's update is acknowledged and gone. Snapshot isolation stops B, whose change of t
--        rests on a snapshot without it. LOCK TABLE t before the copy, or SERIALIZABLE, prevents it.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);

-- Session B
BEGIN ISOLATION LEVEL REPEATABLE READ;
CREATE TEMPORARY TABLE kept AS SELECT * FROM t;

-- Session A
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE t SET v = 11 WHERE id = 1;
COMMIT;

-- Session B
TRUNCATE t;
INSERT INTO t SELECT * FROM kept;
COMMIT;

-- Session A
SELECT * FROM t;
-- > id | v
-- > 1 | 10
