-- A row is updated and deleted by two transactions at once, and both commit.
-- database: duckdb
-- shows: lost-update
-- wrong: with A before B there is no v = 10 to delete, with B before A no row to update. The second
--        of two edits of a row is to fail; where both are updates, or both deletes, it does.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
BEGIN TRANSACTION;
UPDATE t SET v = 11 WHERE id = 1;
-- > 1 changed

-- Session B
BEGIN TRANSACTION;
DELETE FROM t WHERE v = 10;
-- > 1 changed

-- Session A
COMMIT;

-- Session B
COMMIT;
SELECT * FROM t;
-- > id | v
-- > no rows
