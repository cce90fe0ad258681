-- Version 3: calendars. What their records share, and when things happen that happen often, or
-- for long, or are to be told of. Address books are as they were, but for the index.

-- Terms and grams, which were tables of their own. All integers lie before all BLOBs.
--   key    a gram (INTEGER) or a term (BLOB)
CREATE TABLE posting (
    key   ANY,
    first INTEGER,
    ids   BLOB NOT NULL,
    PRIMARY KEY (key, first)
) STRICT, WITHOUT ROWID;

INSERT INTO posting SELECT gram, first, ids FROM gram ORDER BY gram, first;
INSERT INTO posting SELECT term, first, ids FROM term ORDER BY term, first;
DROP TABLE gram;
DROP TABLE term;

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

-- Time index: spans of the occurrences (series) and of the alarms (alarm) of calendar records, in
-- Unix seconds.
--   length_class  class of last - first
--   last          NULL: unbounded
--   version       hash of what the span was computed from
CREATE TABLE series (
    record       INTEGER PRIMARY KEY,
    collection   INTEGER NOT NULL,
    length_class INTEGER NOT NULL,
    first        INTEGER NOT NULL,
    last         INTEGER,
    version      BLOB NOT NULL
) STRICT;

CREATE INDEX series_span ON series (collection, length_class, first, last, version);

CREATE TABLE alarm (
    record       INTEGER PRIMARY KEY,
    collection   INTEGER NOT NULL,
    length_class INTEGER NOT NULL,
    first        INTEGER NOT NULL,
    last         INTEGER,
    version      BLOB NOT NULL
) STRICT;

CREATE INDEX alarm_span ON alarm (collection, length_class, first, last, version);

INSERT OR IGNORE INTO collection (kind, name)
SELECT 'calendar', 'Calendar' FROM meta WHERE key = 'store_id';

-- One view of all kinds, and what plain SQLite writes through it. All of the schema is parsed
-- whenever a program opens the store: a view and its triggers for each kind were a sixth of what
-- opening cost. They are short, and comments stand outside of the statements.

DROP VIEW IF EXISTS contact;
ALTER TABLE inbox RENAME TO inbox_before;

--   record   what an UPDATE is of; NULL: it is an INSERT or a DELETE
--   book     number of the collection that an INSERT is for; the book's name as an UPDATE has it,
--            which must be the record's; NULL: it is a DELETE
--   text     what is to be saved; of a DELETE the number of its record
--   problem  why it was not taken in (NULL: not tried yet)
-- Neither STRICT nor any CHECK: to parse these was half of what the table cost.
CREATE TABLE inbox (record, book, text NOT NULL, problem);

-- Of what is not there any more the names are kept: nothing can be done about it, which is told.
-- A DELETE of a record that is gone is done.
INSERT INTO inbox (rowid, record, book, text, problem)
SELECT b.id,
    iif(vcard IS NULL, NULL, r.id),
    CASE
        WHEN vcard IS NULL AND r.id NOT NULL THEN NULL
        WHEN vcard NOT NULL AND r.id IS NULL AND c.id NOT NULL THEN c.id
        ELSE book
    END,
    coalesce(vcard, r.id, b.uid),
    ifnull(problem, iif(c.id IS NULL, 'there is no address book named "' || book || '"', NULL))
FROM inbox_before b
    LEFT JOIN collection c ON c.kind = 'contacts' AND c.name = book
    LEFT JOIN record r ON r.collection = c.id AND r.uid = b.uid
WHERE vcard NOT NULL OR r.id NOT NULL OR b.uid NOT NULL AND (c.id IS NULL OR problem NOT NULL)
ORDER BY b.id;

DROP TABLE inbox_before;

-- CROSS JOIN: collections first, as there are few, so that a UID is found by `record_uid`.
CREATE VIEW item AS
    SELECT kind, name book, uid, text, record.id
    FROM collection CROSS JOIN record ON collection.id = collection
    WHERE removed ISNULL;

-- To be read by whoever has views over it. A store that is made anew does not have it.
CREATE VIEW contact AS SELECT book, uid, text vcard FROM item WHERE kind = 'contacts';

-- IS NOT 0: of no book none is another one.
CREATE TRIGGER item_insert INSTEAD OF INSERT ON item BEGIN
    INSERT INTO inbox (book, text)
    SELECT ifnull(min(id), raise(ABORT, 'there is no address book or calendar of this kind and name')),
        NEW.text
    FROM collection WHERE kind = NEW.kind AND name = NEW.book IS NOT 0;
END;

CREATE TRIGGER item_update INSTEAD OF UPDATE OF text ON item BEGIN
    INSERT INTO inbox VALUES (OLD.id, NEW.book, NEW.text, NULL);
END;

CREATE TRIGGER item_delete INSTEAD OF DELETE ON item BEGIN
    INSERT INTO inbox (text) VALUES (OLD.id);
END;
