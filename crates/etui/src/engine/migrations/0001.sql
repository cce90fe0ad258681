-- Version 1: the first. docs/src/schema.md explains every table and who may write it.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE collection (
    id   INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,            -- 'contacts'
    name TEXT NOT NULL,
    UNIQUE (kind, name)
) STRICT;

CREATE TABLE record (
    id         INTEGER PRIMARY KEY,    -- number of the change that created it
    collection INTEGER NOT NULL,
    changed    INTEGER NOT NULL,       -- number of its latest change
    removed    INTEGER,                -- when it was removed (Unix ms); NULL: live
    uid        TEXT NOT NULL,
    etag       BLOB NOT NULL,          -- first 16 bytes of BLAKE3(text)
    sort       BLOB NOT NULL,          -- its key in list
    keys       BLOB NOT NULL,          -- folded values that filters compare
    text       BLOB NOT NULL           -- the vCard, byte for byte as it came
) STRICT;

CREATE UNIQUE INDEX record_uid ON record (collection, uid);

CREATE TABLE list (
    collection INTEGER NOT NULL,
    sort       BLOB NOT NULL,
    id         INTEGER NOT NULL,
    summary    BLOB NOT NULL,          -- name, organisation, phone, e-mail
    PRIMARY KEY (collection, sort, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE change (
    number INTEGER PRIMARY KEY,
    record INTEGER NOT NULL,
    at     INTEGER NOT NULL,           -- Unix ms
    kind   INTEGER NOT NULL,           -- 1 edited, 2 removed, 3 restored
    keys   BLOB,                       -- keys before (NULL: was not live)
    text   BLOB                        -- text before (NULL: unchanged by this change)
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

CREATE TABLE inbox (
    id      INTEGER PRIMARY KEY,
    book    TEXT NOT NULL,
    uid     TEXT,                      -- remove this one first (NULL: none)
    vcard   BLOB,                      -- then save this (NULL: nothing)
    problem TEXT                       -- why it was not taken in (NULL: not tried yet)
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
