//! [`CsvWriter`]: contacts as a CSV file with the columns of Google or Outlook (RFC 4180).
//!
//! Google numbers the columns of values (`E-mail 1 - Value`), so their number is that of the contact with
//! the most: [`CsvPlan`] sees all contacts before the first row is written.

mod google;
mod loss;
mod outlook;

use std::io::{self, Write};

use etui_vcard::Card;

use self::google::{GROUPS, GoogleRow};
pub use self::loss::{Loss, LossKind};

/// The columns of a CSV file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CsvFormat {
    /// Google Contacts: any number of values, labels and custom fields.
    #[default]
    Google,
    /// Outlook in English: a fixed number of values.
    Outlook,
}

/// The columns that some contacts need.
///
/// ```
/// use etui_tables::{CsvFormat, CsvPlan};
/// use etui_vcard::Card;
///
/// let card = Card::parse("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:1\r\nN:Lovelace;Ada;;;\r\nEND:VCARD\r\n")?;
/// let mut plan = CsvPlan::new(CsvFormat::Google);
/// plan.add(&card);
/// let mut out = Vec::new();
/// let mut writer = plan.writer(&mut out)?;
/// let losses = writer.write(&card)?;
/// assert_eq!(losses[0].property, "UID");
/// writer.finish()?;
/// assert!(String::from_utf8(out)?.starts_with("First Name,Middle Name,Last Name,"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CsvPlan {
    format: CsvFormat,
    counts: [usize; GROUPS],
}

impl CsvPlan {
    /// Begins a file.
    pub fn new(format: CsvFormat) -> Self {
        Self {
            format,
            // Google writes the columns of one e-mail address and phone number in any case.
            counts: std::array::from_fn(|group| usize::from(group < 2)),
        }
    }

    /// Adds the columns that a contact needs.
    pub fn add(&mut self, card: &Card) {
        if self.format == CsvFormat::Google {
            let counts = GoogleRow::new(card).counts();
            for (most, count) in self.counts.iter_mut().zip(counts) {
                *most = count.max(*most);
            }
        }
    }

    /// Writes the header.
    ///
    /// # Errors
    /// Those of writing to `out`.
    pub fn writer<W: Write>(self, mut out: W) -> io::Result<CsvWriter<W>> {
        if self.format == CsvFormat::Outlook {
            // Without it Outlook reads another encoding.
            out.write_all("\u{feff}".as_bytes())?;
        }
        let mut builder = csv::WriterBuilder::new();
        builder.terminator(csv::Terminator::CRLF);
        let mut writer = CsvWriter {
            plan: self,
            rows: builder.from_writer(out),
        };
        let header = match writer.plan.format {
            CsvFormat::Google => google::header(&writer.plan.counts),
            CsvFormat::Outlook => outlook::header(),
        };
        writer.write_row(&header)?;
        Ok(writer)
    }
}

/// Returns true for the characters that no table has.
fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

/// A writer of contacts as rows.
pub struct CsvWriter<W: Write> {
    plan: CsvPlan,
    rows: csv::Writer<W>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes a contact. Returns the parts that are not in its row.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&mut self, card: &Card) -> io::Result<Vec<Loss>> {
        let (mut row, mut losses) = match self.plan.format {
            CsvFormat::Google => GoogleRow::new(card).finish(&self.plan.counts),
            CsvFormat::Outlook => outlook::row(card),
        };
        if row.iter().any(|field| field.contains(is_control)) {
            for field in &mut row {
                field.retain(|c| !is_control(c));
            }
            let refs = card.property_refs();
            let with_control = refs.iter().filter(|p| p.value().contains(is_control));
            let kind = LossKind::Part("control characters".to_owned());
            losses.extend(with_control.map(|p| Loss::new(p, kind.clone())));
        }
        self.write_row(&row)?;
        Ok(losses)
    }

    fn write_row(&mut self, row: &[String]) -> io::Result<()> {
        self.rows.write_record(row).map_err(io::Error::from)
    }

    /// Writes the rows that are still in memory.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self) -> io::Result<()> {
        self.rows.flush()
    }
}
