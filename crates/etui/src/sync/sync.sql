-- Synchronisation with servers, created with the first account. docs/src/schema.md explains it.

-- Accounts. secret: where the password is; certificate: SHA-256 of one that was accepted.
CREATE TABLE IF NOT EXISTS sync_account (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,
    url         TEXT NOT NULL,
    user        TEXT NOT NULL,
    secret      TEXT NOT NULL,
    certificate TEXT
) STRICT;

-- Pairs of a collection here and one of a server.
--   direction           both, from server, to server
--   remote_token, ctag  the server's state at the end of the last run
--   local_token         the state here, of which all changes were looked at
--   listed_at           Unix ms of the last full listing
--   synced_at           Unix ms of the last run that came to its end
CREATE TABLE IF NOT EXISTS sync_pair (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account      INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    collection   INTEGER NOT NULL,
    url          TEXT NOT NULL,
    direction    TEXT NOT NULL,
    takes_v4     INTEGER NOT NULL,
    remote_token TEXT,
    ctag         TEXT,
    local_token  TEXT,
    listed_at    INTEGER,
    synced_at    INTEGER,
    UNIQUE (account, url)
) STRICT;

-- Records and what they are on the server.
--   etag, tag      both sides when they last agreed
--   remote, local  both texts then; local is NULL if it is that of remote
--   sending        the text of a request whose answer has not come; sending_tag: of the record then
CREATE TABLE IF NOT EXISTS sync_link (
    pair        INTEGER NOT NULL,
    href        TEXT NOT NULL,
    record      INTEGER NOT NULL,
    etag        TEXT,
    tag         TEXT,
    remote      BLOB NOT NULL,
    local       BLOB,
    sending     BLOB,
    sending_tag TEXT
) STRICT;

-- Finds the link of a resource, and of a record.
CREATE UNIQUE INDEX IF NOT EXISTS sync_link_by_href ON sync_link (pair, href);
CREATE UNIQUE INDEX IF NOT EXISTS sync_link_by_record ON sync_link (pair, record);
-- Finds requests whose answer has not come.
CREATE INDEX IF NOT EXISTS sync_link_sending ON sync_link (pair) WHERE sending_tag IS NOT NULL;

-- What the server or the store refused. item: the href, or # and the id of a record.
CREATE TABLE IF NOT EXISTS sync_problem (
    pair   INTEGER NOT NULL,
    item   TEXT NOT NULL,
    title  TEXT NOT NULL,
    reason TEXT NOT NULL,
    etag   TEXT,
    since  INTEGER NOT NULL,
    times  INTEGER NOT NULL,
    PRIMARY KEY (pair, item)
) STRICT;
