//! `etui contacts books`: address books.

use crate::app::App;
use crate::errors::Result;
use crate::output::json::BookObject;
use crate::output::{Table, count, one_line, quoted};

const EXAMPLES: &str = "\
Examples:
  etui contacts books
  etui contacts books --create Work
  etui --book Work import colleagues.vcf";

/// List address books, or make one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Make an address book of this name
    #[arg(long, value_name = "NAME")]
    create: Option<String>,
}

/// Lists them, or makes one.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    if let Some(name) = &args.create {
        let store = app.open_to_write()?;
        store.create_address_book(name)?;
        store.close()?;
        if app.out.json {
            return app.out.object(&BookObject { name, contacts: 0 });
        }
        return app.out.say(format!(
            "Made an address book: {} (use it with --book {})",
            one_line(name),
            quoted(name)
        ));
    }
    let store = app.open_to_read()?;
    let mut table = Table::new(&["Contacts", "Address book"]);
    for name in store.address_books()? {
        let contacts = store.address_book(&name)?.count()?;
        if app.out.json {
            app.out.object(&BookObject {
                name: &name,
                contacts,
            })?;
        } else {
            table.row([count(contacts).as_str(), &name]);
        }
    }
    if app.out.json {
        return Ok(());
    }
    table.write(&mut app.out)
}
