-- innodb_snapshot_isolation, the default since 11.6, does not stop it either.
-- database: mariadb
-- levels: REPEATABLE READ
-- shows: future-column
-- wrong: as in mariadb-future-column. The setting is about writes of rows that have changed, and A
--        only reads.

-- Session A
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10);
CREATE TABLE other (id INT);
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SET SESSION innodb_snapshot_isolation = ON;
START TRANSACTION;
SELECT count(*) FROM other;

-- Session B
UPDATE t SET v = 11 WHERE id = 1;
ALTER TABLE t ADD COLUMN w INT DEFAULT 7;

-- Session A
SELECT * FROM t;
-- > id | v | w
-- > 1 | 10 | 7
COMMIT;
