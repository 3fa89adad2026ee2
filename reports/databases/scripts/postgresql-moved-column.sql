-- A value that is moved to another column is in neither.
-- database: postgresql
-- levels: SERIALIZABLE, REPEATABLE READ
-- shows: future-column
-- wrong: B moves v to w in one transaction. Before it the value is in v, after it in w; A finds no
--        column v and w without a value.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM other;

-- Session B
BEGIN ISOLATION LEVEL SERIALIZABLE;
ALTER TABLE t ADD COLUMN w INT;
UPDATE t SET w = v;
ALTER TABLE t DROP COLUMN v;
COMMIT;

-- Session A
SELECT * FROM t;
-- > id | w
-- > 1 | NULL
COMMIT;
