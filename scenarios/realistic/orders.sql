ALTER TABLE orders ADD COLUMN state VARCHAR(20) DEFAULT 'new';
ALTER TABLE orders ALTER COLUMN amount SET DATA TYPE BIGINT;
CREATE INDEX orders_by_customer ON orders (customer);
ALTER TABLE orders DROP COLUMN note;
ALTER TABLE items RENAME COLUMN product TO sku;
CREATE TABLE shipments (id INT PRIMARY KEY, order_id INT, sent VARCHAR(10));
