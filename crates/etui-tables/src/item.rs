//! [`ForeignItem`]: a contact of another format as a vCard, or a rejected record.

use etui_vcard::Card;

/// Characters of an excerpt.
const MAX_EXCERPT: usize = 80;

/// A record of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignItem {
    /// A contact.
    Contact(ForeignContact),
    /// A record that is no contact, or cannot be read.
    Rejected(RejectedRecord),
}

/// A contact of another format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignContact {
    /// The contact as vCard 4.0, with a UID that the record always has: its own, or one made of
    /// its content.
    pub card: Card,
    /// Its first line in the input, counted from 1.
    pub line: u64,
    /// Its last line.
    pub last_line: u64,
    /// Values that were not understood, or not kept as they are, each with its column.
    pub warnings: Vec<String>,
}

/// A rejected record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRecord {
    /// Its first line, counted from 1.
    pub line: u64,
    /// Its last line.
    pub last_line: u64,
    /// The reason, and a remedy.
    pub reason: String,
    /// Its beginning, shortened and printable.
    pub excerpt: String,
}

/// Fields of the input that are not in every contact of the format, with the number of records that had
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldCount {
    /// The name of the column or attribute.
    pub name: String,
    /// The number of records.
    pub records: u64,
}

/// Counts a field.
pub(crate) fn count_field(counts: &mut Vec<FieldCount>, name: &str) {
    match counts.iter_mut().find(|count| count.name == name) {
        Some(count) => count.records += 1,
        None => counts.push(FieldCount {
            name: name.to_owned(),
            records: 1,
        }),
    }
}

/// Returns the beginning of a text for people to recognize it.
pub(crate) fn excerpt(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let printable: String = printable.take(MAX_EXCERPT).collect();
    printable.trim().to_owned()
}
