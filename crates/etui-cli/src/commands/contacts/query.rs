//! `etui contacts query`: the address book of a mail program.
//!
//! ```text
//! ada@example.org TAB Ada Lovelace TAB Analytical Engines LF      a line for each address
//! ```

use etui::contacts::Card;
use etui::search::query::{Columns, Query};
use etui_program::output::one_line;
use etui_program::{App, Result};

use crate::commands::records::query::query_readers;
use crate::commands::records::{parse_filter, title_of};

const EXAMPLES: &str = "\
Examples:
  etui contacts query ann                    addresses of the contacts that match, the best first
  etui contacts query                        all addresses

A line for each address: the address, the name, and the organisation or the type of the address, with tabs
between them and without a heading. Nothing is printed if nothing matches.

  mutt, neomutt    set query_command = \"echo; etui contacts query %s\"
  aerc             address-book-cmd = etui contacts query \"%s\"
  himalaya (vim)   let g:himalaya_complete_contact_cmd = 'etui contacts query %s'

mutt takes the first line for a message, hence the echo.";

/// Print the e-mail addresses of matching contacts for a mail program
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct QueryAddressesArgs {
    /// Words, as for `find`
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
}

pub fn query_addresses(app: &mut App, args: &QueryAddressesArgs) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let readers = app.readers_in::<Card>(&snapshot)?;
    let words = args.words.iter().map(|word| plain_words(word));
    let words: Vec<String> = words.collect();
    // A mail program passes on what was typed, which need not be a filter.
    let filter = parse_filter::<Card>(&args.words).or_else(|_| parse_filter::<Card>(&words))?;
    let found = query_readers(&readers, &Query::ranked(filter).columns(Columns::NONE))?;
    for (id, of) in found.rows.ids().iter().zip(&found.collections) {
        let Some((_, reader)) = readers.get(*of) else {
            continue;
        };
        let Some(Ok(card)) = reader.get(*id)?.map(|stored| stored.card()) else {
            continue;
        };
        let organization = card.organization().map(|o| o.name).unwrap_or_default();
        for email in card.emails() {
            let extra = match organization.is_empty() {
                true => email.types.join(", "),
                false => organization.clone(),
            };
            let cells = [email.value.trim(), &title_of(&card), &extra].map(|cell| {
                // A tab would begin another column.
                one_line(cell).replace('\t', " ")
            });
            app.out.write_line(cells.join("\t"))?;
        }
    }
    Ok(())
}

/// Replaces the characters with a meaning in filters by blanks.
fn plain_words(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "@._+-'".contains(c);
    let text: String = text
        .chars()
        .map(|c| if is_plain(c) { c } else { ' ' })
        .collect();
    let words = text.split_whitespace();
    let words = words.map(|word| word.trim_start_matches('-'));
    words.collect::<Vec<_>>().join(" ")
}
