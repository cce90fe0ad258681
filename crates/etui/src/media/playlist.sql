-- Playlists and the history of plays, created when the first one is made or the first play is
-- counted. docs/src/schema.md explains them.

-- Playlists: lists of the user's own order, and saved filters.
--   filter  the text of a filter of tracks, evaluated when it is read; NULL: it has entries
CREATE TABLE IF NOT EXISTS media_playlist (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,
    filter TEXT
) STRICT;

-- Entries of playlists.
--   place     their order; the numbers have gaps
--   uid       the UID of the track; NULL: no track, or none that is known yet
--   location  the path of its file when it was added, as bytes, or a URL
--   title, artist, album, seconds  as they were when it was added: they name a lost track
CREATE TABLE IF NOT EXISTS media_playlist_entry (
    playlist INTEGER NOT NULL,
    place    INTEGER NOT NULL,
    uid      TEXT,
    location BLOB,
    title    TEXT NOT NULL,
    artist   TEXT NOT NULL,
    album    TEXT NOT NULL,
    seconds  INTEGER,
    PRIMARY KEY (playlist, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS media_playlist_unlinked ON media_playlist_entry (playlist, place)
    WHERE uid IS NULL;

-- Plays of tracks, numbered as they were counted.
--   at  seconds since 1970
CREATE TABLE IF NOT EXISTS media_play (
    id     INTEGER PRIMARY KEY,
    record INTEGER NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS media_play_at ON media_play (at);

CREATE INDEX IF NOT EXISTS media_play_record ON media_play (record);

-- A track that is purged takes its plays along.
CREATE TRIGGER IF NOT EXISTS media_play_purge AFTER DELETE ON record BEGIN
    DELETE FROM media_play WHERE record = OLD.id;
END;
