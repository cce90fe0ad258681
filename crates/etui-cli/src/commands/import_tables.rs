//! CSV and LDIF files of `etui import`.

use std::io::{self, Read};
use std::str::FromStr;
use std::sync::Arc;

use etui::import::{CardReader, ImportCard, Refused};
use etui_program::output::{
    OutputWriter, format_count, one_line, pluralize, quote_operand, quote_option,
};
use etui_program::{Failure, Result};
use etui_tables::{
    ColumnField, CsvError, CsvOptions, CsvReader, FieldCount, ForeignItem, LdifReader,
    TableCharset, UnmappedColumn, is_csv, is_ldif,
};

use crate::commands::contacts::property::parse_field;
use crate::json::TableNotes;

/// `COLUMN=FIELD` of `--map`.
#[derive(Debug, Clone)]
pub struct ColumnMapping {
    column: String,
    field: ColumnField,
    /// As it was given.
    text: String,
}

impl FromStr for ColumnMapping {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        // The name of a column may have an equals sign in it.
        let Some((column, field)) = text.rsplit_once('=') else {
            return Err("write it like \"Work e-mail=email.work\"".to_owned());
        };
        let field = match field.trim() {
            "-" => ColumnField::Ignored,
            field => {
                let (name, types, component) = parse_field(field)?;
                ColumnField::Property {
                    name,
                    types,
                    component,
                }
            }
        };
        Ok(Self {
            column: column.trim().to_owned(),
            field,
            text: text.to_owned(),
        })
    }
}

/// The text formats of contacts beside vCard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    Csv,
    Ldif,
}

/// Recognizes CSV and LDIF by the beginning of a file, and CSV by the ending of its name. With
/// `has_map`, any other text is CSV.
pub fn detect_table(name: &str, head: &[u8], has_map: bool) -> Option<TableFormat> {
    let name = name.to_ascii_lowercase();
    let has_ending = [".csv", ".tsv"].iter().any(|end| name.ends_with(end));
    match () {
        () if is_ldif(head) => Some(TableFormat::Ldif),
        () if has_map || has_ending || is_csv(head) => Some(TableFormat::Csv),
        () => None,
    }
}

/// An opened CSV or LDIF file.
pub enum TableReader {
    Csv(Box<CsvReader<Box<dyn Read>>>),
    Ldif(Box<LdifReader<Box<dyn Read>>>),
}

impl TableReader {
    /// Reads the header of a file.
    pub fn open(
        name: &str,
        format: TableFormat,
        reader: Box<dyn Read>,
        given_map: &[ColumnMapping],
        charset: Option<TableCharset>,
        keeps_unmapped: bool,
    ) -> Result<Self> {
        if format == TableFormat::Ldif {
            return open_ldif(name, reader, charset);
        }
        let map = given_map.iter();
        let map = map.map(|m| (m.column.clone(), m.field.clone()));
        let options = CsvOptions {
            map: map.collect(),
            charset,
            keeps_unmapped,
        };
        let opened = CsvReader::open(reader, &options);
        let opened = opened.map_err(|error| match error {
            CsvError::Io(error) => Failure::named_io(name, error),
            CsvError::UnknownColumns { ref guesses, .. } if !guesses.is_empty() => {
                Failure::Refused(into_line(&format!(
                    "{name}: is CSV, but {error}; name those to import, such as: etui import{} {} (see \
                     etui import --help)",
                    map_options(given_map, guesses),
                    quote_operand(name)
                )))
            }
            CsvError::UnknownColumns { .. } => Failure::Refused(into_line(&format!(
                "{name}: is CSV, but {error}; name those to import: --map COLUMN=FIELD, for example \
                 --map \"Kunde=name\" --map \"Tel.=phone.work\" (see etui import --help)"
            ))),
            CsvError::Unmapped { columns } => Failure::Refused(into_line(&format!(
                "{name}: {}; nothing was imported; to import it: etui import{} {}; or --force keeps them as \
                 custom fields",
                CsvError::Unmapped { columns: columns.clone() },
                map_options(given_map, &columns),
                quote_operand(name)
            ))),
            CsvError::NoHeader { .. } => Failure::Refused(into_line(&format!(
                "{name}: is CSV, but {error}; nothing was imported; put a line with the names of the \
                 columns before it, such as: given,family,email,phone"
            ))),
            error => Failure::Refused(into_line(&format!("{name}: {error}"))),
        })?;
        Ok(Self::Csv(Box::new(opened)))
    }

    /// The charset that was detected or given, if the text is not UTF-8 or UTF-16.
    fn charset(&self) -> Option<&'static str> {
        let charset = match self {
            Self::Csv(reader) => reader.charset(),
            Self::Ldif(reader) => reader.charset(),
        };
        charset.map(TableCharset::name)
    }

    /// The charset, the custom fields, and the entries that were skipped.
    pub fn notes(&self) -> TableNotes<'_> {
        TableNotes {
            charset: self.charset(),
            kept: self.kept_fields(),
            skipped: self.skipped_entries(),
        }
    }

    /// The fields that are kept under their own names.
    fn kept_fields(&self) -> &[FieldCount] {
        match self {
            Self::Csv(reader) => reader.kept_columns(),
            Self::Ldif(reader) => reader.kept_attributes(),
        }
    }

    /// The entries that are no people.
    fn skipped_entries(&self) -> &[FieldCount] {
        match self {
            Self::Csv(_) => &[],
            Self::Ldif(reader) => reader.skipped_entries(),
        }
    }

    /// Reports the charset, the custom fields, and the entries that were skipped.
    pub fn write_notes(&self, out: &mut OutputWriter, file: &str) {
        if let Some(charset) = self.charset() {
            out.write_note(&one_line(&format!(
                "{file}: read as {charset}; if letters are wrong, import it with --charset NAME"
            )));
        }
        let kept = self.kept_fields();
        if !kept.is_empty() {
            let list = list_counts(kept, "contact");
            out.write_note(&one_line(&format!("{file}: kept as custom fields: {list}")));
        }
        if let Self::Ldif(reader) = self
            && !reader.labels().is_empty()
        {
            write_labels(out, file, reader.labels());
        }
        let skipped = self.skipped_entries();
        if !skipped.is_empty() {
            let list = list_counts(skipped, "");
            out.write_note(&one_line(&format!(
                "{file}: skipped entries that are no people: {list}"
            )));
        }
    }
}

fn list_counts(counts: &[FieldCount], noun: &str) -> String {
    let counts = counts.iter().map(|count| {
        let records = match noun {
            "" => format_count(count.records),
            noun => pluralize(count.records, noun),
        };
        format!("{} ({records})", count.name)
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// Reports the groups whose names the members got as labels.
pub fn write_labels(out: &mut OutputWriter, file: &str, labels: &[FieldCount]) {
    let list = list_counts(labels, "contact");
    out.write_note(&one_line(&format!(
        "{file}: groups are labels of their members: {list}"
    )));
}

/// The beginning of the classes of groups: `groupOfNames`, `groupOfUniqueNames`.
const GROUP_CLASS: &[u8] = b"groupOf";

/// Opens an LDIF file. It is held in memory: a group names its members before or after them.
fn open_ldif(
    name: &str,
    mut reader: Box<dyn Read>,
    charset: Option<TableCharset>,
) -> Result<TableReader> {
    let mut text = Vec::new();
    let read = reader.read_to_end(&mut text);
    read.map_err(|e| Failure::named_io(name, e))?;
    let has_groups = text
        .windows(GROUP_CLASS.len())
        .any(|word| word.eq_ignore_ascii_case(GROUP_CLASS));
    let text: Arc<[u8]> = text.into();
    let all: Box<dyn Read> = Box::new(io::Cursor::new(Arc::clone(&text)));
    let mut reader = LdifReader::with_charset(all, charset);
    if has_groups {
        let labelled = reader.label_members(&text[..], charset);
        labelled.map_err(|e| Failure::named_io(name, e))?;
    }
    Ok(TableReader::Ldif(Box::new(reader)))
}

/// Returns the options `--map` of a command, and those for columns that are not recognized.
fn map_options(given: &[ColumnMapping], columns: &[UnmappedColumn]) -> String {
    let given = given.iter().map(|mapping| mapping.text.clone());
    let columns = columns.iter();
    let guessed = columns.map(|column| format!("{}={}", column.name, column.field));
    let options = given.chain(guessed);
    options
        .map(|text| format!(" {}", quote_option("--map", &text)))
        .collect()
}

/// A message in one line, without control characters of a file.
fn into_line(text: &str) -> String {
    one_line(text).into_owned()
}

impl CardReader for TableReader {
    fn next_card(&mut self) -> io::Result<Option<std::result::Result<ImportCard, Refused>>> {
        let item = match self {
            Self::Csv(reader) => reader.next(),
            Self::Ldif(reader) => reader.next(),
        };
        Ok(item.transpose()?.map(|item| match item {
            ForeignItem::Contact(found) => Ok(ImportCard {
                card: found.card,
                line: found.line,
                last_line: found.last_line,
                warnings: found.warnings,
            }),
            ForeignItem::Rejected(record) => Err(Refused {
                line: record.line,
                last_line: record.last_line,
                reason: record.reason,
                excerpt: record.excerpt,
            }),
        }))
    }

    fn bytes_read(&self) -> u64 {
        match self {
            Self::Csv(reader) => reader.bytes_read(),
            Self::Ldif(reader) => reader.bytes_read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_mapped_to_fields() {
        let mapping = |text: &str| text.parse::<ColumnMapping>();
        let property = |text: &str| {
            let mapping = mapping(text).unwrap();
            let ColumnField::Property {
                name,
                types,
                component,
            } = mapping.field
            else {
                panic!("{text}");
            };
            (mapping.column, name, types.join(","), component)
        };
        let expected = |a: &str, b: &str, c: &str, d| (a.to_owned(), b.to_owned(), c.to_owned(), d);
        assert_eq!(
            property("Tel.=phone.work"),
            expected("Tel.", "TEL", "work", None)
        );
        assert_eq!(
            property("A=B=email:Home"),
            expected("A=B", "EMAIL", "home", None)
        );
        assert_eq!(
            property("M=phone.mobile"),
            expected("M", "TEL", "cell", None)
        );
        assert_eq!(
            property("Ort=city.home"),
            expected("Ort", "ADR", "home", Some(3))
        );
        assert_eq!(property("x=x-hobby"), expected("x", "X-HOBBY", "", None));
        assert_eq!(mapping("x=-").unwrap().field, ColumnField::Ignored);
        assert!(mapping("x").is_err());
        assert!(
            mapping("x=phoen")
                .unwrap_err()
                .contains("did you mean phone")
        );
        assert!(mapping("x=phone.a b").is_err());
    }
}
