//! Contacts saved singly, with their indexes: etui, and plain SQLite with the same rows.

use std::ops::Range;
use std::path::Path;

use etui::contacts::Card;
use etui::{Options, Store};
use etui_vfs::Vfs;
use rusqlite::Connection;

use super::super::common::{count_phase, make_cards, register_variant};
use super::split;
use crate::peers::plain::{IndexParts, PlainContacts, PlainRows};
use crate::{Arm, ArmRole, Error, Recorder, RunCase};

pub const ETUI: &str = "etui";
pub const PLAIN_DELETE: &str = "plain SQLite, DELETE";
pub const PLAIN_EXTRA: &str = "plain SQLite, DELETE, EXTRA";
pub const PLAIN_WAL: &str = "plain SQLite, WAL";
pub const PLAIN_REDO: &str = "plain SQLite, etui-vfs";

/// etui on the redo log.
pub const ETUI_REDO: &str = "etui, etui-vfs";

/// A closed store with all the contacts: where the rows of plain SQLite come from.
const FILLED: &str = "filled.etui";

pub fn contact_arms() -> Vec<Arm> {
    vec![
        Arm::new(PLAIN_DELETE, ArmRole::AsFound, ""),
        Arm::new(PLAIN_EXTRA, ArmRole::AsFound, ""),
        Arm::new(PLAIN_WAL, ArmRole::AllCures, ""),
        Arm::new(PLAIN_REDO, ArmRole::Variant, "redo"),
        Arm::new(ETUI, ArmRole::Etui, ""),
        Arm::new(ETUI_REDO, ArmRole::Variant, "redo"),
    ]
}

/// Fills a store with the contacts, and as many again that are saved before those that are
/// measured.
pub fn set_up(size: u64, dir: &Path) -> Result<(), Error> {
    let store = Store::open(dir.join(FILLED))?;
    store.contacts()?.save_many(&make_cards(2, size * 2)?)?;
    Ok(store.close()?)
}

pub fn save_contacts(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let path = recorder.dir().join("contacts.etui");
    let size = usize::try_from(case.size).unwrap_or(usize::MAX);
    let mut texts: Vec<Vec<u8>> = if [ETUI, ETUI_REDO].contains(&case.arm.as_str()) {
        let cards = make_cards(2, case.size * 2)?;
        let (before, counted) = cards.split_at(size);
        let mut options = Options::default();
        if case.settings.is("redo") {
            options.vfs = etui::Vfs::RedoLog;
        }
        let store = Store::open_with(&path, &options)?;
        let contacts = store.contacts()?;
        let save = |cards: &[Card]| -> Result<(), Error> {
            Ok(cards
                .iter()
                .try_for_each(|card| contacts.save(card).map(drop))?)
        };
        save(before)?;
        split::count_work(recorder, &path, || save(counted))?;
        let texts = contacts.all()?;
        texts.iter().map(|(_, text)| text.to_vec()).collect()
    } else {
        let rows = PlainRows::read(&recorder.shared().join(FILLED))?;
        let vfs = register_variant(&case.settings)?;
        let vfs_name = vfs.as_ref().map(Vfs::name);
        PlainContacts::create(&path, IndexParts::Term, vfs_name)?.close()?;
        if [PLAIN_DELETE, PLAIN_EXTRA].contains(&case.arm.as_str()) {
            let db = Connection::open(&path)?;
            db.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
            db.close().map_err(|(_, e)| e)?;
        }
        let plain = PlainContacts::open(&path, IndexParts::Term, vfs_name)?;
        if case.arm == PLAIN_EXTRA {
            plain.sync_directories()?;
        }
        let save =
            |mut which: Range<usize>| which.try_for_each(|at| plain.save(&rows, at..at + 1, false));
        save(0..size)?;
        count_phase(recorder, "work", vfs.as_ref(), |recorder| {
            split::count_work(recorder, &path, || save(size..rows.count()))
        })?;
        plain.all()?
    };
    texts.sort_unstable();
    for text in texts {
        recorder.answer(&text);
    }
    Ok(())
}
