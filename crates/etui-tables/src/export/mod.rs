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
/// assert!(String::from_utf8(out)?.starts_with("\u{feff}First Name,Middle Name,Last Name,"));
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
        // Without it Outlook and Excel read another charset.
        out.write_all("\u{feff}".as_bytes())?;
        let mut builder = csv::WriterBuilder::new();
        builder.terminator(csv::Terminator::CRLF);
        let mut writer = CsvWriter {
            plan: self,
            rows: builder.from_writer(out),
            formula_cells: 0,
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

/// Returns true for a cell that a spreadsheet runs: it begins with `=`, `@`, `+` or `-` and is no
/// number of a phone or other one.
fn is_formula(cell: &str) -> bool {
    let cell = cell.trim_start();
    // A phone number, or a day without a year.
    let is_number = |rest: &str| {
        let is_part = |c: char| c.is_ascii_digit() || " ()./-\u{a0}".contains(c);
        rest.chars().all(is_part)
    };
    match cell.split_at_checked(1) {
        Some(("=" | "@", rest)) => !rest.is_empty(),
        Some(("+" | "-", rest)) => !is_number(rest),
        _ => false,
    }
}

/// A writer of contacts as rows.
pub struct CsvWriter<W: Write> {
    plan: CsvPlan,
    rows: csv::Writer<W>,
    formula_cells: u64,
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
        self.formula_cells += row.iter().filter(|cell| is_formula(cell)).count() as u64;
        self.write_row(&row)?;
        Ok(losses)
    }

    /// The number of cells so far that a spreadsheet runs as formulas when it opens the file. They are
    /// written as they are, so that the file can be imported again.
    pub fn formula_cells(&self) -> u64 {
        self.formula_cells
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

#[cfg(test)]
mod tests {
    use super::is_formula;

    #[test]
    fn cells_that_a_spreadsheet_runs() {
        for cell in [
            "=1",
            "@SUM(1+1) =cmd|calc!A0",
            "-2+3",
            "\t=1",
            "+cmd|x",
            "-A1",
            "=HYPERLINK(1)",
        ] {
            assert!(is_formula(cell), "{cell}");
        }
        for cell in [
            "",
            "=",
            "@",
            "+49 30 23125-84",
            "+1 (704) 555.0123",
            "-5",
            "Ada",
            "a=1",
        ] {
            assert!(!is_formula(cell), "{cell}");
        }
    }
}
