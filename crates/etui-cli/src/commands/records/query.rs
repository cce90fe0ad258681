//! Which part of a list is shown, in which order, with which fields: what `list` and `find` have
//! in common.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use etui::record::Reader;
use etui::search::filter::Filter;
use etui::search::query::{
    CollectionRows, ColumnSet, Columns, Cursor, Query, Row, Rows, SortOrder, query_collections,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::{RecordCommands, headings};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{CollectionField, EntryObject};
use crate::output::{OutputWriter, Style, Table, count};

/// Collections that are asked together, in one state, with their names.
pub type NamedReaders<'s, R> = [(String, Reader<'s, R>)];

/// Rows shown on a terminal unless told otherwise.
const SCREENFUL: u64 = 50;

/// Which part of a list, in which order, showing what.
#[derive(Debug, clap::Args)]
pub struct QueryArgs<R: RecordCommands> {
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = field::<R>,
        help = show_these::<R>()
    )]
    fields: Vec<Field<R::Column>>,
    #[arg(
        long,
        value_name = "ORDER",
        default_value = R::Column::SORTS[0].0,
        allow_hyphen_values = true,
        value_parser = orders::<R::Column>(),
        help = R::ORDERS
    )]
    sort: SortOrder,
    /// Show this many [default: 50 on a terminal, else all]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Show all
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// From position N on, the first being 0
    #[arg(long, visible_alias = "offset", value_name = "N", default_value_t = 0)]
    at: u64,
    /// From this place on: `next` of an answer with --json and --limit
    #[arg(long, value_name = "PLACE")]
    after: Option<Cursor>,
}

/// How many records they have together.
pub fn count_all<R: RecordCommands>(asked: &NamedReaders<'_, R>) -> Result<u64> {
    let each = asked.iter().map(|(_, reader)| Ok(reader.count()?));
    each.sum()
}

fn show_these<R: RecordCommands>() -> String {
    let known = R::Column::NAMES.iter().map(|(name, _)| *name);
    format!(
        "Show these fields: id, {}",
        known.collect::<Vec<_>>().join(", ")
    )
}

fn orders<C: ColumnSet>() -> impl TypedValueParser<Value = SortOrder> {
    PossibleValuesParser::new(C::SORTS.iter().map(|(name, _)| *name))
        .try_map(|name| SortOrder::from_name::<C>(&name))
}

/// What `--fields` may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field<C> {
    /// The number in the store, which every row has.
    Id,
    Column(C),
}

impl<C: ColumnSet> Field<C> {
    fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Column(column) => C::NAMES[usize::from(column.ordinal())].0,
        }
    }

    fn heading<R: RecordCommands<Column = C>>(self) -> &'static str {
        match self {
            Self::Id => "#",
            Self::Column(column) => R::heading(column),
        }
    }

    /// The value as a cell of a table.
    fn text<R: RecordCommands<Column = C>>(self, row: &Row<'_, C>, out: &OutputWriter) -> String {
        match self {
            Self::Id => row.id().to_string(),
            Self::Column(column) if column == R::Column::TEXT => {
                String::from_utf8_lossy(row.text()).into_owned()
            }
            Self::Column(column) => {
                let values = row.values(column).map(|value| R::cell(column, value, out));
                values.collect::<Vec<_>>().join(", ")
            }
        }
    }

    fn json<R: RecordCommands<Column = C>>(self, row: &Row<'_, C>, out: &OutputWriter) -> Value {
        match self {
            Self::Id => row.id().0.into(),
            Self::Column(column) if column == R::Column::TEXT => {
                String::from_utf8_lossy(row.text()).into()
            }
            Self::Column(column) if column.is_many() => row.values(column).collect(),
            Self::Column(column) => R::value(column, row.get(column), out),
        }
    }
}

/// The field of this name, or of the text's other name.
fn field<R: RecordCommands>(text: &str) -> std::result::Result<Field<R::Column>, String> {
    match text {
        "id" => return Ok(Field::Id),
        text if text == R::FORMAT.to_ascii_lowercase() => {
            return Ok(Field::Column(R::Column::TEXT));
        }
        _ => {}
    }
    let known = R::Column::NAMES;
    let found = known.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, column)| Field::Column(*column))
        .ok_or_else(|| {
            let known: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            format!(
                "there is no field \"{text}\" to show; fields are id, {}",
                known.join(", ")
            )
        })
}

impl<R: RecordCommands> QueryArgs<R> {
    /// Whether nothing of it was asked for.
    pub fn is_plain(&self) -> bool {
        self.fields.is_empty()
            && self.sort == SortOrder::List
            && self.limit.is_none()
            && !self.all
            && self.at == 0
            && self.after.is_none()
    }

    /// The query of those that `filter` means.
    pub fn query(&self, filter: Filter<R::Field>, terminal: bool) -> Result<Query<R::Column>> {
        let mut query = Query::new(filter).sort(self.sort).offset(self.at);
        if let Some(limit) = self.shown(terminal) {
            query = query.limit(limit);
        }
        if let Some(after) = &self.after {
            if self.sort == SortOrder::Unordered {
                return Err(Failure::usage(
                    "--after needs an order to stand in; --sort none has none",
                ));
            }
            query = query.after(after.clone());
        }
        if !self.fields.is_empty() {
            let columns = self.fields.iter().filter_map(|field| match field {
                Field::Id => None,
                Field::Column(column) => Some(*column),
            });
            query = query.columns(columns.collect::<Columns<_>>());
        }
        Ok(query)
    }

    /// What each of so many collections is asked for the answer of all together.
    pub fn of_each(
        &self,
        query: Query<R::Column>,
        collections: usize,
        terminal: bool,
    ) -> Query<R::Column> {
        match (collections, self.shown(terminal)) {
            (0 | 1, _) => query,
            (_, Some(limit)) => query.offset(0).limit(self.at.saturating_add(limit)),
            (_, None) => query.offset(0),
        }
    }

    /// How many are shown at the most.
    fn shown(&self, terminal: bool) -> Option<u64> {
        let screenful = (terminal && !self.all).then_some(SCREENFUL);
        self.limit.or(screenful)
    }

    /// Whether the answer is the records' texts and nothing else.
    fn is_of_texts(&self) -> bool {
        self.fields() == [Field::Column(R::Column::TEXT)]
    }

    /// The fields asked for, each once.
    fn fields(&self) -> Vec<Field<R::Column>> {
        let mut fields: Vec<Field<_>> = Vec::new();
        for field in &self.fields {
            if !fields.contains(field) {
                fields.push(*field);
            }
        }
        fields
    }

    /// The answer of all of them together.
    pub fn ask(
        &self,
        asked: &NamedReaders<'_, R>,
        query: &Query<R::Column>,
    ) -> Result<CollectionRows<R::Column>> {
        Ok(query_collections(
            asked.iter().map(|(_, reader)| reader),
            query,
        )?)
    }

    /// Lists the records of all of them together.
    pub fn list(&self, app: &mut App, asked: &NamedReaders<'_, R>) -> Result<()> {
        let query = self.query(Filter::All, app.out.terminal)?;
        let answer = self.ask(asked, &query)?;
        self.write(&mut app.out, asked, &answer)?;
        self.tell_more(app, &answer.rows, count_all(asked)?)
    }

    /// Writes the answer: the texts, a table, or JSON.
    pub fn write(
        &self,
        out: &mut OutputWriter,
        asked: &NamedReaders<'_, R>,
        answer: &CollectionRows<R::Column>,
    ) -> Result<()> {
        let rows = &answer.rows;
        let holders = answer.collections.iter();
        let holders = holders.map(|&of| asked.get(of).map_or("", |(name, _)| name.as_str()));
        if out.json {
            return self.write_json(out, rows, holders);
        }
        if self.is_of_texts() {
            return rows.iter().try_for_each(|row| out.bytes(row.text()));
        }
        let fields = self.fields();
        if fields.is_empty() {
            let mut table = Table::new(&headings::<R>());
            if asked.len() > 1 {
                table.column(R::HOLDER_HEADINGS.last().unwrap_or(&""));
            }
            for (row, holder) in rows.iter().zip(holders) {
                R::row(row.id(), &R::summary_of(&row), &mut table, out);
                if asked.len() > 1 {
                    table.cell(holder);
                }
            }
            return table.write(out);
        }
        let headings: Vec<_> = fields.iter().map(|field| field.heading::<R>()).collect();
        let numbers = fields.iter().position(|field| *field == Field::Id);
        let mut table = Table::with_numbers(&headings, numbers);
        for row in rows.iter() {
            let cells: Vec<_> = fields.iter().map(|f| f.text::<R>(&row, out)).collect();
            table.row(cells.iter().map(String::as_str));
        }
        table.write(out)
    }

    /// An object a row. Where a page was asked for, the last one tells where the next begins.
    fn write_json<'h>(
        &self,
        out: &mut OutputWriter,
        rows: &Rows<R::Column>,
        holders: impl Iterator<Item = &'h str>,
    ) -> Result<()> {
        let fields = self.fields();
        let last = rows.len().saturating_sub(1);
        for ((i, row), holder) in rows.iter().enumerate().zip(holders) {
            let next = self.limit.map(|_| match i == last {
                true => rows.next().map(ToString::to_string),
                false => None,
            });
            if fields.is_empty() {
                let summary = R::summary_of(&row);
                let object = EntryObject {
                    id: row.id().0,
                    summary: R::object(&summary, out),
                    holder: R::HOLDER_FIELD.map(|field| CollectionField(field, holder)),
                    next,
                };
                out.object(&object)?;
                continue;
            }
            let values = fields.iter().map(|f| (f.name(), f.json::<R>(&row, out)));
            let values = values.collect();
            out.object(&RowObject { values, next })?;
        }
        Ok(())
    }

    /// Tells on a terminal how much of `all` was shown, and how to see more.
    pub fn tell_more(&self, app: &mut App, rows: &Rows<R::Column>, all: u64) -> Result<()> {
        let shown = rows.len() as u64;
        if !app.out.terminal || shown >= all || self.is_of_texts() {
            return Ok(());
        }
        let text = match (&self.after, shown) {
            (Some(_), _) => match rows.next() {
                Some(next) => format!(
                    "{} of {}; more with --after {next}",
                    count(shown),
                    count(all)
                ),
                None => format!("{} of {}", count(shown), count(all)),
            },
            (None, 0) => format!("None of {} from position {} on.", count(all), self.at),
            (None, _) => {
                let end = self.at + shown;
                let more = match end < all {
                    true => format!("; more with --at {end}, or --all"),
                    false => String::new(),
                };
                let first = match shown {
                    1 => String::new(),
                    _ => format!("{} to ", count(self.at + 1)),
                };
                format!("{first}{} of {}{more}", count(end), count(all))
            }
        };
        let text = app.out.styled(Style::Dim, &text).into_owned();
        app.out.say(text)
    }
}

/// A record with the fields asked for, in the order asked.
struct RowObject {
    values: Vec<(&'static str, Value)>,
    next: Option<Option<String>>,
}

impl Serialize for RowObject {
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
