-- Version 1. docs/src/schema.md explains every table and who may write to it.

-- Settings and counters of the store.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- Address books and calendars.
--   kind           'contacts' or 'calendar'
--   external_id    its identifier in another system, unique in its kind; NULL: none
--   removed_at     when it was removed (Unix ms); NULL: it exists
--   history_start  sequence number of the latest change when it was created, was restored or became
--                  the default, or of its latest change that is no longer in the change log; changes
--                  since an older sync token cannot be listed
CREATE TABLE collection (
    id            INTEGER PRIMARY KEY,
    kind          TEXT NOT NULL,
    name          TEXT NOT NULL,
    external_id   TEXT,
    removed_at    INTEGER,
    history_start INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX collection_name ON collection (kind, name) WHERE removed_at IS NULL;

-- Contacts and calendar records. The summary is before the long columns, so that it is read
-- without them.
--   id          sequence number of the change that created it
--   changed     sequence number of its latest change
--   removed_at  when it was moved to the trash (Unix ms); NULL: live
--   etag        first 16 bytes of BLAKE3(text)
--   sort_key    its key in the list
--   summary     what the list shows of it
--   keys        folded values that filters compare
--   text        the vCard or the iCalendar components, byte for byte
--   source      the calendar object it came in (shared_text); NULL: none
--   positions   the positions of its components in that object
CREATE TABLE record (
    id         INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    changed    INTEGER NOT NULL,
    removed_at INTEGER,
    uid        TEXT NOT NULL,
    etag       BLOB NOT NULL,
    sort_key   BLOB NOT NULL,
    summary    BLOB NOT NULL,
    keys       BLOB NOT NULL,
    text       BLOB NOT NULL,
    source     INTEGER,
    positions  BLOB
) STRICT;

CREATE UNIQUE INDEX record_uid ON record (collection, uid);

-- The change log: edits, removals and restorations. Additions are in record.
--   at         Unix ms
--   kind       1 edited, 2 removed, 3 restored
--   keys       keys before the change; NULL: the record was not live
--   text       text before the change; NULL: unchanged by it
--   source, positions   before the change; positions NULL: unchanged by it
CREATE TABLE change (
    seq       INTEGER PRIMARY KEY,
    record    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    kind      INTEGER NOT NULL,
    keys      BLOB,
    text      BLOB,
    source    INTEGER,
    positions BLOB
) STRICT;

-- Calendar objects without their records, and VTIMEZONEs, shared by content.
--   id    the first 47 bits of the hash, or the next free number; negative: of a text that was
--         still being read when its row was inserted
--   hash  first 16 bytes of BLAKE3(text)
CREATE TABLE shared_text (
    id   INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    text BLOB NOT NULL
) STRICT;

-- Time zones of calendars, for records that are saved without a VTIMEZONE of their own.
--   text  the VTIMEZONE, byte for byte
CREATE TABLE calendar_zone (
    collection INTEGER,
    tzid       TEXT,
    text       BLOB NOT NULL,
    PRIMARY KEY (collection, tzid)
) STRICT, WITHOUT ROWID;

-- Lists: the live records of each collection in the order of (sort_key, id), in blocks.
--   first  lower bound of the entries of the block
CREATE TABLE list_block (
    id         INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    first      BLOB NOT NULL,
    entries    BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX list_order ON list_block (collection, first);

-- Counts over the blocks of a list.
--   first   lower bound of the first block
--   count   number of entries in all blocks of the span
--   blocks  number of entries in each of them
CREATE TABLE list_span (
    collection INTEGER NOT NULL,
    first      BLOB NOT NULL,
    count      INTEGER NOT NULL,
    blocks     BLOB NOT NULL,
    PRIMARY KEY (collection, first)
) STRICT, WITHOUT ROWID;

-- Search index: posting lists, the records that have a term or a trigram.
--   first  the first record of the row
--   ids    the row's other records, as differences
CREATE TABLE term_posting (
    term  BLOB,
    first INTEGER,
    ids   BLOB NOT NULL,
    PRIMARY KEY (term, first)
) STRICT, WITHOUT ROWID;

CREATE TABLE trigram_posting (
    trigram INTEGER,
    first   INTEGER,
    ids     BLOB NOT NULL,
    PRIMARY KEY (trigram, first)
) STRICT, WITHOUT ROWID;

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

-- Writes of other programs through the view item, until etui next opens a collection.
--   operation   'insert', 'update' or 'delete'
--   collection  of an insert
--   record      of an update or a delete
--   book        of an update: the name of the collection that it sets
--   text        of an insert or an update
--   problem     why it was rejected; NULL: not tried yet
CREATE TABLE write_queue (
    id         INTEGER PRIMARY KEY,
    operation  TEXT NOT NULL,
    collection INTEGER,
    record     INTEGER,
    book       ANY,
    text       ANY,
    problem    TEXT,
    CONSTRAINT text_is_missing CHECK (operation = 'delete' OR text IS NOT NULL)
) STRICT;

-- CROSS JOIN reads the few collections first, so that a UID is found by record_uid.
CREATE VIEW item AS
    SELECT kind, name AS book, uid, text, record.id
    FROM collection CROSS JOIN record ON collection.id = record.collection
    WHERE record.removed_at IS NULL AND collection.removed_at IS NULL;

-- Without a book the default collection of the kind, which is the first, takes the record.
CREATE TRIGGER item_insert INSTEAD OF INSERT ON item BEGIN
    INSERT INTO write_queue (operation, collection, text)
    SELECT 'insert',
        ifnull(min(id), raise(ABORT, 'there is no address book or calendar of this kind and name')),
        NEW.text
    FROM collection
    WHERE kind = NEW.kind AND removed_at IS NULL AND name = ifnull(NEW.book, name);
END;

CREATE TRIGGER item_update INSTEAD OF UPDATE OF text ON item BEGIN
    INSERT INTO write_queue (operation, record, book, text)
    VALUES ('update', OLD.id, NEW.book, NEW.text);
END;

CREATE TRIGGER item_delete INSTEAD OF DELETE ON item BEGIN
    INSERT INTO write_queue (operation, record) VALUES ('delete', OLD.id);
END;
