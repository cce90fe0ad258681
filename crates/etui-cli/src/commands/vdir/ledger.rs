//! [`ExportLedger`]: the files of a folder that etui has written or read.
//!
//! A file that differs from its hash was changed by another program since: an export must not overwrite
//! or remove it before it was imported. One that is gone was removed by another program: an export must
//! not write it again.
//!
//! ```text
//! .etui-exported   HASH HOME NAME TAB UID LF ...    first 16 bytes of BLAKE3 in hexadecimal; the
//!                                                   collection of a store that the file was exchanged
//!                                                   with; the file name; the UID of its record, empty
//!                                                   if it has not exactly one
//! ```

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use etui::{CollectionId, ETag, Store};
use etui_program::{Failure, Result};

/// The file of the ledger.
const LEDGER: &str = ".etui-exported";

/// Returns the name of a collection in ledgers. It has the incarnation of the store: after a backup was
/// restored, the files are newer than the records.
pub fn collection_home(store: &Store, collection: CollectionId) -> Result<String> {
    Ok(format!("{:016x}.{collection}", store.token()?.incarnation))
}

/// A file of a folder when it was last exported or imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    pub hash: ETag,
    /// The collection that it was exchanged with ([`collection_home`]).
    pub home: String,
    /// The UID of its record.
    pub uid: Option<String>,
}

/// The files of a folder when they were last exported or imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportLedger {
    files: BTreeMap<String, LedgerEntry>,
}

impl ExportLedger {
    /// Reads the ledger of a folder; `None` if there is none. Lines that are not of the format are
    /// ignored.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(LEDGER);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::io(&path, error)),
        };
        let text = String::from_utf8_lossy(&bytes);
        let entries = text.lines().filter_map(|line| {
            let (hash, rest) = line.split_once(' ')?;
            let (home, rest) = rest.split_once(' ')?;
            let (name, uid) = rest.rsplit_once('\t')?;
            let entry = LedgerEntry {
                hash: hash.parse().ok()?,
                home: home.to_owned(),
                uid: Some(uid.to_owned()).filter(|uid| !uid.is_empty()),
            };
            Some((name.to_owned(), entry))
        });
        Ok(Some(Self {
            files: entries.collect(),
        }))
    }

    /// Replaces the ledger of a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(LEDGER);
        let failed = |e| Failure::io(&path, e);
        let mut file = tempfile::Builder::new()
            .prefix(PART_PREFIX)
            .suffix(PART_SUFFIX)
            .tempfile_in(folder)
            .map_err(failed)?;
        let mut text = String::new();
        for (name, LedgerEntry { hash, home, uid }) in &self.files {
            let uid = uid.as_deref().unwrap_or_default();
            text.push_str(&format!("{hash} {home} {name}\t{uid}\n"));
        }
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.persist(&path).map_err(|e| failed(e.error))?;
        Ok(())
    }

    /// Returns the entry of a file that was exchanged with a collection.
    pub fn get(&self, home: &str, name: &str) -> Option<&LedgerEntry> {
        self.files.get(name).filter(|entry| entry.home == home)
    }

    /// Returns true if the file has the bytes that were exchanged with a collection.
    pub fn has(&self, home: &str, name: &str, hash: ETag) -> bool {
        self.get(home, name).is_some_and(|entry| entry.hash == hash)
    }

    /// Returns the files that were exchanged with a collection.
    pub fn files_of(&self, home: &str) -> impl Iterator<Item = (&String, &LedgerEntry)> {
        self.files
            .iter()
            .filter(move |(_, entry)| entry.home == home)
    }

    /// Returns true if it has files with a suffix, such as `.vcf`.
    pub fn has_suffix(&self, suffix: &str) -> bool {
        self.files.keys().any(|name| name.ends_with(suffix))
    }

    /// Notes a file.
    pub fn insert(&mut self, name: &str, mut entry: LedgerEntry) {
        // A UID with such a character cannot be told from the next line.
        entry.uid = entry.uid.filter(|uid| !uid.contains(['\n', '\r', '\t']));
        if !name.contains(['\n', '\r']) {
            self.files.insert(name.to_owned(), entry);
        }
    }

    /// Removes a file.
    pub fn remove(&mut self, name: &str) {
        self.files.remove(name);
    }
}

/// Beginning and end of the names of files that are being written.
pub const PART_PREFIX: &str = ".etui-part-";
pub const PART_SUFFIX: &str = ".tmp";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_reads_back_as_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ExportLedger::read(dir.path()).unwrap(), None);
        let mut ledger = ExportLedger::default();
        let entry = |text: &[u8], uid: Option<&str>| LedgerEntry {
            hash: ETag::of(text),
            home: "1.1".to_owned(),
            uid: uid.map(str::to_owned),
        };
        ledger.insert("a b\t.vcf", entry(b"1", Some("a b")));
        ledger.insert("c.vcf", entry(b"2", None));
        ledger.insert("d.vcf", entry(b"3", Some("two\nlines")));
        ledger.write(dir.path()).unwrap();
        assert_eq!(
            ExportLedger::read(dir.path()).unwrap(),
            Some(ledger.clone())
        );
        assert!(ledger.has("1.1", "a b\t.vcf", ETag::of(b"1")));
        assert!(!ledger.has("1.1", "a b\t.vcf", ETag::of(b"2")));
        assert!(!ledger.has("1.2", "a b\t.vcf", ETag::of(b"1")));
        assert_eq!(ledger.get("1.1", "d.vcf").unwrap().uid, None);
        std::fs::write(dir.path().join(LEDGER), b"no ledger\n\xFF\n").unwrap();
        assert_eq!(
            ExportLedger::read(dir.path()).unwrap(),
            Some(ExportLedger::default())
        );
    }
}
