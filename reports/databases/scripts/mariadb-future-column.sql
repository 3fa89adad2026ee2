-- A column is seen before what the same session had written ahead of it.
-- database: mariadb
-- levels: REPEATABLE READ
-- shows: future-column
-- wrong: B sets v to 11, and then adds column w. A commits with w and without 11: it sees the
--        later of two commits, and not the earlier one.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
START TRANSACTION;
SELECT count(*) FROM other;

-- Session B
UPDATE t SET v = 11 WHERE id = 1;
ALTER TABLE t ADD COLUMN w INT DEFAULT 7;

-- Session A
SELECT * FROM t;
-- > id | v | w
-- > 1 | 10 | 7
COMMIT;
