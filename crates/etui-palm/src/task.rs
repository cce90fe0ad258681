//! [`Task`]: a record of ToDoDB. [`Memo`]: a record of MemoDB.
//!
//! ```text
//! ToDoDB   u16 due date, u8 (0x80 done, low 7 bits priority), string title, string note
//! MemoDB   string; its first line is the title
//! ```

use etui_ical::time::Date;

use crate::bytes::ByteReader;
use crate::code_page::CodePage;
use crate::date::{NO_DATE, decode_date, encode_date};
use crate::error::RecordError;
use crate::text::{Decoded, Encoded, TextReader, TextWriter};

/// The lowest priority; 1 is the highest.
pub const LOWEST_PRIORITY: u8 = 5;

/// A to-do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The day on which it is due.
    pub due: Option<Date>,
    /// Whether it is done.
    pub is_done: bool,
    /// The priority, 1 to 5.
    pub priority: u8,
    /// The title.
    pub title: String,
    /// The note; empty for none.
    pub note: String,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            due: None,
            is_done: false,
            priority: 1,
            title: String::new(),
            note: String::new(),
        }
    }
}

impl Task {
    /// Parses a record.
    ///
    /// # Errors
    /// [`RecordError::Truncated`].
    pub fn parse(data: &[u8], page: CodePage) -> Result<Decoded<Self>, RecordError> {
        let mut bytes = ByteReader::new(data);
        let (Some(due), Some(state)) = (bytes.u16(), bytes.u8()) else {
            return Err(RecordError::Truncated { part: "its title" });
        };
        let mut notes = Vec::new();
        let due = decode_date(due).unwrap_or_else(|error| {
            notes.push(format!("its due date, {error}, was left out"));
            None
        });
        let priority = (state & 0x7F).clamp(1, LOWEST_PRIORITY);
        if priority != state & 0x7F {
            notes.push(format!(
                "its priority {} was read as {priority}",
                state & 0x7F
            ));
        }
        let mut texts = TextReader::new(page);
        let task = Self {
            due,
            is_done: state & 0x80 != 0,
            priority,
            title: texts.next(&mut bytes),
            note: texts.next(&mut bytes),
        };
        texts.finish(&mut notes);
        Ok(Decoded {
            record: task,
            notes,
        })
    }

    /// Returns the bytes of the record.
    pub fn encode(&self, page: CodePage) -> Encoded {
        let mut notes = Vec::new();
        let due = match self.due.map(encode_date) {
            None => NO_DATE,
            Some(Some(due)) => due,
            Some(None) => {
                let (year, ..) = self.due.map_or((0, 0, 0), Date::ymd);
                notes.push(format!(
                    "its due date: a Palm has the years 1904 to 2031, not {year}"
                ));
                NO_DATE
            }
        };
        let mut data = due.to_be_bytes().to_vec();
        let done = if self.is_done { 0x80 } else { 0 };
        data.push(done | self.priority & 0x7F);
        let mut texts = TextWriter::new(page, data);
        texts.push("title", &self.title, 1);
        texts.push("note", &self.note, 0);
        let mut encoded = texts.finish();
        encoded.notes.splice(0..0, notes);
        encoded
    }
}

/// A memo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memo {
    /// The text; its first line is the title.
    pub text: String,
}

impl Memo {
    /// Parses a record. Any bytes are a memo.
    pub fn parse(data: &[u8], page: CodePage) -> Decoded<Self> {
        let mut notes = Vec::new();
        let mut texts = TextReader::new(page);
        let text = texts.next(&mut ByteReader::new(data));
        texts.finish(&mut notes);
        Decoded {
            record: Self { text },
            notes,
        }
    }

    /// Returns the bytes of the record.
    pub fn encode(&self, page: CodePage) -> Encoded {
        let mut texts = TextWriter::new(page, Vec::new());
        texts.push("text", &self.text, 0);
        texts.finish()
    }

    /// Returns the first line.
    pub fn title(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_layouts_are_those_of_the_device() {
        let task = Task {
            due: Date::new(2003, 3, 25),
            is_done: true,
            priority: 2,
            title: "Größe".to_owned(),
            note: String::new(),
        };
        let encoded = task.encode(CodePage::Windows1252);
        assert_eq!(encoded.data, b"\xC6\x79\x82Gr\xF6\xDFe\0\0");
        let decoded = Task::parse(&encoded.data, CodePage::Windows1252).unwrap();
        assert_eq!((decoded.record, decoded.notes), (task, vec![]));

        let memo = Memo {
            text: "List\nmilk".to_owned(),
        };
        let encoded = memo.encode(CodePage::Windows1252);
        assert_eq!(encoded.data, b"List\nmilk\0");
        assert_eq!(
            Memo::parse(&encoded.data, CodePage::Windows1252).record,
            memo
        );
        assert_eq!(memo.title(), "List");
    }

    #[test]
    fn wrong_parts_are_left_out_and_named() {
        let decoded = Task::parse(b"\0\0\x07Pay\0", CodePage::Windows1252).unwrap();
        assert_eq!(decoded.record.title, "Pay");
        let notes = [
            "its due date, 0x0000 is no date, was left out",
            "its priority 7 was read as 5",
        ];
        assert_eq!(decoded.notes, notes);
        assert!(Task::parse(b"\0\0", CodePage::Windows1252).is_err());
    }
}
