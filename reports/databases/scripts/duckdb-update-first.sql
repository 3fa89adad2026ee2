-- A row that is updated before it is deleted is kept from an older transaction.
-- database: duckdb
-- shows: nothing
-- right: two updates of one row conflict, so that A fails before its DELETE.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
BEGIN TRANSACTION;
SELECT count(*) FROM other;

-- Session B
UPDATE t SET v = 11 WHERE id = 1;

-- Session A
UPDATE t SET v = v;
-- > error TransactionException
ROLLBACK;
SELECT * FROM t;
-- > id | v
-- > 1 | 11
