-- A transaction that writes the table itself is refused.
-- database: postgresql
-- levels: SERIALIZABLE
-- shows: nothing
-- right: A's INSERT makes it a pivot of reads and writes of rows, which SERIALIZABLE does follow.

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
INSERT INTO t VALUES (2, 20, 7);
-- > error 40001
ROLLBACK;
