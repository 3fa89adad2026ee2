-- A table that was written anew is refused to an older snapshot.
-- database: mariadb
-- levels: REPEATABLE READ
-- shows: nothing
-- right: error 1412 instead of an empty table. So do TRUNCATE, DROP with CREATE, RENAME TABLE of a
--        copy into its place, and CREATE INDEX.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
START TRANSACTION;
SELECT count(*) FROM other;

-- Session B
ALTER TABLE t MODIFY v BIGINT;

-- Session A
SELECT * FROM t;
-- > error 1412
ROLLBACK;

-- Session A
START TRANSACTION;
SELECT count(*) FROM other;

-- Session B
CREATE TABLE t_new LIKE t;
INSERT INTO t_new SELECT * FROM t;
RENAME TABLE t TO t_old, t_new TO t;

-- Session A
SELECT * FROM t;
-- > error 1412
ROLLBACK;
