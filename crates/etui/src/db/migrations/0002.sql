-- Version 2: lists in counted blocks, terms by field in posting lists, summaries beside records.
-- All of it is derived from the records: it is filled when the store is next used, because what
-- `derivation` in `meta` says is gone.

DROP TABLE list;

--   first  no entry of the block stands before this place
CREATE TABLE list_block (
    id         INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    first      BLOB NOT NULL,
    entries    BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX list_order ON list_block (collection, first);

--   first   where its first block begins
--   count   entries of all its blocks
--   blocks  entries of each of its blocks
CREATE TABLE list_span (
    collection INTEGER NOT NULL,
    first      BLOB NOT NULL,
    count      INTEGER NOT NULL,
    blocks     BLOB NOT NULL,
    PRIMARY KEY (collection, first)
) STRICT, WITHOUT ROWID;

DROP TABLE term;

CREATE TABLE term (
    term  BLOB NOT NULL,
    first INTEGER NOT NULL,
    ids   BLOB NOT NULL,
    PRIMARY KEY (term, first)
) STRICT, WITHOUT ROWID;

DELETE FROM gram;
DELETE FROM meta WHERE key = 'derivation';
INSERT OR REPLACE INTO meta (key, value) VALUES ('term_mark', 0), ('gram_mark', 0);

-- The summary stands before the long columns, so that it is read without them.
DROP VIEW IF EXISTS contact;
DROP INDEX record_uid;
ALTER TABLE record RENAME TO record_before;

--   id       number of the change that created it
--   changed  number of its latest change
--   removed  when it was removed (Unix ms); NULL: live
--   etag     first 16 bytes of BLAKE3(text)
--   sort     its key in the list
--   summary  name, organisation, phone, e-mail
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
    summary    BLOB NOT NULL,
    keys       BLOB NOT NULL,
    text       BLOB NOT NULL
) STRICT;

INSERT INTO record (id, collection, changed, removed, uid, etag, sort, summary, keys, text)
SELECT id, collection, changed, removed, uid, etag, sort, x'', keys, text
FROM record_before ORDER BY id;

DROP TABLE record_before;
CREATE UNIQUE INDEX record_uid ON record (collection, uid);

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
