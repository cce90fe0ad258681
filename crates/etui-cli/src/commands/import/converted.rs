//! [`ConversionNotes`]: what a conversion of a file, before its import, left out.

use etui::import::{ImportReport, Refused};
use etui_program::output::{OutputWriter, one_line};

/// Notes of a file that was converted before its import.
#[derive(Debug)]
pub struct ConversionNotes {
    pub file_bytes: u64,
    pub notes: Vec<ConversionNote>,
    /// A note on the whole file.
    pub remark: Option<String>,
}

/// A note on a record.
#[derive(Debug)]
pub struct ConversionNote {
    /// Where it is: `record 3`; empty for the whole file.
    pub place: String,
    pub is_refused: bool,
    pub refused: Refused,
}

impl ConversionNotes {
    /// Writes the notes, and adds them to the report of the import: a record that is left out is
    /// rejected, one that is not complete has a warning.
    pub fn report(self, out: &mut OutputWriter, name: &str, report: &mut ImportReport) {
        const KEPT: usize = 1_000;
        report.bytes = self.file_bytes;
        for note in self.notes {
            let ConversionNote {
                place,
                is_refused,
                refused,
            } = note;
            match is_refused {
                true => report.refused += 1,
                false => report.warned += 1,
            }
            if !out.json {
                let place = match place.is_empty() {
                    true => name.to_owned(),
                    false => format!("{name}: {place}"),
                };
                let title = match refused.excerpt.is_empty() {
                    true => String::new(),
                    false => format!(" ({})", refused.excerpt),
                };
                let line = format!("{place}: {}{title}", refused.reason);
                out.write_error_line(&one_line(&line));
            }
            let kept = match is_refused {
                true => &mut report.refusals,
                false => &mut report.warnings,
            };
            if kept.len() < KEPT {
                kept.push(refused);
            }
        }
        if let Some(remark) = self.remark {
            out.write_note(&one_line(&remark));
        }
    }
}
