CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL DEFAULT 'nobody', city VARCHAR(40));
CREATE TABLE orders (id INT PRIMARY KEY, customer INT, amount INT, note VARCHAR(60));
CREATE TABLE items (id INT PRIMARY KEY, order_id INT, product INT, price INT);
CREATE TABLE invoices (id INT PRIMARY KEY, order_id INT, total INT, due VARCHAR(10));
