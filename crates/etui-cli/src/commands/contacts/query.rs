//! Which part of a list is shown, in which order, with which fields: what `list` and `find` have
//! in common.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use etui::contacts::{Column, Columns, Cursor, Filter, Query, Row, Rows, Sort};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::EntryObject;
use crate::output::{Out, Style, Table, count};

/// Rows shown on a terminal unless told otherwise.
const SCREENFUL: u64 = 50;

/// Which part of a list, in which order, showing what.
#[derive(Debug, clap::Args)]
pub struct QueryArgs {
    /// Show these fields: id, name, org, phone, email, uid, etag, family, given, nick, phones,
    /// emails, categories, note, card
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    fields: Vec<Field>,
    /// Order: by name, as they were added, or as they are found, the quickest; -: from the end
    #[arg(
        long,
        value_name = "ORDER",
        default_value = "name",
        allow_hyphen_values = true,
        value_parser = orders()
    )]
    sort: Sort,
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

fn orders() -> impl TypedValueParser<Value = Sort> {
    PossibleValuesParser::new(Column::SORTS.iter().map(|(name, _)| *name))
        .try_map(|name| Sort::named::<Column>(&name))
}

/// What `--fields` may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// The number in the store, which every row has.
    Id,
    Column(Column),
}

impl Field {
    fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Column(column) => column.name(),
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Self::Id => "#",
            Self::Column(column) => match column {
                Column::Name => "Name",
                Column::Organization => "Organisation",
                Column::Phone => "Phone",
                Column::Email => "E-mail",
                Column::Uid => "UID",
                Column::ETag => "ETag",
                Column::Family => "Family name",
                Column::Given => "Given names",
                Column::Nicknames => "Nicknames",
                Column::Phones => "Phones",
                Column::Emails => "E-mails",
                Column::Categories => "Categories",
                Column::Note => "Note",
                Column::Card => "vCard",
            },
        }
    }

    /// The value as a cell of a table.
    fn text(self, row: &Row<'_>) -> String {
        match self {
            Self::Id => row.id().to_string(),
            Self::Column(Column::Card) => String::from_utf8_lossy(row.card()).into_owned(),
            Self::Column(column) => row.all(column).collect::<Vec<_>>().join(", "),
        }
    }

    fn json(self, row: &Row<'_>) -> Value {
        match self {
            Self::Id => row.id().0.into(),
            Self::Column(Column::Card) => String::from_utf8_lossy(row.card()).into(),
            Self::Column(column) if column.is_many() => row.all(column).collect(),
            Self::Column(column) => row.get(column).into(),
        }
    }
}

impl FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "id" => Ok(Self::Id),
            "vcard" => Ok(Self::Column(Column::Card)),
            name => name.parse().map(Self::Column).map_err(|_| {
                let known: Vec<_> = Column::NAMES.iter().map(|(name, _)| *name).collect();
                format!(
                    "there is no field \"{name}\" to show; fields are id, {}",
                    known.join(", ")
                )
            }),
        }
    }
}

impl QueryArgs {
    /// Whether nothing of it was asked for.
    pub fn is_plain(&self) -> bool {
        self.fields.is_empty()
            && self.sort == Sort::List
            && self.limit.is_none()
            && !self.all
            && self.at == 0
            && self.after.is_none()
    }

    /// The query of those that `filter` means.
    pub fn query(&self, filter: Filter, terminal: bool) -> Result<Query> {
        let mut query = Query::new(filter).sort(self.sort).offset(self.at);
        match (self.limit, self.all || !terminal) {
            (Some(limit), _) => query = query.limit(limit),
            (None, true) => {}
            (None, false) => query = query.limit(SCREENFUL),
        }
        if let Some(after) = &self.after {
            if self.sort == Sort::Found {
                return Err(Failure::usage(
                    "--after needs an order to stand in; --sort found has none",
                ));
            }
            query = query.after(after.clone());
        }
        if !self.fields.is_empty() {
            let columns = self.fields.iter().filter_map(|field| match field {
                Field::Id => None,
                Field::Column(column) => Some(*column),
            });
            query = query.columns(columns.collect::<Columns>());
        }
        Ok(query)
    }

    /// Whether the answer is vCards and nothing else.
    fn is_of_cards(&self) -> bool {
        self.fields() == [Field::Column(Column::Card)]
    }

    /// The fields asked for, each once.
    fn fields(&self) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        for field in &self.fields {
            if !fields.contains(field) {
                fields.push(*field);
            }
        }
        fields
    }

    /// Writes the answer: the vCards, a table, or JSON.
    pub fn write(&self, out: &mut Out, rows: &Rows) -> Result<()> {
        if out.json {
            return self.write_json(out, rows);
        }
        if self.is_of_cards() {
            return rows.iter().try_for_each(|row| out.bytes(row.card()));
        }
        let usual = [
            Field::Id,
            Field::Column(Column::Name),
            Field::Column(Column::Organization),
            Field::Column(Column::Phone),
            Field::Column(Column::Email),
        ];
        let asked = self.fields();
        let fields = match asked.as_slice() {
            [] => &usual,
            asked => asked,
        };
        let headings: Vec<_> = fields.iter().map(|field| field.heading()).collect();
        let numbers = fields.iter().position(|field| *field == Field::Id);
        let mut table = Table::with_numbers(&headings, numbers);
        for row in rows.iter() {
            let cells: Vec<_> = fields.iter().map(|field| field.text(&row)).collect();
            table.row(cells.iter().map(String::as_str));
        }
        table.write(out)
    }

    /// An object a row. Where a page was asked for, the last one tells where the next begins.
    fn write_json(&self, out: &mut Out, rows: &Rows) -> Result<()> {
        let fields = self.fields();
        let last = rows.len().saturating_sub(1);
        for (i, row) in rows.iter().enumerate() {
            let next = self.limit.map(|_| match i == last {
                true => rows.next().map(ToString::to_string),
                false => None,
            });
            if fields.is_empty() {
                out.object(&EntryObject {
                    id: row.id().0,
                    name: row.name(),
                    organization: row.get(Column::Organization),
                    phone: row.get(Column::Phone),
                    email: row.get(Column::Email),
                    next,
                })?;
                continue;
            }
            let fields = &fields;
            out.object(&RowObject { row, fields, next })?;
        }
        Ok(())
    }

    /// Tells on a terminal how much of `all` was shown, and how to see more.
    pub fn tell_more(&self, app: &mut App, rows: &Rows, all: u64) -> Result<()> {
        let shown = rows.len() as u64;
        if !app.out.terminal || shown >= all || self.is_of_cards() {
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

/// A contact with the fields asked for, in the order asked.
struct RowObject<'r> {
    row: Row<'r>,
    fields: &'r [Field],
    next: Option<Option<String>>,
}

impl Serialize for RowObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for field in self.fields {
            object.serialize_entry(field.name(), &field.json(&self.row))?;
        }
        if let Some(next) = &self.next {
            object.serialize_entry("next", next)?;
        }
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn the_help_names_every_field() {
        let mut command = QueryArgs::augment_args(clap::Command::new("list"));
        let help = command.render_long_help().to_string();
        let words: Vec<_> = help.split([' ', ',', '\n']).collect();
        for (name, column) in Column::NAMES {
            assert!(words.contains(name), "{name}: {help}");
            assert_eq!(name.parse(), Ok(Field::Column(*column)));
        }
    }
}
