//! Exports contacts as CSV, with the columns of Google or Outlook.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::ValueEnum;
use etui::contacts::Card;
use etui_program::output::{format_count, object, one_line, pluralize};
use etui_program::{App, Failure, Result};
use etui_tables::{CsvFormat, CsvPlan, Loss};

use super::{ExportArgs, Selection, for_each_record, report_written, select_records};
use crate::commands::export_target::{ExportTarget, write_failure};
use crate::commands::written_version::WrittenVersion;
use crate::json::losses_json;

/// The program whose columns are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CsvColumns {
    #[default]
    Google,
    Outlook,
}

/// Exports the selected contacts as CSV and reports the parts that are not in the file.
pub fn export_csv(app: &mut App, args: &ExportArgs) -> Result<()> {
    if app.out.json && args.path().is_none() {
        return Err(Failure::usage(
            "--json writes a report to standard output; name a file with --output",
        ));
    }
    if args.vcard_version != WrittenVersion::AsIs {
        return Err(Failure::usage("--vcard-version is for --format vcard"));
    }
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let books = select_records::<Card>(app, &snapshot, &args.filter)?;
    let mut plan = CsvPlan::new(match args.columns.unwrap_or_default() {
        CsvColumns::Google => CsvFormat::Google,
        CsvColumns::Outlook => CsvFormat::Outlook,
    });
    for_each_record(&books, |_, _, text| {
        plan.add(&Card::parse(text)?);
        Ok(())
    })?;
    let path = args.path();
    let mut details = Vec::new();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let is_json = app.out.json;
    let mut target = ExportTarget::open(&mut app.out, path, args.force)?;
    let on_loss = |id: i64, losses: Vec<Loss>| {
        for loss in &losses {
            *counts.entry(loss.summary()).or_default() += 1;
        }
        if is_json && !losses.is_empty() {
            details.push((id, losses));
        }
    };
    let (written, formulas) = write_rows(&books, plan, &mut target, path, on_loss)?;
    target.commit()?;
    if is_json {
        let records = details.into_iter();
        let records = records.map(|(id, losses)| object! { id: id, parts: losses_json(losses) });
        return app.out.write_json(&object! {
            path: path.map(|path| path.display().to_string()),
            contacts: written,
            formulas: formulas,
            lost: counts,
            records: records.collect::<Vec<_>>(),
        });
    }
    report_written(app, path, &pluralize(written, "contact"))?;
    if formulas > 0 {
        let cells = pluralize(formulas, "cell");
        app.out.write_note(&format!(
            "{cells} with =, +, - or @ at the beginning: a spreadsheet runs them as formulas; look at \
             them before you open the file there"
        ));
    }
    if !counts.is_empty() {
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let counts = counts
            .iter()
            .map(|(name, n)| format!("{name} ({})", format_count(*n)));
        app.out.write_note(&one_line(&format!(
            "Not in the table: {}. For each contact: --json --output FILE",
            counts.collect::<Vec<_>>().join(", ")
        )));
    }
    Ok(())
}

/// Writes the rows. Returns their number, and that of cells that a spreadsheet runs.
fn write_rows(
    books: &[Selection<'_, Card>],
    plan: CsvPlan,
    target: &mut ExportTarget<'_>,
    path: Option<&Path>,
    mut on_loss: impl FnMut(i64, Vec<Loss>),
) -> Result<(u64, u64)> {
    let failed = |e: io::Error| write_failure(path, e);
    let mut writer = plan
        .writer(BufWriter::new(target as &mut dyn Write))
        .map_err(failed)?;
    let mut written = 0;
    for_each_record(books, |_, id, text| {
        let losses = writer.write(&Card::parse(text)?).map_err(failed)?;
        on_loss(id.0, losses);
        written += 1;
        Ok(())
    })?;
    let formulas = writer.formula_cells();
    writer.finish().map_err(failed)?;
    Ok((written, formulas))
}
