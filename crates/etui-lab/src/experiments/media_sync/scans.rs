//! The arm that is etui: the tracks as cards of an address book, the pictures as their photos.

use std::path::Path;

use etui::contacts::{Card, Photo};
use etui::{Durability, Store};

use super::super::backends::etui::store_options;
use super::library::{BATCH, Track, track_uid};
use super::{SyncWork, record_room};
use crate::{Error, Recorder};

fn open_store(path: &Path) -> Result<Store, Error> {
    Ok(Store::open_with(path, &store_options(Durability::Full))?)
}

fn plain_cards(tracks: u64, revision: u32) -> Result<Vec<Card>, Error> {
    (0..tracks)
        .map(|id| Ok(Card::parse(Track::number(id).card(revision, None))?))
        .collect()
}

/// Makes a book of tracks without pictures.
pub(super) fn set_up(path: &Path, tracks: u64) -> Result<(), Error> {
    let store = open_store(path)?;
    store.contacts()?.save_many(&plain_cards(tracks, 1)?)?;
    Ok(store.close()?)
}

/// Runs the arm.
pub(super) fn sync_contacts(work: &SyncWork<'_>, recorder: &mut Recorder) -> Result<(), Error> {
    let path = recorder.dir().join("library.etui");
    let store = open_store(&path)?;
    let contacts = store.contacts()?;
    let track_cards = |n: u64| -> Result<Vec<Card>, Error> {
        let batch = work.make_batch(n).into_iter();
        batch
            .map(|(track, picture)| Ok(Card::parse(track.card(1, Some(&picture)))?))
            .collect()
    };
    contacts.save_many(&plain_cards(work.tracks, 2)?)?;
    contacts.save_many(&track_cards(0)?)?;
    for n in 1..=work.batches {
        let cards = track_cards(n)?;
        recorder.phase("sync", || Ok(contacts.save_many(&cards)?))?;
    }
    record_room(recorder)?;
    drop(contacts);
    store.close()?;

    let store = open_store(&path)?;
    let contacts = store.contacts()?;
    let total = work.tracks + BATCH * (work.batches + 1);
    let rows = recorder.phase("read", || {
        let mut rows = Vec::new();
        for id in 0..total {
            let contact = contacts.get(&track_uid(id))?;
            let contact =
                contact.ok_or_else(|| Error::other(format!("track {id} is not there")))?;
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
    Ok(store.close()?)
}
