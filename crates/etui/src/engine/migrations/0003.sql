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

-- Calendars for plain SQLite, as address books have it: what is written waits in the inbox.

ALTER TABLE inbox ADD COLUMN kind TEXT NOT NULL DEFAULT 'contacts';

CREATE VIEW calendar_record (calendar, uid, ics) AS
    SELECT c.name, r.uid, r.text
    FROM record r JOIN collection c ON c.id = r.collection
    WHERE c.kind = 'calendar' AND r.removed IS NULL;

CREATE TRIGGER calendar_insert INSTEAD OF INSERT ON calendar_record BEGIN
    SELECT raise(ABORT, 'the column ics is missing') WHERE NEW.ics IS NULL;
    SELECT raise(ABORT, 'there is no calendar of this name') WHERE NOT EXISTS
        (SELECT 1 FROM collection
         WHERE kind = 'calendar' AND name = coalesce(NEW.calendar, 'Calendar'));
    INSERT INTO inbox (kind, book, uid, vcard)
    VALUES ('calendar', coalesce(NEW.calendar, 'Calendar'), NULL, CAST(NEW.ics AS BLOB));
END;

CREATE TRIGGER calendar_update INSTEAD OF UPDATE ON calendar_record BEGIN
    SELECT raise(ABORT, 'only the ics of a record can be changed; its uid is in it')
        WHERE NEW.calendar IS NOT OLD.calendar OR NEW.uid IS NOT OLD.uid OR NEW.ics IS NULL;
    INSERT INTO inbox (kind, book, uid, vcard)
    VALUES ('calendar', NEW.calendar, OLD.uid, CAST(NEW.ics AS BLOB));
END;

CREATE TRIGGER calendar_delete INSTEAD OF DELETE ON calendar_record BEGIN
    INSERT INTO inbox (kind, book, uid, vcard) VALUES ('calendar', OLD.calendar, OLD.uid, NULL);
END;
