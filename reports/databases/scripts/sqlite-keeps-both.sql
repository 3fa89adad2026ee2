-- The catalog is of the same version as the rows.
-- database: sqlite
-- shows: nothing
-- right: A sees neither B's column nor B's row.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
BEGIN;
SELECT count(*) FROM other;

-- Session B
BEGIN;
ALTER TABLE t ADD COLUMN w INT DEFAULT 7;
UPDATE t SET v = 11 WHERE id = 1;
COMMIT;

-- Session A
SELECT * FROM t;
-- > id | v
-- > 1 | 10
COMMIT;
SELECT * FROM t;
-- > id | v | w
-- > 1 | 11 | 7
