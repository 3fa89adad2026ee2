-- A table that is locked before it is copied loses no update.
-- database: postgresql
-- levels: REPEATABLE READ
-- shows: nothing
-- right: A waits for B, here for no longer than its time limit, and then updates the new table.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
SET lock_timeout = '300ms';

-- Session B
BEGIN ISOLATION LEVEL REPEATABLE READ;
LOCK TABLE t IN SHARE ROW EXCLUSIVE MODE;
CREATE TABLE t_new (LIKE t INCLUDING ALL);
INSERT INTO t_new SELECT * FROM t;

-- Session A
UPDATE t SET v = 11 WHERE id = 1;
-- > error 55P03

-- Session B
DROP TABLE t;
ALTER TABLE t_new RENAME TO t;
COMMIT;

-- Session A
UPDATE t SET v = 11 WHERE id = 1;
-- > 1 changed
SELECT * FROM t;
-- > id | v
-- > 1 | 11
