//! Shared by several modules of tests: options that do not depend on the environment, cards, stores.

pub mod calendar;

use std::fs;
use std::path::{Path, PathBuf};

use etui::contacts::{Card, Contacts};
use etui::{Options, RecordId, Store};
use etui_testkit::people::People;

/// Returns a directory, and the path of a store in it.
pub fn directory() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    (dir, path)
}

/// Returns options that do not depend on the environment.
pub fn german() -> Options {
    let mut options = Options::default();
    options.locale = Some("de".into());
    options.region = Some("DE".into());
    options
}

/// Returns options for an existing store.
pub fn reading() -> Options {
    let mut options = Options::default();
    options.read_only = true;
    options.create = false;
    options
}

/// Returns a card.
pub fn card(uid: &str, name: &str) -> Card {
    Card::parse(vcard(uid, name)).unwrap()
}

/// Returns a card's text.
pub fn vcard(uid: &str, name: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nN:{name};;;;\r\nFN:{name}\r\nEND:VCARD\r\n")
}

/// Returns generated people.
pub fn people(seed: u64, count: usize) -> Vec<Card> {
    People::new(seed)
        .take(count)
        .map(|t| Card::parse(t).unwrap())
        .collect()
}

/// Creates a closed store with `count` people.
pub fn filled(path: &Path, count: usize) {
    let store = Store::open_with(path, &german()).unwrap();
    store
        .contacts()
        .unwrap()
        .save_many(&people(3, count))
        .unwrap();
    store.close().unwrap();
}

/// Fails unless the store is clean.
pub fn clean(store: &Store) {
    let report = store.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// Returns all contacts with their texts.
pub fn texts(contacts: &Contacts) -> Vec<(RecordId, Vec<u8>)> {
    let all = contacts.all().unwrap();
    all.iter().map(|(id, text)| (id, text.to_vec())).collect()
}

/// Returns the names of the files in a directory.
pub fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A made-up migration to the next schema version: it adds a table and a column, recreates a table,
/// and leaves the index to be rebuilt.
pub const NEXT_VERSION: &[&str] = &["
    CREATE TABLE note (record INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
    ALTER TABLE change ADD COLUMN author TEXT;
    ALTER TABLE list_span RENAME TO list_span_before;
    CREATE TABLE list_span (
        collection INTEGER NOT NULL,
        first      BLOB NOT NULL,
        count      INTEGER NOT NULL,
        blocks     BLOB NOT NULL,
        PRIMARY KEY (collection, first)
    ) STRICT, WITHOUT ROWID;
    DROP TABLE list_span_before;
    DELETE FROM list_block;
    DELETE FROM term_posting;
    DELETE FROM trigram_posting;
    DELETE FROM meta WHERE key = 'index_version';
    UPDATE meta SET value = 0 WHERE key IN ('term_watermark', 'trigram_watermark');
"];
