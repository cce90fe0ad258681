//! `etui lab compare A B`: differences beyond noise.

use std::path::PathBuf;
use std::process::ExitCode;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::compare::{Comparison, Difference, compare};
use crate::error::Error;
use crate::output;
use crate::report::numbers;
use crate::results::file;

const EXAMPLES: &str = "\
Examples:
  etui lab run journal-matrix --out before.jsonl
  etui lab run journal-matrix --out after.jsonl
  etui lab compare before.jsonl after.jsonl

Counters are compared exactly and decide the exit code: 0 nothing is worse, 3 something is.
Instructions may differ by 3 %, and decide on the same system and processor only. Times are compared as ratios to the first arm of their group,
from five repetitions on, and count if their ranges are farther apart than each is wide and
the medians differ by 25 %; they decide the exit code only with --times. Block I/O and memory
are told of, and decide nothing.";

/// Compare two results files beyond noise
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    /// The results before
    before: PathBuf,
    /// The results after
    after: PathBuf,
    /// Let times decide the exit code as well
    #[arg(long)]
    times: bool,
    /// Let it decide as well if something that was measured before is missing
    #[arg(long)]
    complete: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

impl CompareArgs {
    /// Compares and prints the result.
    pub fn run(&self) -> Result<ExitCode, Error> {
        let before = file::read_results(&self.before)?;
        let after = file::read_results(&self.after)?;
        let comparison = compare(&before, &after, self.times);
        if self.json {
            let text = serde_json::to_string_pretty(&comparison)
                .map_err(|e| Error::other(e.to_string()))?;
            output::print_line(format_args!("{text}"))?;
        } else {
            print_comparison(&comparison)?;
        }
        if comparison.compared == 0 {
            return Err(Error::Usage(
                "the two files have no measure in common".to_owned(),
            ));
        }
        Ok(
            if comparison.worse() || (self.complete && comparison.gone > 0) {
                ExitCode::from(3)
            } else {
                ExitCode::SUCCESS
            },
        )
    }
}

fn print_comparison(comparison: &Comparison) -> Result<(), Error> {
    for remark in &comparison.remarks {
        output::print_line(format_args!("Not the same {remark}"))?;
    }
    if !comparison.differences.is_empty() {
        let mut table = Table::new();
        table
            .load_style(presets::UTF8_HORIZONTAL_ONLY)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_header(["", "arm", "measure", "before", "after", "change"]);
        for difference in &comparison.differences {
            let sign = match (difference.worse, difference.gates) {
                (true, true) => "WORSE",
                (true, false) => "worse?",
                (false, true) => "better",
                (false, false) => "better?",
            };
            let Difference { before, after, .. } = *difference;
            let change = match before == 0.0 {
                true => String::new(),
                false => format!("{:+.1} %", (after / before - 1.0) * 100.0),
            };
            let value = |value| numbers::format_value(value, difference.unit);
            let Difference {
                experiment,
                arm,
                group,
                ..
            } = difference;
            table.add_row([
                sign.to_owned(),
                format!("{experiment}: {arm}, {group}"),
                difference.measure.clone(),
                value(before),
                value(after),
                change,
            ]);
        }
        for column in 3..6 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        output::print_line(format_args!("{table}"))?;
    }
    let count =
        |is: fn(&Difference) -> bool| comparison.differences.iter().filter(|d| is(d)).count();
    let worse = count(|d| d.gates && d.worse);
    let better = count(|d| d.gates && !d.worse);
    let undecided = match count(|d| !d.gates) {
        0 => String::new(),
        differ => format!(", {differ} differ but decide nothing"),
    };
    let presence = match (comparison.gone, comparison.new) {
        (0, 0) => String::new(),
        (gone, new) => format!(", {gone} no longer there, {new} new"),
    };
    output::print_line(format_args!(
        "{} measures compared, {worse} worse, {better} better{undecided}{presence}.",
        comparison.compared
    ))
}
