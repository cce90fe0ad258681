//! [`ExportLedger`]: the files that etui has written into a folder.
//!
//! A file that differs from its hash was changed by another program after the export: an export must
//! not overwrite or remove it before it was imported.
//!
//! ```text
//! .etui-exported   HASH NAME LF ...      first 16 bytes of BLAKE3 in hexadecimal, and the file name
//! ```

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use etui::ETag;

use crate::errors::{Failure, Result};

/// The file of the ledger.
const LEDGER: &str = ".etui-exported";

/// The hashes of the files of a folder when they were last exported or imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportLedger {
    files: BTreeMap<String, ETag>,
}

impl ExportLedger {
    /// Reads the ledger of a folder; `None` if nothing was exported into it. Lines that are not of
    /// the format are ignored.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(LEDGER);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::io(&path, error)),
        };
        let text = String::from_utf8_lossy(&bytes);
        let entries = text.lines().filter_map(|line| {
            let (hash, name) = line.split_once(' ')?;
            Some((name.to_owned(), hash.parse().ok()?))
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
        for (name, hash) in &self.files {
            writeln!(file, "{hash} {name}").map_err(failed)?;
        }
        file.persist(&path).map_err(|e| failed(e.error))?;
        Ok(())
    }

    /// Returns true if the file has the bytes that were exported or imported.
    pub fn has(&self, name: &str, hash: ETag) -> bool {
        self.files.get(name) == Some(&hash)
    }

    /// Notes the bytes of a file.
    pub fn insert(&mut self, name: &str, hash: ETag) {
        if !name.contains('\n') {
            self.files.insert(name.to_owned(), hash);
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
        ledger.insert("a b.vcf", ETag::of(b"1"));
        ledger.insert("c.vcf", ETag::of(b"2"));
        ledger.write(dir.path()).unwrap();
        assert_eq!(
            ExportLedger::read(dir.path()).unwrap(),
            Some(ledger.clone())
        );
        assert!(ledger.has("a b.vcf", ETag::of(b"1")));
        assert!(!ledger.has("a b.vcf", ETag::of(b"2")));
        std::fs::write(dir.path().join(LEDGER), b"no ledger\n\xFF\n").unwrap();
        assert_eq!(
            ExportLedger::read(dir.path()).unwrap(),
            Some(ExportLedger::default())
        );
    }
}
