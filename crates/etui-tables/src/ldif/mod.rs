//! [`LdifReader`]: the people of an LDIF file.

mod attributes;
mod convert;
mod entry;

use std::io::{self, Read};

use self::convert::EntryConverter;
use self::entry::EntryReader;
use crate::charset::TableCharset;
use crate::input::{TextInput, decode_text};
use crate::item::{FieldCount, ForeignContact, ForeignItem, RejectedRecord, excerpt};

/// An iterator over the people and mailing lists of an LDIF file (RFC 2849), of Thunderbird or of a
/// directory. It holds one entry.
///
/// Attributes without a meaning are kept as fields of their name (`X-CUSTOM` with a label) and
/// counted. Entries of the directory itself (`organizationalUnit`, `dcObject`) are skipped and counted.
///
/// ```
/// use etui_tables::{ForeignItem, LdifReader};
///
/// let file = "dn: cn=Ada,dc=example,dc=org\nobjectClass: person\ncn: Ada\nsn:: TG92ZWxhY2U=\n";
/// let mut people = LdifReader::new(file.as_bytes());
/// let Some(ForeignItem::Contact(ada)) = people.next().transpose()? else { panic!() };
/// assert_eq!(ada.card.name().family, "Lovelace");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct LdifReader<R> {
    entries: EntryReader<R>,
    converter: EntryConverter,
    is_done: bool,
}

impl<R: Read> LdifReader<R> {
    /// Reads LDIF. Its charset is detected.
    pub fn new(reader: R) -> Self {
        Self::with_charset(reader, None)
    }

    /// Reads LDIF in a charset; `None` detects it.
    pub fn with_charset(reader: R, charset: Option<TableCharset>) -> Self {
        Self {
            entries: EntryReader::new(reader, charset.map(|charset| charset.0)),
            converter: EntryConverter::default(),
            is_done: false,
        }
    }

    /// Gives the members of the groups in a text, which is that of this reader, the names of the groups
    /// as labels. The groups stay contacts of their own (`KIND:group`).
    ///
    /// # Errors
    /// Those of reading.
    pub fn label_members(
        &mut self,
        text: impl Read,
        charset: Option<TableCharset>,
    ) -> io::Result<()> {
        let mut entries = EntryReader::new(text, charset.map(|charset| charset.0));
        while let Some(entry) = entries.next_entry()? {
            self.converter.add_group(&entry);
        }
        Ok(())
    }

    /// The number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.entries.bytes_read()
    }

    /// The charset of the lines so far that were not UTF-8 or UTF-16.
    pub fn charset(&self) -> Option<TableCharset> {
        self.entries.charset().map(TableCharset)
    }

    /// The attributes without a meaning that were kept so far as fields of their name.
    pub fn kept_attributes(&self) -> &[FieldCount] {
        &self.converter.kept
    }

    /// The groups whose names members got as labels so far.
    pub fn labels(&self) -> &[FieldCount] {
        &self.converter.labels
    }

    /// The entries so far that are no people, by their `objectClass`.
    pub fn skipped_entries(&self) -> &[FieldCount] {
        &self.converter.skipped
    }

    fn next_item(&mut self) -> io::Result<Option<ForeignItem>> {
        while let Some(entry) = self.entries.next_entry()? {
            let (line, last_line) = (entry.line, entry.last_line);
            return Ok(Some(match self.converter.convert(&entry) {
                None => continue,
                Some(Ok((card, warnings))) => ForeignItem::Contact(ForeignContact {
                    card,
                    line,
                    last_line,
                    warnings,
                }),
                Some(Err(reason)) => {
                    let first = entry.attributes.first();
                    let first = first.map(|a| format!("{}: {}", a.name, a.text()));
                    ForeignItem::Rejected(RejectedRecord {
                        line,
                        last_line,
                        reason,
                        excerpt: excerpt(&first.unwrap_or_default()),
                    })
                }
            }));
        }
        Ok(None)
    }
}

impl<R: Read> Iterator for LdifReader<R> {
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

/// Returns true if a text begins like LDIF: with a `dn`, or the version before it. The text may be cut
/// off.
pub fn is_ldif(head: &[u8]) -> bool {
    let mut input = TextInput::new(head, None);
    let mut has_version = false;
    while let Ok(Some(line)) = input.next_line() {
        let line = decode_text(&line.bytes).to_ascii_lowercase();
        let is_comment = line.starts_with(['#', ' ']) || line.trim().is_empty();
        match () {
            () if is_comment => {}
            () if !has_version && line.starts_with("version:") => has_version = true,
            () => return line.starts_with("dn:"),
        }
    }
    false
}
