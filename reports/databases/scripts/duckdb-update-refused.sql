-- A row that was updated since is not updated by an older transaction.
-- database: duckdb
-- shows: nothing
-- right: the first of two that update a row commits, the other is stopped: DELETE alone is not.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
BEGIN TRANSACTION;
SELECT count(*) FROM other;

-- Session B
UPDATE t SET v = 11 WHERE id = 1;

-- Session A
UPDATE t SET v = 12 WHERE id = 1;
-- > error TransactionException
ROLLBACK;
SELECT * FROM t;
-- > id | v
-- > 1 | 11
