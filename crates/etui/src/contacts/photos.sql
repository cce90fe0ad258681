-- Thumbnails of contacts' photos, created when the first one is asked for. docs/src/schema.md
-- explains them.

-- Photos by their content: one row, however many contacts have it.
--   id            the first 63 bits of BLAKE3 over the photo
--   small, large  JPEG of at most 128 and 256 pixels
CREATE TABLE IF NOT EXISTS photo (
    id    INTEGER PRIMARY KEY,
    small BLOB NOT NULL,
    large BLOB NOT NULL
) STRICT;

-- The photo of each contact whose thumbnail was asked for.
--   changed  record.changed when the card was read; if it is another now, the row is out of date
--   photo    NULL: the contact has no photo in its card, or one that cannot be read
CREATE TABLE IF NOT EXISTS contact_photo (
    record  INTEGER PRIMARY KEY,
    changed INTEGER NOT NULL,
    photo   INTEGER
) STRICT;

CREATE INDEX IF NOT EXISTS contact_photo_use ON contact_photo (photo) WHERE photo IS NOT NULL;

-- A contact that is purged takes its row along, and the last contact of a photo the thumbnails.
CREATE TRIGGER IF NOT EXISTS contact_photo_purge AFTER DELETE ON record BEGIN
    DELETE FROM contact_photo WHERE record = OLD.id;
END;

CREATE TRIGGER IF NOT EXISTS photo_unused AFTER DELETE ON contact_photo WHEN OLD.photo IS NOT NULL
BEGIN
    DELETE FROM photo WHERE id = OLD.photo
        AND NOT EXISTS (SELECT 1 FROM contact_photo WHERE photo = OLD.photo);
END;
