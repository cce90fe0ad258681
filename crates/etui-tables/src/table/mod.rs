//! [`CsvReader`]: the contacts of a CSV file (RFC 4180).

mod columns;
mod convert;
mod guess;
mod headings;
mod layout;
mod rows;

use std::collections::VecDeque;
use std::io::{self, Read};

use etui_vcard::Card;

use self::convert::RowConverter;
use self::guess::{find_unmapped, is_contact_datum};
use self::layout::Layout;
use crate::charset::TableCharset;
use crate::date::{DayOrder, shown_order};
use crate::item::{FieldCount, ForeignContact, ForeignItem, RejectedRecord};

pub(crate) use columns::{CUSTOM, EVENT};
pub(crate) use convert::{custom_property, is_custom_property};
pub(crate) use headings::{calendar_headings, column_key};
pub(crate) use rows::{Row, RowReader, split_row};

/// Lines before the header that are skipped at most, such as the notes of LinkedIn.
const MAX_PREAMBLE: usize = 20;
/// Rows that are read ahead to find the order of day and month, and bytes of them.
const ROWS_AHEAD: usize = 500;
const BYTES_AHEAD: u64 = 4 << 20;
/// Columns that a table may have.
const MAX_COLUMNS: usize = 1_000;

/// The program whose columns a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvProgram {
    /// Google Contacts, both forms (until 2024 and after).
    Google,
    /// Outlook, or Outlook on the web.
    Outlook,
    /// Thunderbird.
    Thunderbird,
    /// The connections of LinkedIn.
    LinkedIn,
    /// Another one, with columns of common names.
    Other,
}

/// The meaning of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnField {
    /// A property of vCard, such as `EMAIL`.
    Property {
        /// Its name.
        name: String,
        /// Its types, such as `work`.
        types: Vec<String>,
        /// The index of the component that the column has, of a structured property (N, ADR, ORG).
        component: Option<usize>,
    },
    /// The column is left out.
    Ignored,
}

/// Options of [`CsvReader::open`].
#[derive(Debug, Clone, Default)]
pub struct CsvOptions {
    /// The meaning of columns by name, instead of the one that they are recognized by.
    pub map: Vec<(String, ColumnField)>,
    /// The charset; `None` detects it.
    pub charset: Option<TableCharset>,
    /// Columns of e-mail addresses, phone numbers or names that are not recognized become fields of
    /// their names, instead of [`CsvError::Unmapped`].
    pub keeps_unmapped: bool,
}

/// A column that is not recognized, and the field that its cells look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmappedColumn {
    /// Its heading.
    pub name: String,
    /// `email`, `phone` or `name`.
    pub field: &'static str,
}

/// Reasons for which no contact of a table can be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// The input cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The columns are not those of a known program.
    #[error("its columns are not known: {}", list_columns(columns))]
    UnknownColumns {
        /// The line of the header.
        line: u64,
        /// The columns, in their order.
        columns: Vec<String>,
        /// Those of which the cells look like e-mail addresses, phone numbers or names.
        guesses: Vec<UnmappedColumn>,
    },
    /// A column of [`CsvOptions::map`] does not exist.
    #[error(
        "there is no column \"{name}\"; its columns are: {}",
        list_columns(columns)
    )]
    NoColumn {
        /// The name in the map.
        name: String,
        /// The columns, in their order.
        columns: Vec<String>,
    },
    /// Columns without a known heading hold e-mail addresses, phone numbers or the only names.
    #[error("columns with unknown headings: {}", list_unmapped(columns))]
    Unmapped {
        /// Those columns.
        columns: Vec<UnmappedColumn>,
    },
    /// The first line is a contact: there is no line of headings.
    #[error("its first line ({line}) is a contact, and not the headings of columns")]
    NoHeader {
        /// The number of the line.
        line: u64,
    },
    /// The columns are those of a calendar.
    #[error("has the columns of a calendar")]
    Calendar,
    /// There is no text.
    #[error("is empty")]
    Empty,
    /// More columns than a table may have.
    #[error("has {0} columns; at most {MAX_COLUMNS} are read")]
    TooManyColumns(usize),
}

fn list_unmapped(columns: &[UnmappedColumn]) -> String {
    let columns = columns.iter().map(|column| {
        let what = match column.field {
            "email" => "e-mail addresses",
            "phone" => "phone numbers",
            _ => "the only names",
        };
        format!("\"{}\" ({what})", column.name)
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// Formats the names of columns for a message.
fn list_columns(columns: &[String]) -> String {
    const MOST: usize = 40;
    let more = columns.len().saturating_sub(MOST);
    let shown = columns.iter().take(MOST).map(|name| match name {
        name if name.chars().count() > 60 => name.chars().take(60).chain(['…']).collect(),
        name => name.clone(),
    });
    let mut text = shown.collect::<Vec<String>>().join(", ");
    if more > 0 {
        text.push_str(&format!(", and {more} more"));
    }
    text
}

/// An iterator over the contacts of a CSV file, which holds 500 rows at most.
///
/// The delimiter (comma, semicolon, tab), the charset, the header, the program and its language are
/// recognized. Columns without a meaning are kept as fields of their name
/// (`X-CUSTOM` with a label) and counted.
///
/// ```
/// use etui_tables::{CsvOptions, CsvReader, ForeignItem};
///
/// let file = "First Name;Last Name;Email;Shoe size\nAda;Lovelace;ada@example.org;38\n";
/// let mut contacts = CsvReader::open(file.as_bytes(), &CsvOptions::default())?;
/// let Some(ForeignItem::Contact(ada)) = contacts.next().transpose()? else { panic!() };
/// assert_eq!(ada.card.display_name(), "Ada Lovelace");
/// assert_eq!(ada.card.property("X-CUSTOM").as_deref(), Some("38"));
/// assert_eq!(contacts.kept_columns()[0].name, "Shoe size");
/// # Ok::<(), etui_tables::CsvError>(())
/// ```
pub struct CsvReader<R> {
    rows: RowReader<R>,
    ahead: VecDeque<Row>,
    converter: RowConverter,
    is_done: bool,
}

impl<R: Read> CsvReader<R> {
    /// Reads the header of a table.
    ///
    /// # Errors
    /// [`CsvError`].
    pub fn open(reader: R, options: &CsvOptions) -> Result<Self, CsvError> {
        let charset = options.charset.map(|charset| charset.0);
        let mut rows = RowReader::new(reader, charset);
        let (skipped, layout) = find_header(&mut rows, options)?;
        let checked = match layout.check(skipped as u64 + 1, &options.map) {
            Err(CsvError::UnknownColumns { line, columns, .. })
                if columns.iter().any(|cell| is_contact_datum(cell, "")) =>
            {
                return Err(CsvError::NoHeader { line });
            }
            checked => checked,
        };
        rows.skip_lines(skipped)?;
        let columns = layout.columns.len();
        if columns > MAX_COLUMNS {
            return Err(CsvError::TooManyColumns(columns));
        }
        // The header itself.
        rows.next_row()?;
        rows.columns = Some(columns);
        let mut reader = Self {
            rows,
            ahead: VecDeque::new(),
            converter: RowConverter::new(layout, options.keeps_unmapped),
            is_done: false,
        };
        reader.find_day_order()?;
        let ahead = reader.ahead.iter();
        let ahead = ahead.filter_map(|row| row.fields.as_deref().ok());
        let layout = &reader.converter.layout;
        let unmapped = || find_unmapped(layout, &ahead.collect::<Vec<_>>());
        match checked {
            Err(CsvError::UnknownColumns { line, columns, .. }) => Err(CsvError::UnknownColumns {
                line,
                columns,
                guesses: unmapped(),
            }),
            Err(error) => Err(error),
            Ok(()) if options.keeps_unmapped => Ok(reader),
            Ok(()) => match unmapped() {
                columns if columns.is_empty() => Ok(reader),
                columns => Err(CsvError::Unmapped { columns }),
            },
        }
    }

    /// The charset of the lines so far that were not UTF-8 or UTF-16.
    pub fn charset(&self) -> Option<TableCharset> {
        self.rows.charset().map(TableCharset)
    }

    /// The program whose columns the table has.
    pub fn program(&self) -> CsvProgram {
        self.converter.layout.program
    }

    /// The number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.rows.bytes_read()
    }

    /// The columns without a meaning that were kept so far as fields of their name.
    pub fn kept_columns(&self) -> &[FieldCount] {
        &self.converter.kept
    }

    /// Reads rows ahead to find the order of day and month.
    fn find_day_order(&mut self) -> io::Result<()> {
        let until = self.bytes_read() + BYTES_AHEAD;
        while self.ahead.len() < ROWS_AHEAD && self.bytes_read() < until {
            let Some(row) = self.rows.next_row()? else {
                break;
            };
            if let Ok(fields) = &row.fields
                && self.converter.day_order.is_none()
            {
                let order = self.converter.date_fields(fields).find_map(shown_order);
                self.converter.day_order = order;
            }
            self.ahead.push_back(row);
        }
        Ok(())
    }

    fn next_item(&mut self) -> io::Result<Option<ForeignItem>> {
        loop {
            let row = match self.ahead.pop_front() {
                Some(row) => row,
                None => match self.rows.next_row()? {
                    Some(row) => row,
                    None => return Ok(None),
                },
            };
            let (line, last_line) = (row.line, row.last_line);
            let excerpt = row.excerpt;
            let converted = match &row.fields {
                Ok(fields) => self.converter.convert(fields),
                Err(error) => Some(Err(error.to_string())),
            };
            return Ok(Some(match converted {
                // An empty row.
                None => continue,
                Some(Ok((card, warnings))) => ForeignItem::Contact(ForeignContact {
                    card,
                    line,
                    last_line,
                    warnings,
                }),
                Some(Err(reason)) => ForeignItem::Rejected(RejectedRecord {
                    line,
                    last_line,
                    reason,
                    excerpt,
                }),
            }));
        }
    }
}

impl<R: Read> Iterator for CsvReader<R> {
    type Item = io::Result<ForeignItem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let item = self.next_item();
        self.is_done = !matches!(item, Ok(Some(_)));
        item.transpose()
    }
}

/// A card and the warnings of its row, or the reason to reject the row.
type ConvertedRow = Result<(Card, Vec<String>), String>;

/// The default order of day and month under English headings. Of the other languages of the tables, all
/// write the day first.
const DEFAULT_ORDER: DayOrder = DayOrder::MonthFirst;

/// Finds the header in the first lines, and the delimiter. Returns the number of lines before it.
fn find_header<R: Read>(
    rows: &mut RowReader<R>,
    options: &CsvOptions,
) -> Result<(usize, Layout), CsvError> {
    let lines = rows.peek(MAX_PREAMBLE)?;
    let mut best: Option<(usize, usize, Layout)> = None;
    let mut fallback: Option<(usize, usize, Layout)> = None;
    for (index, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        for delimiter in [b',', b';', b'\t'] {
            let header = split_row(line.as_bytes(), delimiter);
            if header.len() > MAX_COLUMNS {
                return Err(CsvError::TooManyColumns(header.len()));
            }
            let layout = Layout::recognize(&header, &options.map);
            let is_better = |other: &Option<(usize, usize, Layout)>, n: usize| {
                other.as_ref().is_none_or(|(best, ..)| n > *best)
            };
            if layout.known >= 2 && is_better(&best, layout.known) {
                rows.delimiter = delimiter;
                best = Some((layout.known, index, layout));
            } else if best.is_none() && is_better(&fallback, header.len()) {
                rows.delimiter = delimiter;
                fallback = Some((header.len(), index, layout));
            }
        }
    }
    let (_, index, layout) = best.or(fallback).ok_or(CsvError::Empty)?;
    Ok((index, layout))
}

/// Returns true if a text begins like a CSV file of contacts or of a calendar: a header with known
/// columns, perhaps after a preamble. The text may be cut off.
pub fn is_csv(head: &[u8]) -> bool {
    let mut rows = RowReader::new(head, None);
    let found = find_header(&mut rows, &CsvOptions::default());
    found.is_ok_and(|(_, layout)| match layout.check(1, &[]) {
        Ok(()) => layout.known >= 2,
        Err(error) => matches!(error, CsvError::Calendar),
    })
}
