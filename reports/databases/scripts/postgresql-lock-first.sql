-- A table that is locked as the first thing is not changed meanwhile.
-- database: postgresql
-- levels: SERIALIZABLE, REPEATABLE READ
-- shows: nothing
-- right: LOCK TABLE needs no snapshot, and any lock makes ALTER TABLE wait until A has ended.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
BEGIN ISOLATION LEVEL SERIALIZABLE;
LOCK TABLE t IN ACCESS SHARE MODE;

-- Session B
SET lock_timeout = '300ms';
ALTER TABLE t ALTER COLUMN v TYPE BIGINT;
-- > error 55P03

-- Session A
SELECT * FROM t;
-- > id | v
-- > 1 | 10
COMMIT;
