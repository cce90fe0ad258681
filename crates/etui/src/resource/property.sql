-- Properties of collections, created when the first one is set. docs/src/schema.md explains them.

--   name   "{namespace}local name"
--   value  as the client wrote it
CREATE TABLE IF NOT EXISTS collection_property (
    collection INTEGER NOT NULL,
    name       TEXT NOT NULL,
    value      TEXT NOT NULL,
    PRIMARY KEY (collection, name)
) STRICT, WITHOUT ROWID;

-- A collection that is purged takes its properties along.
CREATE TRIGGER IF NOT EXISTS collection_property_purge AFTER DELETE ON collection BEGIN
    DELETE FROM collection_property WHERE collection = OLD.id;
END;
