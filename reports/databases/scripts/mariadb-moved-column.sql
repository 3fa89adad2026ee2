-- A value that is moved to another column is in neither.
-- database: mariadb
-- levels: REPEATABLE READ
-- shows: future-column
-- wrong: B adds w, copies v to it, and then drops v: the value is in one of them at all times. A
--        finds no column v and w without a value.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
START TRANSACTION;
SELECT count(*) FROM other;

-- Session B
ALTER TABLE t ADD COLUMN w INT;
UPDATE t SET w = v;
ALTER TABLE t DROP COLUMN v;

-- Session A
SELECT * FROM t;
-- > id | w
-- > 1 | NULL
COMMIT;
