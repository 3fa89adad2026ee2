-- A row that was updated since is deleted by an older transaction, which commits.
-- database: duckdb
-- shows: lost-update
-- wrong: with B before A there is no v = 10 to delete, with A before B no row to update. Snapshot
--        isolation lets the first of two that change a row commit, and stops the other.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
BEGIN TRANSACTION;
SELECT count(*) FROM other;

-- Session B
UPDATE t SET v = 11 WHERE id = 1;
-- > 1 changed

-- Session A
DELETE FROM t WHERE v = 10;
-- > 1 changed
COMMIT;
SELECT * FROM t;
-- > id | v
-- > no rows
