-- Refused versions, created when the first one is kept. docs/src/schema.md explains them.

-- Texts that a client wrote and the store did not take.
--   record  the record that it was to replace; NULL: none
--   at      Unix ms
--   device  the client
--   reason  why it was refused
CREATE TABLE IF NOT EXISTS refused (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL,
    name       TEXT NOT NULL,
    record     INTEGER,
    uid        TEXT,
    at         INTEGER NOT NULL,
    device     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    size       INTEGER NOT NULL,
    text       BLOB NOT NULL
) STRICT;

-- Finds a text that a client sends again; the oldest of a client; those that are too old.
CREATE INDEX IF NOT EXISTS refused_by_name ON refused (collection, name);
CREATE INDEX IF NOT EXISTS refused_by_device ON refused (device, at, size);
CREATE INDEX IF NOT EXISTS refused_by_time ON refused (at);
