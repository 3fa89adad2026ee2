-- An UPDATE of all rows changes none, and commits.
-- database: postgresql
-- levels: SERIALIZABLE, REPEATABLE READ
-- shows: vanished-rows
-- wrong: whether A comes before B or after it, v is 11 in the end. It is 10, without any error.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM other;

-- Session B
BEGIN ISOLATION LEVEL SERIALIZABLE;
ALTER TABLE t ALTER COLUMN v TYPE BIGINT;
COMMIT;

-- Session A
UPDATE t SET v = v + 1;
-- > 0 changed
COMMIT;
SELECT * FROM t;
-- > id | v
-- > 1 | 10
