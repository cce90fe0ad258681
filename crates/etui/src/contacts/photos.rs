//! Thumbnails of contacts' photos, stored apart from the cards, so that a list with pictures does not
//! read cards.
//!
//! ```text
//! record ── contact_photo ── photo        small, large: JPEG of at most 128 and 256 pixels
//!    └ changed: the row was made of this version of the card
//! ```
//!
//! A thumbnail is made when it is first asked for, and stored: a save does not decode pictures.

use std::collections::HashMap;

use etui_media::limits::MAX_PICTURE;
use etui_media::{Thumbnails, make_thumbnails};
use rusqlite::{Connection, OptionalExtension};

use super::{Card, Contacts, Photo};
use crate::error::Result;
use crate::types::{RecordId, ThumbnailSize, picture_hash};

const SCHEMA: &str = include_str!("photos.sql");

/// Contacts whose thumbnails are made at a time, which bounds the memory for their cards.
const CHUNK: usize = 32;

/// Where the thumbnail of a contact is.
enum PhotoState {
    /// There is no such contact, or it has no photo that can be shown.
    Absent,
    /// In the table `photo`.
    Stored(i64),
    /// Still to be made of the card.
    Missing { changed: i64, card: Vec<u8> },
}

/// A thumbnail that was made, but not stored yet.
struct MadePhoto {
    record: RecordId,
    changed: i64,
    photo: Option<(i64, Thumbnails)>,
}

impl Contacts {
    /// Calls `visit` with the photo of each contact as a thumbnail, a JPEG file; `None` where a
    /// contact has no photo in its card, or one that cannot be decoded, or does not exist.
    ///
    /// Thumbnails are read without the cards. The first request for a contact's photo after a
    /// change of the card decodes it, and stores the thumbnails. Each request does so in a read-only
    /// store, and while the thumbnails cannot be stored, as on a full disk.
    ///
    /// ```
    /// # use etui::Store;
    /// use etui::contacts::{Paging, ThumbnailSize};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// let contacts = store.contacts()?;
    /// let page = contacts.list(Paging::first(50))?;
    /// let ids: Vec<_> = page.iter().map(|entry| entry.id).collect();
    /// contacts.each_photo(ThumbnailSize::Small, &ids, |jpeg| { let _ = jpeg; })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Any read error.
    pub fn each_photo(
        &self,
        size: ThumbnailSize,
        contacts: &[RecordId],
        mut visit: impl FnMut(Option<&[u8]>),
    ) -> Result<()> {
        for ids in contacts.chunks(CHUNK) {
            let mut visited = 0;
            let missing = self.read(|reader| {
                let states = read_states(reader.conn, self.number(), ids)?;
                // The first that is missing is visited after it is made, as are those after it.
                let first = |state: &PhotoState| matches!(state, PhotoState::Missing { .. });
                visited = states.iter().position(first).unwrap_or(states.len());
                for state in &states[..visited] {
                    visit_stored(reader.conn, size, state, &mut visit)?;
                }
                Ok(states)
            })?;
            if visited == ids.len() {
                continue;
            }
            let made = make_missing(ids, missing);
            if !self.db().is_read_only() {
                // They can be shown on a full disk, too. If they are not stored, they are made again
                // next time; an error that concerns more than them is that of the read below.
                let _ = self.db().write(|conn| store_photos(conn, &made));
            }
            let made: HashMap<RecordId, &MadePhoto> = made.iter().map(|m| (m.record, m)).collect();
            self.read(|reader| {
                let states = read_states(reader.conn, self.number(), &ids[visited..])?;
                for (id, state) in ids[visited..].iter().zip(&states) {
                    match (state, made.get(id)) {
                        // Not stored, or changed meanwhile: as it was a moment ago.
                        (PhotoState::Missing { .. }, Some(made)) => visit(
                            made.photo
                                .as_ref()
                                .map(|(_, photo)| thumbnail_of(photo, size)),
                        ),
                        _ => visit_stored(reader.conn, size, state, &mut visit)?,
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns the photo of a contact as a thumbnail, a JPEG file; see
    /// [`each_photo`](Self::each_photo).
    ///
    /// # Errors
    /// Any read error.
    pub fn photo(&self, contact: RecordId, size: ThumbnailSize) -> Result<Option<Vec<u8>>> {
        let mut found = None;
        self.each_photo(size, &[contact], |jpeg| found = jpeg.map(<[u8]>::to_vec))?;
        Ok(found)
    }
}

fn thumbnail_of(photo: &Thumbnails, size: ThumbnailSize) -> &[u8] {
    match size {
        ThumbnailSize::Small => &photo.small,
        ThumbnailSize::Large => &photo.large,
    }
}

fn has_tables(conn: &Connection) -> Result<bool> {
    let mut found =
        conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'contact_photo'")?;
    Ok(found.exists([])?)
}

fn read_states(conn: &Connection, collection: i64, ids: &[RecordId]) -> Result<Vec<PhotoState>> {
    let has_tables = has_tables(conn)?;
    let mut record = conn.prepare_cached(
        "SELECT changed FROM record WHERE id = ?1 AND collection = ?2 AND removed_at IS NULL",
    )?;
    let mut known = match has_tables {
        true => Some(conn.prepare_cached(
            "SELECT photo FROM contact_photo WHERE record = ?1 AND changed = ?2",
        )?),
        false => None,
    };
    let mut text = conn.prepare_cached("SELECT text FROM record WHERE id = ?1")?;
    ids.iter()
        .map(|id| {
            let changed = record
                .query_row((id.0, collection), |r| r.get(0))
                .optional()?;
            let Some(changed) = changed else {
                return Ok(PhotoState::Absent);
            };
            let photo: Option<Option<i64>> = match &mut known {
                Some(known) => known.query_row((id.0, changed), |r| r.get(0)).optional()?,
                None => None,
            };
            Ok(match photo {
                Some(Some(photo)) => PhotoState::Stored(photo),
                Some(None) => PhotoState::Absent,
                None => PhotoState::Missing {
                    changed,
                    card: text.query_row([id.0], |r| r.get(0))?,
                },
            })
        })
        .collect()
}

fn visit_stored(
    conn: &Connection,
    size: ThumbnailSize,
    state: &PhotoState,
    visit: &mut impl FnMut(Option<&[u8]>),
) -> Result<()> {
    let PhotoState::Stored(photo) = state else {
        visit(None);
        return Ok(());
    };
    let mut statement = conn.prepare_cached(match size {
        ThumbnailSize::Small => "SELECT small FROM photo WHERE id = ?1",
        ThumbnailSize::Large => "SELECT large FROM photo WHERE id = ?1",
    })?;
    let mut rows = statement.query([photo])?;
    match rows.next()? {
        Some(row) => visit(row.get_ref(0)?.as_blob().ok()),
        None => visit(None),
    }
    Ok(())
}

fn make_missing(ids: &[RecordId], states: Vec<PhotoState>) -> Vec<MadePhoto> {
    let missing = ids
        .iter()
        .zip(states)
        .filter_map(|(id, state)| match state {
            PhotoState::Missing { changed, card } => Some((*id, changed, card)),
            _ => None,
        });
    missing
        .map(|(record, changed, card)| MadePhoto {
            record,
            changed,
            photo: make_photo(card),
        })
        .collect()
}

/// Makes the thumbnails of the photo in a card. `None`: it has none, or one that cannot be decoded.
fn make_photo(card: Vec<u8>) -> Option<(i64, Thumbnails)> {
    let Some(Photo::Inline { bytes, .. }) = Card::parse(card).ok()?.photo() else {
        return None;
    };
    if bytes.len() as u64 > MAX_PICTURE {
        return None;
    }
    let made = make_thumbnails(&bytes).ok()?;
    Some((picture_hash(&bytes), made))
}

fn store_photos(conn: &Connection, photos: &[MadePhoto]) -> Result<()> {
    if !has_tables(conn)? {
        conn.execute_batch(SCHEMA)?;
    }
    let mut insert =
        conn.prepare_cached("INSERT OR IGNORE INTO photo (id, small, large) VALUES (?1, ?2, ?3)")?;
    // Deleted first, so that a photo that the contact had alone is deleted with the row.
    let mut forget = conn.prepare_cached("DELETE FROM contact_photo WHERE record = ?1")?;
    // A card may have been removed or changed since it was read.
    let mut assign = conn.prepare_cached(
        "INSERT INTO contact_photo (record, changed, photo) \
         SELECT id, changed, ?3 FROM record WHERE id = ?1 AND changed = ?2",
    )?;
    for made in photos {
        forget.execute([made.record.0])?;
        let photo = made.photo.as_ref().map(|(photo, _)| *photo);
        if assign.execute((made.record.0, made.changed, photo))? > 0
            && let Some((photo, thumbnails)) = &made.photo
        {
            insert.execute((photo, &thumbnails.small, &thumbnails.large))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use etui_testkit::images::{base64, tiny_png};

    use super::*;
    use crate::record::changes::{KEPT_MS, latest_seq, trim_log};
    use crate::types::now_ms;

    /// The thumbnails of a contact are deleted when it leaves the trash.
    #[test]
    fn thumbnails_are_purged_with_the_contact() {
        let dir = tempfile::tempdir().unwrap();
        let store = crate::Store::open(dir.path().join("s.etui")).unwrap();
        let contacts = store.contacts().unwrap();
        let photo = base64(&tiny_png(1));
        for uid in ["a", "b", "c"] {
            let text =
                format!("BEGIN:VCARD\nUID:{uid}\nFN:{uid}\nPHOTO;ENCODING=b:{photo}\nEND:VCARD\n");
            contacts.save(&Card::parse(text).unwrap()).unwrap();
        }
        let a = contacts.get("a").unwrap().unwrap().id;
        assert!(contacts.photo(a, ThumbnailSize::Small).unwrap().is_some());
        let count = || {
            let sql = "SELECT (SELECT count(*) FROM contact_photo), (SELECT count(*) FROM photo)";
            let read = |conn: &Connection| {
                Ok(conn.query_row(sql, [], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?)))?)
            };
            store.db.read_transaction(read).unwrap()
        };
        assert_eq!(count(), (1, 1));

        contacts.remove("a").unwrap();
        // The latest change stays.
        contacts.remove("c").unwrap();
        store.maintenance().merge_index().unwrap();
        assert_eq!(count(), (1, 1));
        let trim =
            |conn: &Connection| trim_log(conn, now_ms() + KEPT_MS + 60_000, latest_seq(conn)?, 1);
        store.db.write_unhooked(trim).unwrap();
        assert_eq!(count(), (0, 0));
        assert!(store.check().unwrap().is_clean());
    }
}
