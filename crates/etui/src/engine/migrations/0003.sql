-- Version 3: calendars. What their records share, and when things happen that happen often, or
-- for long, or are to be told of. Address books are as they were.

CREATE TABLE shared (
    id   INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,                -- first 16 bytes of BLAKE3(text)
    text BLOB NOT NULL                 -- a calendar object without its records, or a VTIMEZONE
) STRICT;

CREATE INDEX shared_hash ON shared (hash);

ALTER TABLE record ADD COLUMN shared INTEGER;   -- the calendar object it came in; NULL: none
ALTER TABLE record ADD COLUMN places BLOB;      -- where its components stand there

CREATE TABLE series (
    collection INTEGER NOT NULL,
    class      INTEGER NOT NULL,       -- how long it lasts from first to until
    first      INTEGER NOT NULL,       -- nothing of it is earlier (Unix s)
    record     INTEGER NOT NULL,
    until      INTEGER NOT NULL,       -- nothing of it is later (Unix s); for ever: 2^63-1
    floating   INTEGER NOT NULL,       -- 1: alarm is local time, wherever one is
    alarm      INTEGER,                -- its next alarm (Unix s), or none is earlier; NULL: none
    due        BLOB,                   -- the same exactly; NULL: not known yet
    times      BLOB NOT NULL,          -- the record's lines that say when
    PRIMARY KEY (collection, class, first, record)
) STRICT, WITHOUT ROWID;

CREATE INDEX series_alarm ON series (collection, floating, alarm) WHERE alarm IS NOT NULL;

CREATE TABLE alarm (
    collection INTEGER NOT NULL,
    floating   INTEGER NOT NULL,       -- 1: at is local time, wherever one is
    at         INTEGER NOT NULL,       -- when it is due (Unix s)
    record     INTEGER NOT NULL,
    what       BLOB NOT NULL,          -- the same exactly, and what to do
    PRIMARY KEY (collection, floating, at, record)
) STRICT, WITHOUT ROWID;

INSERT OR IGNORE INTO collection (kind, name)
SELECT 'calendar', 'Calendar' FROM meta WHERE key = 'store_id';
