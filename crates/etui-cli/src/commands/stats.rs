//! `etui stats`: figures about the store.

use crate::app::App;
use crate::errors::Result;
use crate::output::json::StatsObject;
use crate::output::{count, plural, shown, size};

const EXAMPLES: &str = "\
Examples:
  etui stats
  etui stats --json";

/// Tell figures about the store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Tells them.
pub fn run(app: &mut App, _args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    let stats = store.stats()?;
    let path = store.path().display().to_string();
    if app.out.json {
        let object = StatsObject::of(path, &stats, store.vfs_counters());
        return app.out.object(&object);
    }
    let mut rows = vec![("Store", shown(&path).into_owned())];
    for (name, contacts) in &stats.address_books {
        let text = format!("{}: {}", shown(name), plural(*contacts, "contact"));
        rows.push(("Address book", text));
    }
    for (name, entries) in &stats.calendars {
        let text = format!("{}: {}", shown(name), plural(*entries, "entry"));
        rows.push(("Calendar", text));
    }
    rows.push(("In the trash", count(stats.removed)));
    rows.push(("Texts", size(stats.text_bytes)));
    rows.push((
        "File",
        format!(
            "{}, {} of it free",
            size(stats.file_bytes),
            size(stats.free_bytes)
        ),
    ));
    rows.push(("Changes so far", count(stats.changes)));
    rows.push((
        "Index",
        match stats.pending_terms.max(stats.pending_grams) {
            0 => "up to date".to_owned(),
            pending => format!("{} yet to take in", plural(pending, "change")),
        },
    ));
    rows.push(("Sorted for", stats.locale.clone()));
    rows.push((
        "Region",
        if stats.region.is_empty() {
            "none".to_owned()
        } else {
            stats.region.clone()
        },
    ));
    rows.push(("Schema version", stats.schema_version.to_string()));
    if let Some(counters) = store.vfs_counters() {
        let mut log = store.path().as_os_str().to_owned();
        log.push("-redo");
        let bytes = std::fs::metadata(log).map_or(0, |m| m.len());
        rows.push(("Redo log", size(bytes)));
        // What this command itself did: opening, and taking up what was left behind.
        for (name, value) in counters.all().filter(|(_, value)| *value > 0) {
            let text = format!("{}: {}", name.replace('_', " "), count(value));
            rows.push(("VFS etui", text));
        }
    }
    for (label, value) in rows {
        app.out.line(format!("{label:<15} {value}"))?;
    }
    Ok(())
}
