//! The options of `list` and `find`: fields, order and page.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use etui::record::Reader;
use etui::search::filter::Filter;
use etui::search::query::{
    CollectionRows, ColumnSet, Columns, Cursor, Query, Row, Rows, SortOrder, query_collections,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::{RecordCommands, list_headings};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{CollectionField, ListedJson};
use crate::output::{OutputWriter, Style, Table, format_count};

/// Collections that are queried together in one snapshot, with their names.
pub type NamedReaders<'s, R> = [(String, Reader<'s, R>)];

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
        default_value = R::Column::SORTS[0].0,
        allow_hyphen_values = true,
        value_parser = sort_parser::<R::Column>(),
        help = R::SORT_HELP
    )]
    sort: SortOrder,
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

fn fields_help<R: RecordCommands>() -> String {
    let known = R::Column::NAMES.iter().map(|(name, _)| *name);
    format!(
        "Fields to show: id, {}",
        known.collect::<Vec<_>>().join(", ")
    )
}

fn sort_parser<C: ColumnSet>() -> impl TypedValueParser<Value = SortOrder> {
    PossibleValuesParser::new(C::SORTS.iter().map(|(name, _)| *name))
        .try_map(|name| SortOrder::from_name::<C>(&name))
}

/// A field of `--fields`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldArg<C> {
    /// The number of the record.
    Id,
    Column(C),
}

impl<C: ColumnSet> FieldArg<C> {
    fn field_name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Column(column) => C::NAMES[usize::from(column.ordinal())].0,
        }
    }

    fn column_heading<R: RecordCommands<Column = C>>(self) -> &'static str {
        match self {
            Self::Id => "#",
            Self::Column(column) => R::column_heading(column),
        }
    }

    /// Returns the text of a table cell.
    fn cell_text<R: RecordCommands<Column = C>>(
        self,
        row: &Row<'_, C>,
        out: &OutputWriter,
    ) -> String {
        match self {
            Self::Id => row.id().to_string(),
            Self::Column(column) if column == R::Column::TEXT => {
                String::from_utf8_lossy(row.text()).into_owned()
            }
            Self::Column(column) => {
                let values = row
                    .values(column)
                    .map(|value| R::cell_text(column, value, out));
                values.collect::<Vec<_>>().join(", ")
            }
        }
    }

    fn json_value<R: RecordCommands<Column = C>>(
        self,
        row: &Row<'_, C>,
        out: &OutputWriter,
    ) -> Value {
        match self {
            Self::Id => row.id().0.into(),
            Self::Column(column) if column == R::Column::TEXT => {
                String::from_utf8_lossy(row.text()).into()
            }
            Self::Column(column) if column.is_many() => row.values(column).collect(),
            Self::Column(column) => R::json_value(column, row.get(column), out),
        }
    }
}

/// Parses a field name; the format is another name of the text.
fn parse_field<R: RecordCommands>(text: &str) -> std::result::Result<FieldArg<R::Column>, String> {
    match text {
        "id" => return Ok(FieldArg::Id),
        text if text == R::FORMAT.to_ascii_lowercase() => {
            return Ok(FieldArg::Column(R::Column::TEXT));
        }
        _ => {}
    }
    let known = R::Column::NAMES;
    let found = known.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, column)| FieldArg::Column(*column))
        .ok_or_else(|| {
            let known: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            format!(
                "there is no field \"{text}\"; fields: id, {}",
                known.join(", ")
            )
        })
}

impl<R: RecordCommands> QueryArgs<R> {
    /// Returns true if no option was given.
    pub fn is_default(&self) -> bool {
        self.fields.is_empty()
            && self.sort == SortOrder::List
            && self.limit.is_none()
            && !self.all
            && self.at == 0
            && self.after.is_none()
    }

    /// Returns the query for `filter`.
    pub fn build_query(
        &self,
        filter: Filter<R::Field>,
        terminal: bool,
    ) -> Result<Query<R::Column>> {
        let mut query = Query::new(filter).sort(self.sort).offset(self.at);
        if let Some(limit) = self.row_limit(terminal) {
            query = query.limit(limit);
        }
        if let Some(after) = &self.after {
            if self.sort == SortOrder::Unordered {
                return Err(Failure::usage(
                    "--after needs an order; --sort none has none",
                ));
            }
            query = query.after(after.clone());
        }
        if !self.fields.is_empty() {
            let columns = self.fields.iter().filter_map(|field| match field {
                FieldArg::Id => None,
                FieldArg::Column(column) => Some(*column),
            });
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
        self.unique_fields() == [FieldArg::Column(R::Column::TEXT)]
    }

    /// Returns the selected fields without duplicates.
    fn unique_fields(&self) -> Vec<FieldArg<R::Column>> {
        let mut fields: Vec<FieldArg<_>> = Vec::new();
        for field in &self.fields {
            if !fields.contains(field) {
                fields.push(*field);
            }
        }
        fields
    }

    /// Queries all readers and merges the answers.
    pub fn query_readers(
        &self,
        readers: &NamedReaders<'_, R>,
        query: &Query<R::Column>,
    ) -> Result<CollectionRows<R::Column>> {
        Ok(query_collections(
            readers.iter().map(|(_, reader)| reader),
            query,
        )?)
    }

    /// Lists the records of all readers.
    pub fn list_records(&self, app: &mut App, readers: &NamedReaders<'_, R>) -> Result<()> {
        let query = self.build_query(Filter::All, app.out.terminal)?;
        let answer = self.query_readers(readers, &query)?;
        self.write_answer(&mut app.out, readers, &answer)?;
        self.write_position(app, &answer.rows, count_records(readers)?)
    }

    /// Writes the answer as texts, a table, or JSON.
    pub fn write_answer(
        &self,
        out: &mut OutputWriter,
        readers: &NamedReaders<'_, R>,
        answer: &CollectionRows<R::Column>,
    ) -> Result<()> {
        let rows = &answer.rows;
        let collections = answer.collections.iter();
        let collections =
            collections.map(|&of| readers.get(of).map_or("", |(name, _)| name.as_str()));
        if out.json {
            return self.write_json(out, rows, collections);
        }
        if self.is_text_only() {
            return rows.iter().try_for_each(|row| out.write_bytes(row.text()));
        }
        let fields = self.unique_fields();
        if fields.is_empty() {
            let mut table = Table::new(&list_headings::<R>());
            if readers.len() > 1 {
                table.add_column(R::COLLECTION_HEADINGS.last().unwrap_or(&""));
            }
            for (row, collection) in rows.iter().zip(collections) {
                R::add_row(row.id(), &R::row_summary(&row), &mut table, out);
                if readers.len() > 1 {
                    table.push_cell(collection);
                }
            }
            return table.write_to(out);
        }
        let headings: Vec<_> = fields
            .iter()
            .map(|field| field.column_heading::<R>())
            .collect();
        let numbers = fields.iter().position(|field| *field == FieldArg::Id);
        let mut table = Table::with_number_column(&headings, numbers);
        for row in rows.iter() {
            let cells: Vec<_> = fields.iter().map(|f| f.cell_text::<R>(&row, out)).collect();
            table.add_row(cells.iter().map(String::as_str));
        }
        table.write_to(out)
    }

    /// Writes an object per row. With `--limit`, the last one has the cursor of the next page.
    fn write_json<'h>(
        &self,
        out: &mut OutputWriter,
        rows: &Rows<R::Column>,
        collections: impl Iterator<Item = &'h str>,
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
                let object = ListedJson {
                    id: row.id().0,
                    summary: R::json_summary(&summary, out),
                    collection: R::COLLECTION_FIELD.map(|field| CollectionField(field, collection)),
                    next,
                };
                out.write_json(&object)?;
                continue;
            }
            let values = fields
                .iter()
                .map(|f| (f.field_name(), f.json_value::<R>(&row, out)));
            let values = values.collect();
            out.write_json(&RowJson { values, next })?;
        }
        Ok(())
    }

    /// Writes the position in the list and how to see more, if standard output is a terminal.
    pub fn write_position(&self, app: &mut App, rows: &Rows<R::Column>, all: u64) -> Result<()> {
        let shown = rows.len() as u64;
        if !app.out.terminal || shown >= all || self.is_text_only() {
            return Ok(());
        }
        let text = match (&self.after, shown) {
            (Some(_), _) => match rows.next() {
                Some(next) => format!(
                    "{} of {}; more with --after {next}",
                    format_count(shown),
                    format_count(all)
                ),
                None => format!("{} of {}", format_count(shown), format_count(all)),
            },
            (None, 0) => format!(
                "No rows at position {1} or later; there are {0}.",
                format_count(all),
                self.at
            ),
            (None, _) => {
                let end = self.at + shown;
                let more = match end < all {
                    true => format!("; more with --at {end}, or --all"),
                    false => String::new(),
                };
                let first = match shown {
                    1 => String::new(),
                    _ => format!("{} to ", format_count(self.at + 1)),
                };
                format!(
                    "{first}{} of {}{more}",
                    format_count(end),
                    format_count(all)
                )
            }
        };
        let text = app.out.with_style(Style::Dim, &text).into_owned();
        app.out.status(text)
    }
}

/// A record with the selected fields in the selected order.
struct RowJson {
    values: Vec<(&'static str, Value)>,
    next: Option<Option<String>>,
}

impl Serialize for RowJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for (name, value) in &self.values {
            object.serialize_entry(name, value)?;
        }
        if let Some(next) = &self.next {
            object.serialize_entry("next", next)?;
        }
        object.end()
    }
}
