//! `etui stats`: store statistics.

use crate::json::stats_json;
use etui_program::output::{escape_text, format_count, format_size, pluralize};
use etui_program::{App, Result};

const EXAMPLES: &str = "\
Examples:
  etui stats
  etui stats --json";

/// Show store statistics
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct StatsArgs {}

pub fn show_stats(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let stats = store.maintenance().stats()?;
    let path = store.path().display().to_string();
    if app.out.json {
        return app.out.write_json(&stats_json(&path, &stats));
    }
    let mut rows = vec![("Store", escape_text(&path).into_owned())];
    for (name, contacts) in &stats.address_books {
        let text = format!("{}: {}", escape_text(name), pluralize(*contacts, "contact"));
        rows.push(("Address book", text));
    }
    for (name, entries) in &stats.calendars {
        let text = format!("{}: {}", escape_text(name), pluralize(*entries, "entry"));
        rows.push(("Calendar", text));
    }
    rows.push(("Trash", format_count(stats.removed)));
    rows.push(("Text", format_size(stats.text_bytes)));
    let [used, free] = [stats.file_bytes, stats.free_bytes].map(format_size);
    let index = match stats.pending_terms.max(stats.pending_trigrams) {
        0 => "up to date".to_owned(),
        pending => format!("{} pending", pluralize(pending, "change")),
    };
    let region = match stats.region.as_str() {
        "" => "none",
        region => region,
    };
    rows.extend([
        ("File", format!("{used}, {free} free")),
        ("Changes", format_count(stats.changes)),
        ("Index", index),
        ("Locale", stats.locale.clone()),
        ("Region", region.to_owned()),
        ("Schema version", stats.schema_version.to_string()),
    ]);
    if !etui::has_ofd_locks() {
        let text =
            "SQLite's, which code of the same program can release: this system has no others";
        rows.push(("Locks", text.to_owned()));
    }
    for (label, value) in rows {
        app.out.write_line(format!("{label:<15} {value}"))?;
    }
    Ok(())
}
