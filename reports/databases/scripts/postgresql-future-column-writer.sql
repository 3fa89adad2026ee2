-- A transaction that writes another table commits with the same mixture.
-- database: postgresql
-- levels: SERIALIZABLE, REPEATABLE READ
-- shows: future-column
-- wrong: as in postgresql-future-column, and what A has computed from a column and a row that were
--        never there together is now stored.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
CREATE TABLE sums (total INT);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM other;

-- Session B
BEGIN ISOLATION LEVEL SERIALIZABLE;
ALTER TABLE t ADD COLUMN w INT DEFAULT 7;
UPDATE t SET v = 11 WHERE id = 1;
COMMIT;

-- Session A
INSERT INTO sums SELECT v + w FROM t;
-- > 1 changed
COMMIT;
SELECT * FROM sums;
-- > total
-- > 17
