//! `etui media stats`.

use etui_program::output::{Table, format_count, format_size};
use etui_program::{App, Result};
use serde_json::{Map, Value};

use super::open_store;

/// Show counts and sizes
#[derive(Debug, clap::Args)]
pub struct StatsArgs {}

pub fn show_stats(app: &mut App) -> Result<()> {
    let store = open_store(app)?;
    let stats = store.media()?.stats()?;
    let store_bytes = std::fs::metadata(store.path()).map_or(0, |m| m.len());
    let mut rows: Vec<(String, u64, String)> = stats
        .records
        .iter()
        .map(|(kind, count)| (kind.default_name().to_owned(), *count, format_count(*count)))
        .collect();
    for (name, count, text) in [
        ("Files", stats.files, format_count(stats.files)),
        ("Bytes", stats.bytes, format_size(stats.bytes)),
        ("Problems", stats.problems, format_count(stats.problems)),
        ("Covers", stats.covers, format_count(stats.covers)),
        (
            "Thumbnails",
            stats.thumbnail_bytes,
            format_size(stats.thumbnail_bytes),
        ),
        ("Store", store_bytes, format_size(store_bytes)),
    ] {
        rows.push((name.to_owned(), count, text));
    }
    if app.out.json {
        let object: Map<String, Value> = rows
            .into_iter()
            .map(|(name, count, _)| (name.to_lowercase(), count.into()))
            .collect();
        return app.out.write_json(&object);
    }
    let mut table = Table::with_number_column(&["Library", "Count"], Some(1));
    for (name, _, text) in &rows {
        table.add_row([name, text]);
    }
    table.write_to(&mut app.out)
}
