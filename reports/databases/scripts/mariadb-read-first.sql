-- A table that was read is not changed until the transaction has ended.
-- database: mariadb
-- levels: REPEATABLE READ
-- shows: nothing
-- right: A's first read takes a metadata lock on t, and ALTER TABLE waits for it.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
START TRANSACTION;
SELECT count(*) FROM t;

-- Session B
SET lock_wait_timeout = 1;
ALTER TABLE t ADD COLUMN w INT DEFAULT 7;
-- > error 1205

-- Session A
SELECT * FROM t;
-- > id | v
-- > 1 | 10
COMMIT;
