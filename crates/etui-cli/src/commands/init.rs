//! `etui init`: makes a store.

use etui::Error;

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::InitObject;
use crate::output::shown;

const EXAMPLES: &str = "\
Examples:
  etui init                                  in your data directory
  etui --store work.etui init                in a file of your choice
  etui init --locale sv-SE --region SE       Swedish order, Swedish phone numbers

`etui import`, `etui contacts add` and `etui calendar add` make a store as well when there is none.";

/// Make a store
///
/// It is one file, readable only by you: your address books, your calendars and all that finding
/// needs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Sort as people of this language do, e.g. `de` or `sv-SE` [default: your environment's]
    #[arg(long, value_name = "TAG")]
    locale: Option<String>,
    /// Complete national phone numbers as in this country, e.g. `DE` [default: the locale's]
    #[arg(long, value_name = "CODE")]
    region: Option<String>,
}

/// Makes the store.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let path = app.path()?;
    if path.exists() {
        return Err(Failure::Library(Error::Exists { path }));
    }
    if let Some(code) = &args.region
        && etui::text::phone::Region::parse(code).is_none()
    {
        return Err(Failure::usage(format!(
            "\"{code}\" is not a region; write it as two letters, like DE or US"
        )));
    }
    if let Some(tag) = &args.locale {
        // Told of before there is a file.
        etui::text::collator::Collator::new(tag).map_err(etui::Error::from)?;
    }
    let mut options = app.options();
    options.locale = args.locale.clone();
    options.region = args.region.clone();
    let store = app.open_or_create(&options)?;
    let object = InitObject {
        path: store.path().display().to_string(),
        locale: store.locale()?,
        region: store.region()?.map(|r| r.code().to_owned()),
    };
    store.close()?;
    if app.out.json {
        return app.out.object(&object);
    }
    app.out
        .say(format!("Made a store: {}", shown(&object.path)))?;
    app.out.say(format!(
        "Lists are sorted for {}; {}.",
        object.locale,
        match &object.region {
            Some(region) => format!("phone numbers without a country belong to {region}"),
            None => "no region completes national phone numbers".to_owned(),
        }
    ))?;
    app.out.say("Next: etui import contacts.vcf calendar.ics")
}
