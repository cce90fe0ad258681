//! Contacts saved singly, with their indexes: etui, and plain SQLite with the same rows.

use std::path::Path;
use std::time::Duration;

use etui::contacts::Card;
use etui::{Options, Store};
use etui_testkit::people::People;
use etui_vfs::Vfs;
use rusqlite::Connection;

use super::rows::companion_path;
use super::split;
use crate::measure::layout::Purpose;
use crate::peers::plain::{IndexParts, PlainContacts, PlainRows};
use crate::{Arm, ArmRole, ArmSettings, Error, Recorder, RunCase, redo};

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
        Arm::new(PLAIN_DELETE, ArmRole::AsFound, ArmSettings::new()),
        Arm::new(PLAIN_EXTRA, ArmRole::AsFound, ArmSettings::new()),
        Arm::new(PLAIN_WAL, ArmRole::AllCures, ArmSettings::new()),
        Arm::new(
            PLAIN_REDO,
            ArmRole::Peer,
            ArmSettings::new().with("redo", true),
        ),
        Arm::new(ETUI, ArmRole::Etui, ArmSettings::new()),
        Arm::new(
            ETUI_REDO,
            ArmRole::Etui,
            ArmSettings::new().with("redo", true),
        ),
    ]
}

pub fn set_up(size: u64, dir: &Path) -> Result<(), Error> {
    let store = Store::open(dir.join(FILLED))?;
    store.contacts()?.save_many(&read_cards(size)?)?;
    Ok(store.close()?)
}

/// As many again are saved before those that are measured.
fn read_cards(size: u64) -> Result<Vec<Card>, Error> {
    let count = usize::try_from(size * 2).unwrap_or(usize::MAX);
    People::new(2)
        .take(count)
        .map(|text| Ok(Card::parse(text)?))
        .collect()
}

pub fn save_contacts(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let path = recorder.dir().join("contacts.etui");
    let [journal, log, record] =
        ["-journal", "-wal", "-redo"].map(|end| companion_path(&path, end));
    let files = [
        (Purpose::Database, path.as_path()),
        (Purpose::Journal, journal.as_path()),
        (Purpose::Journal, log.as_path()),
        (Purpose::Journal, record.as_path()),
    ];
    let size = usize::try_from(case.size).unwrap_or(usize::MAX);
    let mut texts: Vec<Vec<u8>> = if [ETUI, ETUI_REDO].contains(&case.arm.as_str()) {
        let cards = read_cards(case.size)?;
        let mut options = Options::default();
        if case.settings.is("redo") {
            options.vfs = etui::Vfs::Etui;
        }
        let store = Store::open_with(&path, &options)?;
        let contacts = store.contacts()?;
        for card in cards.iter().take(size) {
            contacts.save(card)?;
        }
        split::count_work(recorder, &files, || {
            for card in cards.iter().skip(size) {
                contacts.save(card)?;
            }
            Ok(())
        })?;
        let texts = contacts.all()?;
        texts.iter().map(|(_, text)| text.to_vec()).collect()
    } else {
        let rows = PlainRows::read(&recorder.shared().join(FILLED))?;
        let vfs = match case.settings.is("redo") {
            true => Some(redo::register_vfs(redo::vfs_options(), Duration::ZERO)?),
            false => None,
        };
        let vfs_mode = vfs.as_ref().map(Vfs::name);
        PlainContacts::create(&path, IndexParts::Term, vfs_mode)?.close()?;
        if [PLAIN_DELETE, PLAIN_EXTRA].contains(&case.arm.as_str()) {
            let db = Connection::open(&path)?;
            db.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
            db.close().map_err(|(_, e)| e)?;
        }
        let plain = PlainContacts::open(&path, IndexParts::Term, vfs_mode)?;
        if case.arm == PLAIN_EXTRA {
            plain.sync_directories()?;
        }
        for at in 0..size {
            plain.save(&rows, at..at + 1, false)?;
        }
        let before = vfs.as_ref().map(Vfs::counters);
        split::count_work(recorder, &files, || {
            (size..rows.len()).try_for_each(|at| plain.save(&rows, at..at + 1, false))
        })?;
        if let (Some(vfs), Some(before)) = (&vfs, before) {
            redo::record_counters(recorder, "work", &vfs.counters().since(&before));
        }
        plain.all()?
    };
    texts.sort_unstable();
    for text in texts {
        recorder.answer(&text);
    }
    Ok(())
}
