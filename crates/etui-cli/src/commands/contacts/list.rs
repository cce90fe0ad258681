//! `etui contacts list`.

use etui::contacts::Card;

use crate::app::App;
use crate::commands::records::pager;
use crate::commands::records::query::QueryArgs;
use crate::errors::Result;
use crate::output::Table;
use crate::output::json::LetterJson;

#[derive(Debug, clap::Args)]
pub struct ListContactsArgs {
    #[command(flatten)]
    query: QueryArgs<Card>,
    /// Print the position of the first name of each letter
    #[arg(
        long,
        conflicts_with_all = ["fields", "sort", "limit", "all", "at", "after"]
    )]
    letters: bool,
    /// Print the list on a terminal too, instead of opening the pager
    #[arg(long)]
    no_pager: bool,
}

pub fn list_contacts(app: &mut App, args: &ListContactsArgs) -> Result<()> {
    let store = app.open_to_read()?;
    let book = app.address_book(&store)?;
    if args.letters {
        return write_letters(app, &book.letters()?);
    }
    if book.count()? == 0 && !app.out.json {
        return app
            .out
            .status("No contacts yet. Import some: etui import contacts.vcf");
    }
    let is_plain = args.no_pager || app.out.json || !args.query.is_default();
    if !is_plain && pager::is_possible(&app.out) {
        return pager::run_pager(app, &book);
    }
    let snapshot = store.snapshot()?;
    let readers = [(String::new(), snapshot.collection(app.address_book_name())?)];
    args.query.list_records(app, &readers)
}

fn write_letters(app: &mut App, letters: &[etui::contacts::Letter]) -> Result<()> {
    if app.out.json {
        return letters.iter().try_for_each(|letter| {
            app.out.write_json(&LetterJson {
                letter: &letter.label,
                position: letter.position,
            })
        });
    }
    let mut table = Table::new(&["Position", "Letter"]);
    for letter in letters {
        table.add_row([letter.position.to_string().as_str(), &letter.label]);
    }
    table.write_to(&mut app.out)
}
