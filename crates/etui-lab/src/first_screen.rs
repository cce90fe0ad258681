//! A program that starts, shows the first screen of a contact list, and ends: what
//! `app-start` times from outside.

use std::io::Write;
use std::path::{Path, PathBuf};

use etui::contacts::Page;
use etui::{Options, Store};
use rusqlite::{Connection, OpenFlags};

use crate::error::Error;

/// Contacts on the first screen.
const SCREEN: u64 = 50;

/// Show the first screen of a store's contacts
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The store.
    store: PathBuf,
    /// By plain SQLite instead of etui.
    #[arg(long)]
    plain: bool,
}

impl Args {
    /// Prints the names, one a line.
    pub fn run(&self) -> Result<(), Error> {
        let names = if self.plain {
            plain(&self.store)?
        } else {
            ours(&self.store)?
        };
        let mut text = names.join("\n");
        text.push('\n');
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|e| Error::file("standard output", e))
    }
}

fn ours(path: &Path) -> Result<Vec<String>, Error> {
    let mut options = Options::default();
    options.read_only = true;
    let store = Store::open_with(path, &options)?;
    let entries = store.contacts()?.list(Page::first(SCREEN))?;
    Ok(entries.into_iter().map(|e| e.summary.name).collect())
}

/// The same page by plain SQLite: the first rows of the table that is kept in list order.
fn plain(path: &Path) -> Result<Vec<String>, Error> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut select =
        conn.prepare("SELECT summary FROM list WHERE collection = 1 ORDER BY sort, id LIMIT ?1")?;
    let names = select
        .query_map([SCREEN.cast_signed()], |row| {
            Ok(name(row.get_ref(0)?.as_blob()?))
        })?
        .collect::<Result<_, _>>()?;
    Ok(names)
}

/// The first value of a summary: `length:varint bytes` (the book, *Schema*).
fn name(summary: &[u8]) -> String {
    let mut length = 0_usize;
    for (at, byte) in summary.iter().enumerate().take(4) {
        length |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            let value = summary.get(at + 1..at + 1 + length).unwrap_or_default();
            return String::from_utf8_lossy(value).into_owned();
        }
    }
    String::new()
}
