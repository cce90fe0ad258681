-- Version 3: calendars. What their records share, and when things happen that happen often, or
-- for long, or are to be told of. Address books are as they were.

--   id    the first 47 bits of the hash, or the next number that is free; below 0: of a text that
--         was not known yet when its row was made
--   hash  first 16 bytes of BLAKE3(text)
--   text  a calendar object without its records, or a VTIMEZONE
CREATE TABLE shared (
    id   INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    text BLOB NOT NULL
) STRICT;

ALTER TABLE record ADD COLUMN shared INTEGER;   -- the calendar object it came in; NULL: none
ALTER TABLE record ADD COLUMN places BLOB;      -- where its components stand there

ALTER TABLE change ADD COLUMN shared INTEGER;   -- both before the change, if that put it into
ALTER TABLE change ADD COLUMN places BLOB;      -- another object (places NULL: it did not)

-- What recurs, or is long: class is how long it lasts from first to until (Unix s; for ever:
-- 2^63-1). Its next alarm stands at the moment alarm in the table of that name; NULL: it has none.
-- times: the record's lines that say when.
CREATE TABLE series (
    collection INTEGER,
    class      INTEGER,
    first      INTEGER,
    record     INTEGER,
    until      INTEGER NOT NULL,
    alarm      INTEGER,
    times      BLOB NOT NULL,
    PRIMARY KEY (collection, class, first, record)
) STRICT, WITHOUT ROWID;

-- Alarms: of what happens once when they are due (at, Unix s), and in what the same exactly; of a
-- series when one may be due next, and in what where the series stands. kind 0: happens once;
-- 2: of a series; 1, 3: the same, at is local time, wherever one is.
CREATE TABLE alarm (
    collection INTEGER,
    kind       INTEGER,
    at         INTEGER,
    record     INTEGER,
    what       BLOB NOT NULL,
    PRIMARY KEY (collection, kind, at, record)
) STRICT, WITHOUT ROWID;

INSERT OR IGNORE INTO collection (kind, name)
SELECT 'calendar', 'Calendar' FROM meta WHERE key = 'store_id';

-- One view of all kinds, and what plain SQLite writes through it. All of the schema is parsed
-- whenever a program opens the store: a view and its triggers for each kind were a sixth of what
-- opening cost. They are short, and comments stand outside of the statements.

DROP VIEW IF EXISTS contact;
ALTER TABLE inbox RENAME TO inbox_before;

--   kind     contacts or calendar
--   book     NULL: the first of its kind
--   was      the book's name before an UPDATE
--   uid      what an UPDATE or a DELETE is of
--   text     NULL: a DELETE
--   problem  why it was not taken in (NULL: not tried yet)
CREATE TABLE inbox (
    kind    TEXT,
    book    TEXT,
    was     TEXT CONSTRAINT "an UPDATE cannot move a record" CHECK (was IS NULL OR was IS book),
    uid     TEXT,
    text    ANY,
    problem TEXT,
    CONSTRAINT "the text is missing" CHECK (text NOT NULL OR uid NOT NULL AND was IS NULL)
) STRICT;

INSERT INTO inbox (rowid, kind, book, uid, text, problem)
SELECT id, 'contacts', book, uid, vcard, problem
FROM inbox_before WHERE vcard NOT NULL OR uid NOT NULL ORDER BY id;

DROP TABLE inbox_before;

-- CROSS JOIN: collections first, as there are few, so that a UID is found by `record_uid`.
CREATE VIEW item AS
    SELECT kind, name book, uid, text
    FROM collection CROSS JOIN record ON collection.id = collection
    WHERE removed IS NULL;

-- To be read by whoever has views over it. A store that is made anew does not have it.
CREATE VIEW contact AS SELECT book, uid, text vcard FROM item WHERE kind = 'contacts';

CREATE TRIGGER item_insert INSTEAD OF INSERT ON item BEGIN
    SELECT raise(ABORT, 'there is no address book or calendar of this kind and name') WHERE NOT EXISTS
        (SELECT 1 FROM collection WHERE kind = NEW.kind AND name = ifnull(NEW.book, name));
    INSERT INTO inbox (kind, book, text) VALUES (NEW.kind, NEW.book, NEW.text);
END;

CREATE TRIGGER item_update INSTEAD OF UPDATE OF text ON item BEGIN
    INSERT INTO inbox VALUES (OLD.kind, NEW.book, OLD.book, OLD.uid, NEW.text, NULL);
END;

CREATE TRIGGER item_delete INSTEAD OF DELETE ON item BEGIN
    INSERT INTO inbox (kind, book, uid) VALUES (OLD.kind, OLD.book, OLD.uid);
END;
