-- A column is seen before the rows of its own transaction.
-- database: postgresql
-- levels: SERIALIZABLE, REPEATABLE READ
-- shows: future-column
-- wrong: B adds column w and sets v to 11 in one transaction. A commits with w and without 11:
--        by the column it comes after B, by the row before B. No serial order has both.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM other;

-- Session B
BEGIN ISOLATION LEVEL SERIALIZABLE;
ALTER TABLE t ADD COLUMN w INT DEFAULT 7;
UPDATE t SET v = 11 WHERE id = 1;
COMMIT;

-- Session A
SELECT * FROM t;
-- > id | v | w
-- > 1 | 10 | 7
COMMIT;
