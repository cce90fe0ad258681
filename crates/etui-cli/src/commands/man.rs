//! `etui man`: manual pages.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Command;
use clap::builder::Resettable;
use clap_mangen::Man;
use etui_program::output::escape_text;
use etui_program::{App, Failure, Result};

use crate::args;

const EXAMPLES: &str = "\
Examples:
  etui man | man -l -                        read the manual
  etui man ~/.local/share/man/man1           install a page per command";

/// Generate manual pages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// Directory for a page per command [default: one page, to standard output]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub fn write_manual(app: &mut App, args: &ManArgs) -> Result<()> {
    let mut definition = args::clap_command();
    definition.build();
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        write_page(&definition, &mut page).map_err(|e| Failure::named_io("the manual page", e))?;
        return app.out.write_bytes(&page);
    };
    let failed = |e| Failure::io(directory, e);
    std::fs::create_dir_all(directory).map_err(failed)?;
    write_pages(&definition, directory).map_err(failed)?;
    app.out.status(format!(
        "Wrote the manual pages to {}",
        escape_text(&directory.display().to_string())
    ))
}

/// Writes the pages of a command and those below it.
fn write_pages(command: &Command, directory: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        write_pages(below, directory)?;
    }
    let mut page = Vec::new();
    write_page(command, &mut page)?;
    let name = Man::new(command.clone()).get_filename();
    std::fs::write(directory.join(name), page)
}

/// Writes the page of a command. The examples stay as they are written: clap_mangen's own section
/// fills their lines.
fn write_page(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let plain = command.clone();
    let plain = plain.after_help(Resettable::Reset);
    let plain = plain.after_long_help(Resettable::Reset);
    Man::new(plain).render(page)?;
    let after = command.get_after_long_help().or(command.get_after_help());
    match after {
        Some(text) => write_examples(&text.to_string(), page),
        None => Ok(()),
    }
}

/// Writes the text after the options, line by line.
fn write_examples(text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let (heading, text) = match text.trim_start().split_once("Examples:\n") {
        Some(("", examples)) => ("EXAMPLES", examples),
        _ => ("NOTES", text),
    };
    writeln!(page, ".SH {heading}\n.nf")?;
    for line in text.trim_end().lines() {
        writeln!(page, "{}", escape_roff(line))?;
    }
    writeln!(page, ".fi")
}

/// Escapes a line for roff: nothing in it is a request, and hyphens and quotes can be copied.
fn escape_roff(line: &str) -> String {
    let line = line
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\(aq")
        .replace('`', "\\(ga")
        .replace('^', "\\(ha")
        .replace('~', "\\(ti");
    match line.starts_with('.') {
        true => format!("\\&{line}"),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_escaped() {
        for (line, escaped) in [
            (".nf", "\\&.nf"),
            ("a -b \\n", "a \\-b \\en"),
            ("'~'", "\\(aq\\(ti\\(aq"),
        ] {
            assert_eq!(escape_roff(line), escaped);
        }
    }
}
