//! `etui contacts find`: who is meant.

use etui::contacts::Card;

use crate::app::App;
use crate::commands::records::find::{FindArgs, find};
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

  etui contacts find org:acme --fields name,phones,emails     what to show of each
  etui contacts find category:work --fields card > work.vcf   the vCards themselves
  etui contacts find '*' --sort -added --limit 10             the ten added last
  etui contacts find acme --limit 20 --at 40                  the third page of 20
  etui contacts find '-email:*' --count                       how many have no e-mail address?
  etui contacts find 'org:*soft*' --explain                   how is that looked up?

Page after page, complete also while others add and remove contacts:
  etui contacts find acme --json --limit 20                   the last line's `next` is a place
  etui contacts find acme --json --limit 20 --after PLACE     what comes behind it

Put filters with * ( ) or \" into single quotes, so that the shell leaves them alone.
The exit code is 4 when nobody is found, but for --count and --explain, which have an answer then.";

/// Find contacts
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    find: FindArgs<Card>,
}

/// Finds them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let book = snapshot.collection(app.book_name())?;
    find(app, &[(String::new(), book)], &args.find)
}
