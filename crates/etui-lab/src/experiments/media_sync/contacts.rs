//! The arm that is etui: the tracks as cards of an address book, the pictures as their photos.

use std::path::Path;

use etui::contacts::{Card, Photo};
use etui::{Options, Store};

use super::library::{BATCH, Track, track_uid};
use super::{BatchSource, SyncWork, record_room};
use crate::{Error, Recorder};

fn store_options() -> Options {
    let mut options = Options::default();
    options.locale = Some("en".to_owned());
    options.region = Some("GB".to_owned());
    options
}

fn plain_card(tracks: u64, revision: u32) -> Result<Vec<Card>, Error> {
    (0..tracks)
        .map(|id| Ok(Card::parse(Track::number(id).card(revision, None))?))
        .collect()
}

/// Makes a book of tracks without pictures.
pub(super) fn set_up(path: &Path, tracks: u64) -> Result<(), Error> {
    let store = Store::open_with(path, &store_options())?;
    store.contacts()?.save_many(&plain_card(tracks, 1)?)?;
    store.close()?;
    Ok(())
}

fn track_cards(batch: &[(Track, Vec<u8>)]) -> Result<Vec<Card>, Error> {
    batch
        .iter()
        .map(|(track, picture)| Ok(Card::parse(track.card(1, Some(picture)))?))
        .collect()
}

/// Runs the arm.
pub(super) fn sync_contacts(work: &SyncWork<'_>, recorder: &mut Recorder) -> Result<(), Error> {
    let path = recorder.dir().join("library.etui");
    let store = Store::open_with(&path, &store_options())?;
    let contacts = store.contacts()?;
    contacts.save_many(&plain_card(work.tracks, 2)?)?;
    let mut batches = BatchSource::new(work);
    contacts.save_many(&track_cards(&batches.next())?)?;

    let mut pending = (0..work.batches)
        .map(|_| track_cards(&batches.next()))
        .collect::<Result<Vec<_>, _>>()?;
    recorder.phase("sync", || {
        for batch in pending.drain(..) {
            contacts.save_many(&batch)?;
        }
        Ok(())
    })?;
    record_room(recorder)?;
    drop(contacts);
    store.close()?;

    let store = Store::open_with(&path, &store_options())?;
    let contacts = store.contacts()?;
    let total = work.tracks + BATCH * (work.batches + 1);
    let rows = recorder.phase("read", || {
        let mut rows = Vec::new();
        for id in 0..total {
            let contact = contacts
                .get(&track_uid(id))?
                .ok_or_else(|| Error::other(format!("track {id} is not there")))?;
            let card = Card::parse(contact.text)?;
            let mut hash = blake3::Hasher::new();
            let artist = card.property("ORG").unwrap_or_default();
            let album = card.title().unwrap_or_default().to_owned();
            for text in [card.display_name(), artist, album] {
                hash.update(text.as_bytes());
                hash.update(&[0]);
            }
            if let Some(Photo::Inline { bytes, .. }) = card.photo() {
                hash.update(&bytes);
            }
            rows.push(hash.finalize());
        }
        Ok(rows)
    })?;
    for row in rows {
        recorder.answer(row.as_bytes());
    }
    drop(contacts);
    store.close()?;
    Ok(())
}
