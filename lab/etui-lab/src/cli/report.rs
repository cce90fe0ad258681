//! `etui lab report`: reports from a results file.

use std::fs::Permissions;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::error::Error;
use crate::experiment::Experiment;
use crate::output;
use crate::report::{self, Report, ReportSection};
use crate::results::{Results, file};

/// Columns where there is no terminal to ask.
const NO_TERMINAL: usize = 100;

/// Write the report of a results file: page, Markdown and CSV; or show it here
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// The results; without it those of `studies`
    #[arg(value_name = "FILE", default_value = "etui-lab-results/studies.jsonl")]
    file: PathBuf,
    /// Show the tables here instead of writing files
    #[arg(long)]
    show: bool,
}

impl ReportArgs {
    /// Writes or shows the report.
    pub fn run(&self, experiments: &[&'static dyn Experiment]) -> Result<ExitCode, Error> {
        if self.show {
            show_report(&self.file, experiments)?;
        } else {
            for file in write_report(&self.file, experiments)? {
                output::print_line(format_args!("{}", file.display()))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows the tables of a results file on the terminal.
pub fn show_report(file: &Path, experiments: &[&'static dyn Experiment]) -> Result<(), Error> {
    let report = read_report(file, experiments)?;
    let mut out = std::io::stdout().lock();
    let terminal = std::io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none();
    let width = rustix::termios::tcgetwinsize(&out).map_or(0, |size| usize::from(size.ws_col));
    let width = if width == 0 { NO_TERMINAL } else { width };
    for section in &report.sections {
        let text = report::to_terminal(section, width, color);
        match writeln!(out, "{text}") {
            // Whoever reads it has had enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            done => done.map_err(|e| Error::file("standard output", e))?,
        }
    }
    Ok(())
}

/// Prints the advice and the verdict of each experiment in a results file.
pub fn show_verdicts(file: &Path, experiments: &[&'static dyn Experiment]) -> Result<(), Error> {
    for section in &read_report(file, experiments)?.sections {
        let (title, name) = (section.about.title, section.about.name);
        let sentence = report::verdict_sentence(section);
        output::print_line(format_args!("{title} ({name})"))?;
        for advice in &section.presentation.verdict.advice {
            output::print_line(format_args!("  {}", advice.sentence()))?;
        }
        output::print_line(format_args!("  {sentence}\n"))?;
    }
    Ok(())
}

/// Refuses a results file that the report would be written over.
pub fn check_name(file: &Path) -> Result<(), Error> {
    let taken = file.extension().is_some_and(|extension| {
        ["html", "md", "csv"]
            .iter()
            .any(|one| extension.eq_ignore_ascii_case(one))
    });
    if taken {
        return Err(Error::Usage(format!(
            "{}: the report is written beside the results, to .html, .md and .csv; \
             the results need another name, e.g. {}",
            file.display(),
            file.with_extension("jsonl").display()
        )));
    }
    Ok(())
}

/// Writes page, Markdown and CSV beside a results file.
pub fn write_report(
    file: &Path,
    experiments: &[&'static dyn Experiment],
) -> Result<Vec<PathBuf>, Error> {
    check_name(file)?;
    let report = read_report(file, experiments)?;
    [
        ("html", report::to_html(&report)),
        ("md", report::to_markdown(&report)),
        ("csv", report::to_csv(&report)),
    ]
    .into_iter()
    .map(|(extension, text)| {
        let path = file.with_extension(extension);
        write_atomically(&path, &text)?;
        Ok(path)
    })
    .collect()
}

/// Writes a file so that it is there in whole or as it was.
fn write_atomically(path: &Path, text: &str) -> Result<(), Error> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(dir.unwrap_or(Path::new(".")))
        .map_err(|e| Error::file(path, e))?;
    file.write_all(text.as_bytes())
        .map_err(|e| Error::file(path, e))?;
    file.persist(path).map_err(|e| Error::file(path, e.error))?;
    Ok(())
}

/// Returns the report of the known experiments in a results file.
fn read_report(file: &Path, experiments: &[&'static dyn Experiment]) -> Result<Report, Error> {
    let lines = file::read_results(file)?;
    if lines.is_empty() {
        return Err(Error::other(format!(
            "{}: there are no results in it",
            file.display()
        )));
    }
    let header = file::read_header(&lines);
    let sections = experiments
        .iter()
        .filter(|experiment| {
            header
                .experiments
                .contains_key(experiment.experiment_info().name)
        })
        .map(|experiment| {
            let about = experiment.experiment_info();
            let results = Results::of(about.name, &lines);
            ReportSection::new(about, &results, experiment.present_results(&results))
        })
        .collect();
    Ok(Report { header, sections })
}
