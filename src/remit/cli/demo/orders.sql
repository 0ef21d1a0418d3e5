-- The desk's own world: the runs' store is another database, and knows nothing of this one.
-- name: make
CREATE TABLE IF NOT EXISTS orders(
    number TEXT PRIMARY KEY,
    customer TEXT NOT NULL,
    items TEXT NOT NULL,
    cents INTEGER NOT NULL,
    status TEXT NOT NULL,
    tracking TEXT
);
CREATE TABLE IF NOT EXISTS refunds(
    key TEXT NOT NULL UNIQUE,
    number TEXT NOT NULL REFERENCES orders(number),
    cents INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS entered(key TEXT NOT NULL, process INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS replies(key TEXT NOT NULL UNIQUE, customer TEXT NOT NULL, text TEXT NOT NULL);

-- An order comes once, however often the file is read.
-- name: put
INSERT OR IGNORE INTO orders(number, customer, items, cents, status, tracking)
VALUES (:number, :customer, :items, :cents, :status, :tracking);

-- A customer's own orders alone: whose they are comes from the run's user, never from the model.
-- name: find
SELECT number, items, cents, status, tracking,
    (SELECT coalesce(sum(cents), 0) FROM refunds WHERE refunds.number = orders.number) AS refunded
FROM orders WHERE number = :number AND customer = :customer;

-- Committed by itself, so that it counts even an attempt that dies on the next line.
-- name: enter
INSERT INTO entered(key, process) VALUES (:key, :process);

-- The second attempt of a call finds what the first one did.
-- name: refund_by_key
SELECT number, cents FROM refunds WHERE key = :key;

-- The key is unique: a second row for one call cannot be.
-- name: refund
INSERT INTO refunds(key, number, cents) VALUES (:key, :number, :cents);

-- A reply that was sent by a first attempt is not sent again.
-- name: reply
INSERT OR IGNORE INTO replies(key, customer, text) VALUES (:key, :customer, :text);

-- What was done, beside how often it was begun.
-- name: counts
SELECT key, number, sum(cents) AS cents, count(*) AS refunds,
    (SELECT count(*) FROM entered WHERE entered.key = refunds.key) AS entered
FROM refunds GROUP BY key, number ORDER BY min(rowid);

-- Attempts that made no refund count, too.
-- name: entries
SELECT count(*) FROM entered;
