-- At SERIALIZABLE and READ COMMITTED the column comes with the row.
-- database: mariadb
-- levels: SERIALIZABLE, READ COMMITTED, READ UNCOMMITTED
-- shows: nothing
-- right: these levels read the newest rows, SERIALIZABLE with locks.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE;
START TRANSACTION;
SELECT count(*) FROM other;

-- Session B
UPDATE t SET v = 11 WHERE id = 1;
ALTER TABLE t ADD COLUMN w INT DEFAULT 7;

-- Session A
SELECT * FROM t;
-- > id | v | w
-- > 1 | 11 | 7
COMMIT;
