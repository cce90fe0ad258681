//! [`RowReader`]: the rows of a CSV file, with strict quotes (RFC 4180).
//!
//! ```text
//! Ada,"London, ""UK"""       a row of two fields
//! Bob,"two                   a quoted field may have line breaks
//! lines"
//! Cleo,"cut off              rejected: only this line; the next one is read again
//! Dan,x                      a row
//! ```
//!
//! The end of a row is found here, since a wrong quote would otherwise swallow the rows after it; the
//! fields of a row are then read by the crate `csv`. A quote inside a field that does not begin with one
//! is a character like any other.

use std::collections::VecDeque;
use std::io::{self, Read};

use encoding_rs::Encoding;

use crate::input::{InputLine, TextInput, decode_text};
use crate::item::excerpt;

/// Bytes of the largest row.
const MAX_ROW: usize = 4 << 20;
/// Empty fields that a row may have after those of the header.
const MAX_EXTRA_FIELDS: usize = 64;

/// A row, or a rejected line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The first line, counted from 1.
    pub(crate) line: u64,
    pub(crate) last_line: u64,
    pub(crate) fields: Result<Vec<String>, RowError>,
    /// Its beginning.
    pub(crate) excerpt: String,
}

/// Reasons for rejecting a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RowError {
    #[error(
        "the quotes of this line are wrong: text follows a closing quote; write a quote inside a \
         quoted field twice"
    )]
    AfterQuote,
    #[error(
        "the quotes of this line are wrong: a field begins with a quote and has no closing one"
    )]
    Unclosed,
    #[error(
        "{found} fields, but the header has {expected} columns; quote the field that has a \
         separator in it"
    )]
    TooMany { found: usize, expected: usize },
    #[error("the row is larger than {MAX_ROW} bytes; is a closing quote missing?")]
    TooLarge,
}

/// A reader of rows.
pub(crate) struct RowReader<R> {
    input: TextInput<R>,
    /// Lines that were read ahead.
    ahead: VecDeque<InputLine>,
    /// Lines returned so far.
    line: u64,
    pub(crate) delimiter: u8,
    /// The number of columns; any, while the header is not known.
    pub(crate) columns: Option<usize>,
}

impl<R: Read> RowReader<R> {
    pub(crate) fn new(reader: R, charset: Option<&'static Encoding>) -> Self {
        Self {
            input: TextInput::new(reader, charset),
            ahead: VecDeque::new(),
            line: 0,
            delimiter: b',',
            columns: None,
        }
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    pub(crate) fn charset(&self) -> Option<&'static Encoding> {
        self.input.charset()
    }

    /// Returns the first lines of the rest, without consuming them.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<Vec<String>> {
        while self.ahead.len() < count {
            match self.input.next_line()? {
                Some(line) => self.ahead.push_back(line),
                None => break,
            }
        }
        let lines = self.ahead.iter().take(count);
        Ok(lines
            .map(|line| decode_text(&line.bytes).into_owned())
            .collect())
    }

    /// Skips lines.
    pub(crate) fn skip_lines(&mut self, count: usize) -> io::Result<()> {
        for _ in 0..count {
            self.next_line()?;
        }
        Ok(())
    }

    fn next_line(&mut self) -> io::Result<Option<InputLine>> {
        let line = match self.ahead.pop_front() {
            Some(line) => Some(line),
            None => self.input.next_line()?,
        };
        self.line += u64::from(line.is_some());
        Ok(line)
    }

    /// Returns the next row; `None` at the end. Empty lines are skipped.
    pub(crate) fn next_row(&mut self) -> io::Result<Option<Row>> {
        let first = loop {
            match self.next_line()? {
                None => return Ok(None),
                Some(line) if line.bytes.trim_ascii().is_empty() => {}
                Some(line) => break line,
            }
        };
        let line = self.line;
        let excerpt = excerpt(&decode_text(&first.bytes));
        let mut lines = vec![first];
        let fields = self.read_row(&mut lines)?;
        if fields.is_err() {
            // Only the first line is rejected.
            self.line = line;
            for line in lines.drain(1..).rev() {
                self.ahead.push_front(line);
            }
        }
        Ok(Some(Row {
            line,
            last_line: self.line,
            fields,
            excerpt,
        }))
    }

    /// Reads lines until the row is complete, and splits it.
    fn read_row(
        &mut self,
        lines: &mut Vec<InputLine>,
    ) -> io::Result<Result<Vec<String>, RowError>> {
        let mut scan = QuoteScan::new(self.delimiter);
        let most = self.columns.map(|columns| columns + MAX_EXTRA_FIELDS);
        let mut size = 0;
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            at += 1;
            size += line.bytes.len() + 1;
            if line.is_cut || size > MAX_ROW {
                return Ok(Err(RowError::TooLarge));
            }
            if !scan.scan_line(&line.bytes) {
                return Ok(Err(RowError::AfterQuote));
            }
            if let Some(expected) = self.columns
                && most.is_some_and(|most| scan.fields > most)
            {
                let found = scan.fields;
                return Ok(Err(RowError::TooMany { found, expected }));
            }
            if scan.state != QuoteState::Quoted {
                break;
            }
            match self.next_line()? {
                Some(line) => lines.push(line),
                None => return Ok(Err(RowError::Unclosed)),
            }
        }
        let bytes = lines.iter().map(|line| line.bytes.as_slice());
        let fields = split_row(&bytes.collect::<Vec<_>>().join(&b'\n'), self.delimiter);
        let Some(expected) = self.columns else {
            return Ok(Ok(fields));
        };
        let found = fields.iter().rposition(|field| !field.trim().is_empty());
        let found = found.map_or(0, |last| last + 1);
        Ok(match found > expected {
            true => Err(RowError::TooMany { found, expected }),
            false => Ok(fields),
        })
    }
}

/// Splits the text of one row.
pub(crate) fn split_row(row: &[u8], delimiter: u8) -> Vec<String> {
    let text = decode_text(row);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(text.len().clamp(64, 8 << 10))
        .from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    match reader.read_record(&mut record) {
        Ok(true) => record.iter().map(str::to_owned).collect(),
        // The text is UTF-8 and in memory: only an empty row has no record.
        _ => Vec::new(),
    }
}

/// The position in a row with respect to quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteState {
    FieldStart,
    Unquoted,
    Quoted,
    /// After a quote in a quoted field: its end, or the first of two.
    Quote,
    /// After a quoted field and blanks.
    Closed,
}

/// Finds the end of a row.
struct QuoteScan {
    delimiter: u8,
    state: QuoteState,
    fields: usize,
}

impl QuoteScan {
    fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            state: QuoteState::FieldStart,
            fields: 1,
        }
    }

    /// Scans a line. Returns false if text follows a closing quote.
    fn scan_line(&mut self, line: &[u8]) -> bool {
        use QuoteState::{Closed, FieldStart, Quote, Quoted, Unquoted};
        for &byte in line {
            self.state = match (self.state, byte) {
                (Quoted, b'"') => Quote,
                (Quoted, _) => Quoted,
                (_, byte) if byte == self.delimiter => {
                    self.fields += 1;
                    FieldStart
                }
                (FieldStart, b'"') | (Quote, b'"') => Quoted,
                (FieldStart | Unquoted, _) => Unquoted,
                (Quote | Closed, b' ') => Closed,
                (Quote | Closed, _) => return false,
            };
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, columns: usize) -> Vec<(u64, u64, Result<Vec<String>, RowError>)> {
        let mut reader = RowReader::new(text.as_bytes(), None);
        reader.columns = Some(columns);
        let mut all = Vec::new();
        while let Some(row) = reader.next_row().unwrap() {
            all.push((row.line, row.last_line, row.fields));
        }
        all
    }

    fn row(line: u64, last: u64, fields: &[&str]) -> (u64, u64, Result<Vec<String>, RowError>) {
        (
            line,
            last,
            Ok(fields.iter().map(|f| (*f).to_owned()).collect()),
        )
    }

    #[test]
    fn rows_with_quotes_and_line_breaks() {
        let text = "a,\"b, \"\"c\"\"\"\r\n\r\n\"d\r\ne\",5\" disk\r\n\"f\" ,\r\ng,h,,,\r\ni";
        assert_eq!(
            rows(text, 2),
            [
                row(1, 1, &["a", "b, \"c\""]),
                row(3, 4, &["d\ne", "5\" disk"]),
                row(5, 5, &["f ", ""]),
                row(6, 6, &["g", "h", "", "", ""]),
                row(7, 7, &["i"]),
            ]
        );
    }

    #[test]
    fn wrong_rows_are_rejected_alone() {
        let text = "a,\"cut off\nb,\"ok\"\nc,\"x\"y\nd,e,f\ng,\"h\ni\"\nj,\"open\nk,l\n";
        let rejected = |line, error| (line, line, Err(error));
        assert_eq!(
            rows(text, 2),
            [
                rejected(1, RowError::AfterQuote),
                row(2, 2, &["b", "ok"]),
                rejected(3, RowError::AfterQuote),
                rejected(
                    4,
                    RowError::TooMany {
                        found: 3,
                        expected: 2
                    }
                ),
                row(5, 6, &["g", "h\ni"]),
                rejected(7, RowError::Unclosed),
                row(8, 8, &["k", "l"]),
            ]
        );
    }

    #[test]
    fn every_line_may_open_a_quote() {
        // Each line closes the quote of the line before and opens another one.
        let text = "x\",\"\n".repeat(20_000);
        assert!(rows(&text, 3).len() > 10_000);
    }
}
