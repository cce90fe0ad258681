//! The options of `list` and `find`: fields, order and page.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use etui::record::Reader;
use etui::search::query::{
    CollectionRows, ColumnSet, Columns, Cursor, Query, Row, Rows, SortOrder, query_collections,
};
use etui_program::output::{NamedField, OutputWriter, Style, Table, format_count};
use etui_program::{App, Failure, Result};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

use super::{RecordCommands, add_row, nearest_word, record_table};
use crate::json::listed_json;

/// Collections that are queried together in one snapshot, with their names.
pub type NamedReaders<'s, R> = [(String, Reader<R>)];

/// Default number of rows on a terminal.
const TERMINAL_LIMIT: u64 = 50;

// Flattened into the arguments of `list` and `find`.
#[derive(Debug, clap::Args)]
pub struct QueryArgs<R: RecordCommands> {
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = parse_field::<R>,
        help = fields_help::<R>()
    )]
    fields: Vec<FieldArg<R::Column>>,
    #[arg(
        long,
        value_name = "ORDER",
        allow_hyphen_values = true,
        value_parser = sort_parser::<R::Column>(),
        help = R::SORT_HELP
    )]
    sort: Option<SortOrder>,
    /// Maximum number of rows [default: 50 on a terminal, else all]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Show all rows
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Start at position N, counted from 0
    #[arg(long, visible_alias = "offset", value_name = "N", default_value_t = 0)]
    at: u64,
    /// Start after this cursor: `next` in the output of --json --limit
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,
}

/// Returns the total number of records.
pub fn count_records<R: RecordCommands>(readers: &NamedReaders<'_, R>) -> Result<u64> {
    let each = readers.iter().map(|(_, reader)| Ok(reader.count()?));
    each.sum()
}

/// Queries all readers and merges the answers.
pub fn query_readers<R: RecordCommands>(
    readers: &NamedReaders<'_, R>,
    query: &Query<R::Column>,
) -> Result<CollectionRows<R::Column>> {
    let readers = readers.iter().map(|(_, reader)| reader);
    Ok(query_collections(readers, query)?)
}

fn fields_help<R: RecordCommands>() -> String {
    format!("Fields to show: {}", field_names::<R>())
}

fn field_names<R: RecordCommands>() -> String {
    let known = R::Column::NAMES.iter().map(|(name, _)| format!(", {name}"));
    format!("id{}", known.collect::<String>())
}

fn sort_parser<C: ColumnSet>() -> impl TypedValueParser<Value = SortOrder> {
    PossibleValuesParser::new(C::SORTS.iter().map(|(name, _)| *name))
        .try_map(|name| SortOrder::from_name::<C>(&name))
}

/// A field of `--fields`; `None` is the number of the record.
type FieldArg<C> = Option<C>;

fn field_name<C: ColumnSet>(field: FieldArg<C>) -> &'static str {
    field.map_or("id", |column| C::NAMES[usize::from(column.ordinal())].0)
}

fn column_heading<R: RecordCommands>(field: FieldArg<R::Column>) -> &'static str {
    let mut headings = R::COLUMN_HEADINGS.split(',');
    let heading = field.map(|column| headings.nth(column.ordinal().into()));
    heading.map_or("#", Option::unwrap_or_default)
}

/// Returns the text of a table cell.
fn cell_text<R: RecordCommands>(
    field: FieldArg<R::Column>,
    row: &Row<'_, R::Column>,
    out: &OutputWriter,
) -> String {
    match field {
        None => row.id().to_string(),
        Some(column) if column == R::Column::TEXT => {
            String::from_utf8_lossy(row.text()).into_owned()
        }
        Some(column) => {
            let values = row.values(column);
            let values = values.map(|value| R::cell_text(column, value, out));
            values.collect::<Vec<_>>().join(", ")
        }
    }
}

fn json_value<R: RecordCommands>(
    field: FieldArg<R::Column>,
    row: &Row<'_, R::Column>,
    out: &OutputWriter,
) -> Value {
    match field {
        None => row.id().0.into(),
        Some(column) if column == R::Column::TEXT => String::from_utf8_lossy(row.text()).into(),
        Some(column) if column.is_many() => row.values(column).collect(),
        Some(column) => R::json_value(column, row.get(column), out),
    }
}

/// Parses a field name; the format is another name of the text.
fn parse_field<R: RecordCommands>(text: &str) -> std::result::Result<FieldArg<R::Column>, String> {
    match text {
        "id" => Ok(None),
        text if text == R::FORMAT.to_ascii_lowercase() => Ok(Some(R::Column::TEXT)),
        text => {
            let mut aliases = R::COLUMN_ALIASES.iter();
            let alias = aliases.find(|(alias, _)| *alias == text);
            let name = alias.map_or(text, |(_, name)| *name);
            let found = R::Column::NAMES.iter().find(|(known, _)| *known == name);
            let column = found.map(|(_, column)| Some(*column));
            column.ok_or_else(|| {
                let names = R::Column::NAMES.iter().map(|(name, _)| *name);
                let nearest = nearest_word(text, names);
                let nearest = nearest.map(|name| format!("did you mean {name}? Fields"));
                let fields = nearest.unwrap_or_else(|| "fields".to_owned());
                let known = field_names::<R>();
                format!("there is no field \"{text}\"; {fields}: {known}")
            })
        }
    }
}

impl<R: RecordCommands> QueryArgs<R> {
    /// Returns true if no option was given.
    pub fn is_default(&self) -> bool {
        self.fields.is_empty()
            && self.sort.is_none_or(|sort| sort == SortOrder::List)
            && self.limit.is_none()
            && !self.all
            && self.at == 0
            && self.after.is_none()
    }

    /// Adds order, page and columns to a query.
    pub fn complete_query(
        &self,
        query: Query<R::Column>,
        terminal: bool,
    ) -> Result<Query<R::Column>> {
        let mut query = query.offset(self.at);
        if let Some(sort) = self.sort {
            query = query.sort(sort);
        }
        if let Some(limit) = self.row_limit(terminal) {
            query = query.limit(limit);
        }
        if let Some(after) = &self.after {
            if self.sort == Some(SortOrder::Unordered) {
                let problem = "--after needs an order; --sort none has none";
                return Err(Failure::usage(problem));
            }
            query = query.after(after.clone());
        }
        if !self.fields.is_empty() {
            let columns = self.fields.iter().flatten().copied();
            query = query.columns(columns.collect::<Columns<_>>());
        }
        Ok(query)
    }

    /// Returns the query for each of several collections whose answers are merged.
    pub fn limited_for_each(
        &self,
        query: Query<R::Column>,
        collections: usize,
        terminal: bool,
    ) -> Query<R::Column> {
        match (collections, self.row_limit(terminal)) {
            (0 | 1, _) => query,
            (_, Some(limit)) => query.offset(0).limit(self.at.saturating_add(limit)),
            (_, None) => query.offset(0),
        }
    }

    /// Returns the maximum number of rows.
    fn row_limit(&self, terminal: bool) -> Option<u64> {
        let terminal_limit = (terminal && !self.all).then_some(TERMINAL_LIMIT);
        self.limit.or(terminal_limit)
    }

    /// Returns true if only the text was selected.
    fn is_text_only(&self) -> bool {
        self.unique_fields() == [Some(R::Column::TEXT)]
    }

    /// Returns the selected fields without duplicates.
    fn unique_fields(&self) -> Vec<FieldArg<R::Column>> {
        let mut fields = Vec::new();
        for field in &self.fields {
            if !fields.contains(field) {
                fields.push(*field);
            }
        }
        fields
    }

    /// Lists the records of all readers.
    pub fn list_records(&self, app: &mut App, readers: &NamedReaders<'_, R>) -> Result<()> {
        let query = self.complete_query(Query::all(), app.out.terminal)?;
        let answer = query_readers(readers, &query)?;
        self.write_answer(&mut app.out, readers, &answer, None)?;
        self.write_position(app, &answer.rows, count_records(readers)?)
    }

    /// Writes the answer as texts, a table, or JSON. `corrected`: the words that were searched in place
    /// of others.
    pub fn write_answer(
        &self,
        out: &mut OutputWriter,
        readers: &NamedReaders<'_, R>,
        answer: &CollectionRows<R::Column>,
        corrected: Option<&str>,
    ) -> Result<()> {
        let rows = &answer.rows;
        let collections = answer.collections.iter();
        let collections =
            collections.map(|&of| readers.get(of).map_or("", |(name, _)| name.as_str()));
        if out.json {
            return self.write_json(out, rows, collections, corrected);
        }
        if self.is_text_only() {
            return rows.iter().try_for_each(|row| out.write_bytes(row.text()));
        }
        let fields = self.unique_fields();
        if fields.is_empty() {
            let mut table = record_table::<R>(readers.len());
            for (row, collection) in rows.iter().zip(collections) {
                let collection = Some(collection).filter(|_| readers.len() > 1);
                add_row::<R>(&mut table, row.id(), &R::row_summary(&row), collection, out);
            }
            return table.write_to(out);
        }
        let headings = fields.iter().map(|field| column_heading::<R>(*field));
        let numbers = fields.iter().position(Option::is_none);
        let mut table = Table::with_number_column(&Vec::from_iter(headings), numbers);
        for row in rows.iter() {
            let cells = fields.iter().map(|field| cell_text::<R>(*field, &row, out));
            table.add_row(cells);
        }
        table.write_to(out)
    }

    /// Writes an object per row. With `--limit`, the last one has the cursor of the next page.
    fn write_json<'h>(
        &self,
        out: &mut OutputWriter,
        rows: &Rows<R::Column>,
        collections: impl Iterator<Item = &'h str>,
        corrected: Option<&str>,
    ) -> Result<()> {
        let fields = self.unique_fields();
        let last = rows.len().saturating_sub(1);
        for ((i, row), collection) in rows.iter().enumerate().zip(collections) {
            let next = self.limit.map(|_| match i == last {
                true => rows.next().map(ToString::to_string),
                false => None,
            });
            if fields.is_empty() {
                let summary = R::row_summary(&row);
                let of = Some(NamedField(R::COLLECTION_FIELD, collection));
                let summary = R::json_summary(&summary, out);
                let object = listed_json(row.id(), summary, of, corrected, next);
                out.write_json(&object)?;
                continue;
            }
            let values = fields.iter();
            let values = values.map(|f| (field_name(*f), json_value::<R>(*f, &row, out)));
            let next = next.map(|next| ("next", next.into()));
            let corrected = corrected.map(|words| ("corrected", words.into()));
            out.write_json(&RowJson(values.chain(corrected).chain(next).collect()))?;
        }
        Ok(())
    }

    /// Writes the position in the list and how to see more, if standard output is a terminal.
    pub fn write_position(&self, app: &mut App, rows: &Rows<R::Column>, all: u64) -> Result<()> {
        let shown = rows.len() as u64;
        if !app.out.terminal || shown >= all || self.is_text_only() {
            return Ok(());
        }
        let total = format_count(all);
        let end = self.at + shown;
        let text = match (&self.after, rows.next(), shown) {
            (Some(_), next, _) => {
                let more = next.map(|next| format!("; more with --after {next}"));
                format!(
                    "{} of {total}{}",
                    format_count(shown),
                    more.unwrap_or_default()
                )
            }
            (None, _, 0) => {
                let at = self.at;
                format!("No rows at position {at} or later; there are {total}.")
            }
            (None, ..) => {
                let more = match end < all {
                    true => format!("; more with --at {end}, or --all"),
                    false => String::new(),
                };
                let first = match shown {
                    1 => String::new(),
                    _ => format!("{} to ", format_count(self.at + 1)),
                };
                format!("{first}{} of {total}{more}", format_count(end))
            }
        };
        let text = app.out.with_style(Style::Dim, &text).into_owned();
        app.out.status(text)
    }
}

/// A record with the selected fields in the selected order.
struct RowJson(Vec<(&'static str, Value)>);

impl Serialize for RowJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use etui::calendar::CalendarObject;
    use etui::contacts::Card;

    use super::*;

    /// Headings are found by the positions of their columns.
    #[test]
    fn every_column_has_a_heading() {
        fn check<R: RecordCommands>() {
            let count = R::COLUMN_HEADINGS.split(',').count();
            assert_eq!(count, R::Column::NAMES.len(), "{}", R::MANY);
        }
        check::<Card>();
        check::<CalendarObject>();
    }
}
