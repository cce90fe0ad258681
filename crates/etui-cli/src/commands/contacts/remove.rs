//! `etui contacts remove`: into the trash.

use super::{each_once, name_of, resolve};
use crate::app::App;
use crate::errors::Result;
use crate::output::json::DoneObject;
use crate::output::one_line;

const EXAMPLES: &str = "\
Examples:
  etui contacts remove 17
  etui contacts remove 17 18 19
  etui contacts restore 17                   bring it back, within 30 days

If one of them is not there, none is removed.";

/// Remove contacts
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Numbers or UIDs
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// Removes them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = app.open_to_write()?;
    let book = app.book(&store)?;
    let contacts = each_once(&args.ids, |id| resolve(&book, id))?;
    let uids: Vec<&str> = contacts.iter().map(|c| c.uid.as_str()).collect();
    book.remove_many(&uids)?;
    for contact in &contacts {
        let name = name_of(contact);
        if app.out.json {
            app.out.object(&DoneObject {
                id: contact.id.0,
                uid: &contact.uid,
                etag: None,
                name: &name,
                outcome: "removed",
            })?;
        } else {
            app.out
                .say(format!("Removed {}: {}", contact.id, one_line(&name)))?;
        }
    }
    store.close()?;
    let ids: Vec<String> = contacts.iter().map(|c| c.id.to_string()).collect();
    app.out.say(format!(
        "Bring back: etui contacts restore {}",
        ids.join(" ")
    ))
}
