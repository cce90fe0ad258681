//! `etui contacts find`: who is meant.

use super::list::PageArgs;
use super::{filter, nothing_found, write_entries};
use crate::app::App;
use crate::errors::Result;

const HELP: &str = "\
A word is looked for in names, organisations, e-mail addresses and phone numbers, and may go on:
`ann` finds Anna and Annika. Case and accents do not matter: `muller` finds Müller.

  ann acme              both                 name:anna            in one field
  ann or bob            either               name:ann*            begins so
  -acme                 not                  name:*son            ends so
  (a or b) -c           in groups            org:*soft*           contains
  *                     all                  given=anna           is the whole value
  email:*               has any              name:\"van der Berg\"  several words

Fields: name (display, family, given, nick), org, email, phone, category, note, any.
Phone numbers are found however they are written: phone:+493023125001 finds 030 23125-001;
phone:*5001 goes by the end, as caller ID does.

Examples:
  etui contacts find ann
  etui contacts find 'name:mül* -email:*@example.org'
  etui contacts find org:acme or category:work
  etui contacts find 'phone:*0123' --json

Put filters with * ( ) or \" into single quotes, so that the shell leaves them alone.
The exit code is 4 when nobody is found.";

/// Find contacts
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// What to look for; words are joined by spaces
    #[arg(required = true, value_name = "FILTER")]
    filter: Vec<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// Finds them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let filter = filter(&args.filter)?;
    let store = app.open_to_read()?;
    let book = app.book(&store)?;
    let found = book.find(&filter)?;
    if found.is_empty() {
        return Err(nothing_found(&args.filter));
    }
    let page = args.page.page(app.out.terminal);
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let rest = found.get(size(page.offset)..).unwrap_or_default();
    let entries = rest.get(..size(page.limit)).unwrap_or(rest);
    write_entries(&mut app.out, entries)?;
    args.page
        .tell_more(app, entries.len() as u64, found.len() as u64)
}
