-- Names of resources, created when the first one is put. docs/src/schema.md explains them.

-- The names that clients gave to records. A record without a row has a name that is computed from
-- its id.
--   released  sequence number at which the record lost the name: the name is reported to clients
--             as removed; 0: it has the name
CREATE TABLE IF NOT EXISTS resource (
    collection INTEGER NOT NULL,
    name       TEXT NOT NULL,
    record     INTEGER NOT NULL,
    released   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (collection, name)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX IF NOT EXISTS resource_record ON resource (record, released);

CREATE INDEX IF NOT EXISTS resource_released ON resource (collection, released) WHERE released <> 0;

-- A record that is purged takes its names along.
CREATE TRIGGER IF NOT EXISTS resource_purge AFTER DELETE ON record BEGIN
    DELETE FROM resource WHERE record = OLD.id;
END;
