//! `etui import`: brings in vCard files.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use etui::Error;
use etui::contacts::Contacts;
use etui::import::{ImportEvent, ImportReport};

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::ImportObject;
use crate::output::{Out, Progress, count, one_line, plural, shown, size};

const EXAMPLES: &str = "\
Examples:
  etui import contacts.vcf                   a file, as any address book exports it
  etui import phone.vcf backup/*.vcf         several files
  curl -s https://example.org/all.vcf | etui import -

Files of vCard 2.1, 3.0 and 4.0 in any charset can be read. Cards go in byte for byte. A card
whose UID is there already replaces that contact (`etui contacts restore` undoes it); the same
file imported twice changes nothing. What cannot be read is told of, with its line, and the rest
goes in; then the exit code is 3.";

/// Bring in vCard files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// A file about to be read.
struct Source {
    name: String,
    reader: Box<dyn Read>,
    size: Option<u64>,
}

impl Source {
    fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self {
                name: "-".to_owned(),
                reader: Box::new(std::io::stdin()),
                size: None,
            });
        }
        let failed = |e| Failure::io(path, e);
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(Failure::Other(format!(
                "{}: this is a directory; name the files in it",
                path.display()
            )));
        }
        Ok(Self {
            name: path.display().to_string(),
            reader: Box::new(file),
            size: about.is_file().then_some(about.len()),
        })
    }
}

/// Imports the files, one after the other.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    // All of them are opened first: a mistyped name is noticed before anything is done.
    let sources = args
        .files
        .iter()
        .map(|f| Source::open(f))
        .collect::<Result<Vec<_>>>()?;
    let mut options = app.options();
    options.merge_substrings = false;
    let store = app.open_or_create(&options)?;
    let book = app.book(&store)?;
    let mut all = ImportObject::default();
    let several = sources.len() > 1;
    for source in sources {
        let name = source.name.clone();
        let report = import(&mut app.out, &book, source)?;
        app.out
            .say(format!("{}: {}", shown(&name), summary(&report)))?;
        all.add(&name, report);
    }
    // What is imported is saved; without this, searches take longer until the next save.
    if let Err(error) = store.merge_index() {
        app.out.error_line(&one_line(&format!(
            "everything is saved, but the search index is not up to date yet: {error}"
        )));
    }
    store.close()?;
    if app.out.json {
        app.out.object(&all)?;
    } else if several {
        app.out.say(format!(
            "Together: {} added, {} changed, {} unchanged, {} refused",
            count(all.added),
            count(all.changed),
            count(all.unchanged),
            count(all.refused)
        ))?;
    }
    if all.refused > 0 {
        return Err(Failure::Refused(format!(
            "{} refused; {}",
            if all.refused == 1 {
                "1 piece was".to_owned()
            } else {
                format!("{} pieces were", count(all.refused))
            },
            if all.added + all.changed + all.unchanged == 0 {
                "nothing went in"
            } else {
                "the rest went in"
            }
        )));
    }
    Ok(())
}

fn import(out: &mut Out, book: &Contacts<'_>, source: Source) -> Result<ImportReport> {
    let mut progress = Progress::of_bytes(out, &source.name, source.size);
    let name = source.name;
    let json = out.json;
    let (mut saved, mut read) = (0, (0, 0));
    let imported = book.import(source.reader, &mut |event| {
        match event {
            ImportEvent::Progress { bytes, records } => {
                read = (bytes, records);
                progress.set(bytes, plural(records, "contact"));
            }
            ImportEvent::Refused(refused) if !json => {
                let line = format!(
                    "{name}:{}: {} ({})",
                    refused.line, refused.reason, refused.excerpt
                );
                progress.beside(|| out.error_line(&one_line(&line)));
            }
            ImportEvent::Refused(_) | ImportEvent::Warned(_) => {}
            ImportEvent::Indexing => {
                let taken = plural(read.1, "contact");
                progress.set(read.0, format!("{taken}, being put in order"));
            }
            ImportEvent::Saved { records } => saved = records,
        }
        ControlFlow::Continue(())
    });
    drop(progress);
    if imported.is_err() && saved > 0 {
        out.note(&format!(
            "{} of {} went in before this; bring it in again to go on",
            plural(saved, "contact"),
            shown(&name)
        ));
    }
    imported.map_err(|error| match error {
        Error::Io { source, path } if path == Path::new("the input") => {
            Failure::named_io(name, source)
        }
        other => other.into(),
    })
}

/// `8,412 added, 1 changed, 3 refused (6.4 MB)`.
pub fn summary(report: &ImportReport) -> String {
    let mut parts = vec![format!("{} added", count(report.added))];
    for (n, what) in [
        (report.changed, "changed"),
        (report.unchanged, "unchanged"),
        (report.refused, "refused"),
    ] {
        if n > 0 {
            parts.push(format!("{} {what}", count(n)));
        }
    }
    format!("{} ({})", parts.join(", "), size(report.bytes))
}
