//! `etui contacts list`: everybody, in the order of the store's locale.

use etui::contacts::Page;

use super::write_entries;
use crate::app::App;
use crate::errors::Result;
use crate::output::{Style, count};

const EXAMPLES: &str = "\
Examples:
  etui contacts list                         the first 50 (in a pipe: all)
  etui contacts list --offset 50             the next 50
  etui contacts list --all | less
  etui contacts list --json | jq -r .email";

/// Rows shown on a terminal unless told otherwise.
const SCREENFUL: u64 = 50;

/// List contacts in order
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    page: PageArgs,
}

/// Which part of a list.
#[derive(Debug, clap::Args)]
pub struct PageArgs {
    /// Show this many [default: 50 on a terminal, else all]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Leave out this many before them
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// Show all
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

impl PageArgs {
    /// The page meant.
    pub fn page(&self, terminal: bool) -> Page {
        let limit = match (self.limit, self.all || !terminal) {
            (Some(limit), _) => limit,
            (None, true) => Page::ALL.limit,
            (None, false) => SCREENFUL,
        };
        Page {
            offset: self.offset,
            limit,
        }
    }

    /// Tells on a terminal how much of `all` was shown, and how to see more.
    pub fn tell_more(&self, app: &mut App, shown: u64, all: u64) -> Result<()> {
        if !app.out.terminal || shown >= all {
            return Ok(());
        }
        let end = self.offset + shown;
        let more = if end < all {
            format!("; more with --offset {end}, or --all")
        } else {
            String::new()
        };
        let text = match shown {
            0 => format!(
                "None of {} behind number {}.",
                count(all),
                count(self.offset)
            ),
            _ => format!(
                "{} to {} of {}{more}",
                count(self.offset + 1),
                count(end),
                count(all)
            ),
        };
        let text = app.out.styled(Style::Dim, &text).into_owned();
        app.out.say(text)
    }
}

/// Lists them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    let book = app.book(&store)?;
    let entries = book.list(args.page.page(app.out.terminal))?;
    let all = book.count()?;
    if all == 0 && !app.out.json {
        return app
            .out
            .say("No contacts yet. Bring some in: etui import contacts.vcf");
    }
    write_entries(&mut app.out, &entries)?;
    args.page.tell_more(app, entries.len() as u64, all)
}
