-- A row that was updated since is deleted by an older transaction, which commits.
-- database: duckdb
-- shows: lost-update
-- wrong: snapshot isolation lets the first of two that change a row commit, and stops the other.
--        A changes the row last and is not stopped. No DDL is needed for it (duckdb issue 17223).

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
BEGIN TRANSACTION;
SELECT count(*) FROM other;

-- Session B
UPDATE t SET v = 11 WHERE id = 1;

-- Session A
DELETE FROM t WHERE v = 10;
-- > 1 changed
COMMIT;
SELECT * FROM t;
-- > id | v
-- > no rows
