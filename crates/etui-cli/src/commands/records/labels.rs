//! The labels of records: their categories, with counts.

use std::collections::{BTreeMap, BTreeSet};

use etui::search::filter::Filter;
use etui::search::query::{ColumnSet, Columns, Query, SortOrder};
use etui_program::output::{NamedField, Table, format_count, object};
use etui_program::{App, Result};

use super::RecordCommands;

/// Lists the labels of all records in alphabetical order, with the number of records of each.
pub fn list_labels<R: RecordCommands>(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let mut columns = R::Column::NAMES.iter();
    let Some(&(_, column)) = columns.find(|(name, _)| *name == "categories") else {
        return Ok(());
    };
    let labelled: Filter<R::Field> = "category:*".parse()?;
    let query = Query::new(labelled)
        .sort(SortOrder::Unordered)
        .columns([column].into_iter().collect::<Columns<_>>());
    // Alphabetical, whatever the case.
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (_, reader) in app.readers_in::<R>(&snapshot)? {
        for row in reader.query(&query)?.iter() {
            for label in row.values(column).collect::<BTreeSet<_>>() {
                let key = (label.to_lowercase(), label.to_owned());
                *counts.entry(key).or_default() += 1;
            }
        }
    }
    if counts.is_empty() && !app.out.json {
        return app.out.status(format!(
            "No labels yet. Add one: etui {} edit ID --set label=NAME",
            R::COMMAND
        ));
    }
    let counts: Vec<(String, u64)> = counts.into_iter().map(|((_, l), n)| (l, n)).collect();
    let mut table = Table::new(&[R::COLLECTION_HEADINGS[0], "Label"]);
    for (label, count) in &counts {
        table.add_row([format_count(*count).as_str(), label]);
    }
    app.out.write_table(&table, &counts, |out, (label, count)| {
        out.write_json(
            &object! { label: label, #[serde(flatten)] records: NamedField(R::MANY, count) },
        )
    })
}
