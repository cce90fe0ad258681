//! [`setup_as_found`]: the setup of a database and of its program's connections.

use super::capture::Observed;
use super::inspect::Inspection;
use super::setup::{JournalMode, Setup, Synchronous};

/// Settings of connections that are repeated as the program made them.
const REPEATED: [&str; 8] = [
    "recursive_triggers",
    "locking_mode",
    "cache_spill",
    "temp_store",
    "mmap_size",
    "journal_size_limit",
    "secure_delete",
    "case_sensitive_like",
];

/// Returns the setup as found: the file's, the program's settings, and the defaults of its SQLite.
pub fn setup_as_found(inspection: &Inspection, observed: Option<&Observed>) -> Setup {
    let mut setup = Setup::of_pages(inspection.page_size.max(512));
    setup.auto_vacuum.clone_from(&inspection.auto_vacuum);
    let set = |name: &str| observed?.settings.get(name).map(String::as_str);
    let default = |name: &str| observed?.defaults.get(name).map(String::as_str);
    let mode = set("journal_mode").and_then(|name| name.parse().ok());
    setup.journal_mode = match mode {
        _ if inspection.wal => JournalMode::Wal,
        Some(mode) if mode != JournalMode::Wal => mode,
        _ => JournalMode::Delete,
    };
    let level = match inspection.wal {
        true => default("wal_synchronous"),
        false => default("synchronous"),
    };
    let level = set("synchronous")
        .or(level)
        .and_then(Synchronous::from_name);
    setup.synchronous = level.unwrap_or(Synchronous::Full);
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
    let cache = number(set("cache_size")).or(number(default("cache_size")));
    setup.cache_size = cache.unwrap_or(setup.cache_size);
    let checkpoint = number(set("wal_autocheckpoint")).or(number(default("wal_autocheckpoint")));
    setup.wal_autocheckpoint = checkpoint.unwrap_or(setup.wal_autocheckpoint);
    let plain = |value: &&str| {
        value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    setup.pragmas = REPEATED
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), set(name).filter(plain)?.to_owned())))
        .collect();
    // SQLite's default is off, that of the SQLite here is on.
    let keys = set("foreign_keys")
        .or(default("foreign_keys"))
        .filter(plain);
    let keys = ("foreign_keys".to_owned(), keys.unwrap_or("0").to_owned());
    setup.pragmas.push(keys);
    setup
}
