-- Version 1: the first. docs/src/schema.md explains every table and who may write it.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

--   kind  'contacts'
CREATE TABLE collection (
    id   INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (kind, name)
) STRICT;

--   id       number of the change that created it
--   changed  number of its latest change
--   removed  when it was removed (Unix ms); NULL: live
--   etag     first 16 bytes of BLAKE3(text)
--   sort     its key in list
--   keys     folded values that filters compare
--   text     the vCard, byte for byte as it came
CREATE TABLE record (
    id         INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    changed    INTEGER NOT NULL,
    removed    INTEGER,
    uid        TEXT NOT NULL,
    etag       BLOB NOT NULL,
    sort       BLOB NOT NULL,
    keys       BLOB NOT NULL,
    text       BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX record_uid ON record (collection, uid);

--   summary  name, organisation, phone, e-mail
CREATE TABLE list (
    collection INTEGER NOT NULL,
    sort       BLOB NOT NULL,
    id         INTEGER NOT NULL,
    summary    BLOB NOT NULL,
    PRIMARY KEY (collection, sort, id)
) STRICT, WITHOUT ROWID;

--   at    Unix ms
--   kind  1 edited, 2 removed, 3 restored
--   keys  keys before (NULL: was not live)
--   text  text before (NULL: unchanged by this change)
CREATE TABLE change (
    number INTEGER PRIMARY KEY,
    record INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    kind   INTEGER NOT NULL,
    keys   BLOB,
    text   BLOB
) STRICT;

CREATE TABLE term (
    term   BLOB NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (term, record)
) STRICT, WITHOUT ROWID;

CREATE TABLE gram (
    gram  INTEGER NOT NULL,
    first INTEGER NOT NULL,
    ids   BLOB NOT NULL,
    PRIMARY KEY (gram, first)
) STRICT, WITHOUT ROWID;

--   uid      remove this one first (NULL: none)
--   vcard    then save this (NULL: nothing)
--   problem  why it was not taken in (NULL: not tried yet)
CREATE TABLE inbox (
    id      INTEGER PRIMARY KEY,
    book    TEXT NOT NULL,
    uid     TEXT,
    vcard   BLOB,
    problem TEXT
) STRICT;

CREATE VIEW contact (book, uid, vcard) AS
    SELECT c.name, r.uid, r.text
    FROM record r JOIN collection c ON c.id = r.collection
    WHERE c.kind = 'contacts' AND r.removed IS NULL;

CREATE TRIGGER contact_insert INSTEAD OF INSERT ON contact BEGIN
    SELECT raise(ABORT, 'the column vcard is missing') WHERE NEW.vcard IS NULL;
    SELECT raise(ABORT, 'there is no address book of this name') WHERE NOT EXISTS
        (SELECT 1 FROM collection
         WHERE kind = 'contacts' AND name = coalesce(NEW.book, 'Contacts'));
    INSERT INTO inbox (book, uid, vcard)
    VALUES (coalesce(NEW.book, 'Contacts'), NULL, CAST(NEW.vcard AS BLOB));
END;

CREATE TRIGGER contact_update INSTEAD OF UPDATE ON contact BEGIN
    SELECT raise(ABORT, 'only the vcard of a contact can be changed; its uid is in it')
        WHERE NEW.book IS NOT OLD.book OR NEW.uid IS NOT OLD.uid OR NEW.vcard IS NULL;
    INSERT INTO inbox (book, uid, vcard)
    VALUES (NEW.book, OLD.uid, CAST(NEW.vcard AS BLOB));
END;

CREATE TRIGGER contact_delete INSTEAD OF DELETE ON contact BEGIN
    INSERT INTO inbox (book, uid, vcard) VALUES (OLD.book, OLD.uid, NULL);
END;
