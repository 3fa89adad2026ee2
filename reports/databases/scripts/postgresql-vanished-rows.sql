-- A table is empty to a transaction that began before its rows were written anew.
-- database: postgresql
-- levels: SERIALIZABLE, REPEATABLE READ
-- shows: vanished-rows
-- wrong: the table had one row at all times. A, which only reads, commits with none, and stores
--        a total of nothing.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
CREATE TABLE sums (n INT, total BIGINT);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM other;

-- Session B
BEGIN ISOLATION LEVEL SERIALIZABLE;
ALTER TABLE t ALTER COLUMN v TYPE BIGINT;
COMMIT;

-- Session A
SELECT * FROM t;
-- > id | v
-- > no rows
INSERT INTO sums SELECT count(*), sum(v) FROM t;
-- > 1 changed
COMMIT;
SELECT * FROM sums;
-- > n | total
-- > 0 | NULL
