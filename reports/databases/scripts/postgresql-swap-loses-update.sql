-- A copy that takes a table's place loses an update that was committed in between.
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
CREATE TABLE t_new (LIKE t INCLUDING ALL);
INSERT INTO t_new SELECT * FROM t;

-- Session A
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE t SET v = 11 WHERE id = 1;
COMMIT;

-- Session B
DROP TABLE t;
ALTER TABLE t_new RENAME TO t;
COMMIT;

-- Session A
SELECT * FROM t;
-- > id | v
-- > 1 | 10
