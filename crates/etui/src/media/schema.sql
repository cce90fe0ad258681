-- The tables of a media library, created at its first use: a store without one does not pay for
-- them when it is opened. docs/src/schema.md explains them.

-- Folders that are scanned.
--   path    its path as bytes: names need not be UTF-8
--   fsid    the file system's id, 0: unknown
--   inode   the folder's inode there
--   is_away it was not there when it was last looked for; its records stay
CREATE TABLE IF NOT EXISTS media_root (
    id      INTEGER PRIMARY KEY,
    path    BLOB NOT NULL UNIQUE,
    fsid    INTEGER NOT NULL,
    inode   INTEGER NOT NULL,
    is_away INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Folders below a root with media in them or below them; the root itself has no parent and no name.
--   context  a hash of what its files depend on beside themselves: the folder of its albums, the
--            cover in it, whether it has music
CREATE TABLE IF NOT EXISTS media_folder (
    id     INTEGER PRIMARY KEY,
    root   INTEGER NOT NULL,
    parent INTEGER,
    name   BLOB NOT NULL,
    inode  INTEGER NOT NULL,
    context INTEGER NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS media_folder_root ON media_folder (root);
CREATE INDEX IF NOT EXISTS media_folder_parent ON media_folder (parent);

-- Files of media as they were last read.
--   mtime    time of the last modification, ns since 1970
--   state    0 read, 1 read in part, 2 refused, 3 a folder's cover,
--           4 a picture beside music that no camera took, 5 the second file of another's record
--   record   the track or picture; NULL: none
--   problem  why it was refused or read in part
CREATE TABLE IF NOT EXISTS media_file (
    folder  INTEGER,
    name    BLOB,
    size    INTEGER NOT NULL,
    mtime   INTEGER NOT NULL,
    inode   INTEGER NOT NULL,
    state   INTEGER NOT NULL,
    record  INTEGER,
    problem TEXT,
    PRIMARY KEY (folder, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS media_file_record ON media_file (record) WHERE record IS NOT NULL;

-- Covers and pictures by their content: one row, however many tracks have it.
--   id      the first 63 bits of BLAKE3 over the picture's bytes
--   width, height  of the original, in pixels
--   color   its average, 0xrrggbb
--   small, large   thumbnails of at most 128 and 256 pixels
CREATE TABLE IF NOT EXISTS media_cover (
    id     INTEGER PRIMARY KEY,
    width  INTEGER NOT NULL,
    height INTEGER NOT NULL,
    color  INTEGER NOT NULL,
    small  INTEGER NOT NULL,
    large  INTEGER NOT NULL
) STRICT;

-- Thumbnails, JPEG files.
CREATE TABLE IF NOT EXISTS media_thumbnail (
    id    INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;
