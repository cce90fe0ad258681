//! A program that starts, shows the first screen of a contact list, and ends;
//! `app-start` times from outside.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etui::contacts::Paging;
use etui::{Options, Store};
use etui_text::varint::{take_bytes, take_u64};
use rusqlite::{Connection, OpenFlags};

use crate::error::Error;
use crate::redo;

/// Contacts on the first screen.
const SCREEN: u64 = 50;

/// Show the first screen of a store's contacts
#[derive(Debug, clap::Args)]
pub struct FirstScreenArgs {
    /// The store.
    store: PathBuf,
    /// By plain SQLite instead of etui.
    #[arg(long)]
    plain: bool,
    /// Plain SQLite through the VFS `etui`.
    #[arg(long, requires = "plain")]
    etui_vfs: bool,
}

impl FirstScreenArgs {
    /// Prints the names, one a line, and closes the store.
    pub fn run(&self) -> Result<(), Error> {
        match self.plain {
            true => show_plain(&self.store, self.etui_vfs),
            false => show_etui(&self.store),
        }
    }
}

fn show(names: &[String]) -> Result<(), Error> {
    let mut text = names.join("\n");
    text.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| Error::file("standard output", e))
}

fn show_etui(path: &Path) -> Result<(), Error> {
    let mut options = Options::default();
    options.read_only = true;
    let store = Store::open_with(path, &options)?;
    let entries = store.contacts()?.list(Paging::first(SCREEN))?;
    let names: Vec<String> = entries.into_iter().map(|e| e.summary.name).collect();
    show(&names)?;
    Ok(store.close()?)
}

/// The same page by plain SQLite: the first blocks of the list, in its order.
fn show_plain(path: &Path, etui_vfs: bool) -> Result<(), Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = if etui_vfs {
        let vfs = redo::register_vfs(redo::vfs_options(), Duration::ZERO)?;
        Connection::open_with_flags_and_vfs(path, flags, vfs.name())?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    let mut select =
        conn.prepare("SELECT entries FROM list_block WHERE collection = 1 ORDER BY first")?;
    let mut blocks = select.query([])?;
    let mut names = Vec::new();
    while (names.len() as u64) < SCREEN
        && let Some(row) = blocks.next()?
    {
        take_names(row.get_ref(0)?.as_blob().unwrap_or_default(), &mut names);
    }
    names.truncate(usize::try_from(SCREEN).unwrap_or(usize::MAX));
    show(&names)
}

/// Appends the names of a block of the list (the book, *Schema*): the first value of each summary.
fn take_names(mut block: &[u8], names: &mut Vec<String>) -> Option<()> {
    let count = take_u64(&mut block)?;
    let lists = take_u64(&mut block)? + take_u64(&mut block)?;
    let mut summaries = block.get(usize::try_from(lists).ok()?..)?;
    for _ in 0..count {
        let mut summary = take_bytes(&mut summaries)?;
        names.push(String::from_utf8_lossy(take_bytes(&mut summary)?).into_owned());
    }
    Some(())
}
