//! `etui contacts list`: everybody, in the order of the store's locale.

use etui::contacts::Card;

use crate::app::App;
use crate::commands::records::pager;
use crate::commands::records::query::QueryArgs;
use crate::errors::Result;
use crate::output::Table;
use crate::output::json::LetterObject;

const EXAMPLES: &str = "\
On a terminal this is a list to look around in:
  letters and digits    search as you type, with all that `etui contacts find` understands
  / and then anything   the same, also for what begins with q
  Esc                   back to the whole list
  arrows, PgUp, PgDn    up and down; Home, End: the first and the last
  left, right, Ctrl-G   the letter before, the next, and any: Ctrl-G M goes to M
  Enter                 all about the contact; any key leads back
  q or Ctrl-C           quit (q: when nothing is searched for)

Examples:
  etui contacts list                         look around (in a pipe: all, a line each)
  etui contacts list --no-pager              the first 50
  etui contacts list --at 50 --limit 50      the next 50
  etui contacts list --letters               where each letter begins: a position for --at
  etui contacts list --fields id,name,phones,categories
  etui contacts list --sort -added --limit 5 the five added last
  etui contacts list --all | less
  etui contacts list --json | jq -r .email
  etui contacts list --fields card > all.vcf

Page after page, complete also while others add and remove contacts:
  etui contacts list --json --limit 100                  the last line's `next` is a place
  etui contacts list --json --limit 100 --after PLACE    what comes behind it";

/// List contacts in order
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    query: QueryArgs<Card>,
    /// Tell at which position of the list the names of each letter begin
    #[arg(
        long,
        conflicts_with_all = ["fields", "sort", "limit", "all", "at", "after"]
    )]
    letters: bool,
    /// Write the list also on a terminal, instead of a pager
    #[arg(long)]
    no_pager: bool,
}

/// Lists them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    let book = app.book(&store)?;
    if args.letters {
        return letters(app, &book.letters()?);
    }
    let all = book.count()?;
    if all == 0 && !app.out.json {
        return app
            .out
            .say("No contacts yet. Bring some in: etui import contacts.vcf");
    }
    let plain = args.no_pager || app.out.json || !args.query.is_plain();
    if !plain && pager::is_possible(&app.out) {
        return pager::run(app, &book);
    }
    let snapshot = store.snapshot()?;
    let asked = [(String::new(), snapshot.collection(app.book_name())?)];
    args.query.list(app, &asked)
}

fn letters(app: &mut App, letters: &[etui::contacts::Letter]) -> Result<()> {
    if app.out.json {
        return letters.iter().try_for_each(|letter| {
            app.out.object(&LetterObject {
                letter: &letter.label,
                position: letter.position,
            })
        });
    }
    let mut table = Table::new(&["Position", "Letter"]);
    for letter in letters {
        table.row([letter.position.to_string().as_str(), &letter.label]);
    }
    table.write(&mut app.out)
}
