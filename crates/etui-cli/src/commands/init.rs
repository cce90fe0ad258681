//! `etui init`: creates a store.

use etui::Error;
use etui_program::output::{escape_text, object};
use etui_program::{App, Failure, Result};

const EXAMPLES: &str = "\
Examples:
  etui init                                  in your data directory
  etui --store work.etui init                in a file of your choice
  etui init --locale sv-SE --region SE       Swedish sort order and phone numbers

`etui import`, `etui contacts add` and `etui calendar add` also create a store if there is none.";

/// Create a store
///
/// A store is one file, readable only by you, with address books, calendars and their search index.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct InitArgs {
    /// Locale of the sort order, e.g. de or sv-SE [default: the environment's]
    #[arg(long, value_name = "TAG")]
    locale: Option<String>,
    /// Region of phone numbers without a country code, e.g. DE [default: the locale's]
    #[arg(long, value_name = "CODE")]
    region: Option<String>,
}

pub fn create_store(app: &mut App, args: &InitArgs) -> Result<()> {
    let path = app.store_path()?;
    if path.exists() {
        return Err(Failure::Library(Error::Exists(path)));
    }
    if let Some(code) = &args.region
        && etui::text::phone::Region::parse(code).is_none()
    {
        return Err(Failure::usage(format!(
            "\"{code}\" is not a region; use two letters, like DE or US"
        )));
    }
    if let Some(tag) = &args.locale {
        // Reject a bad locale before the file exists.
        etui::text::collator::Collator::new(tag).map_err(etui::Error::from)?;
    }
    let mut options = app.store_options();
    options.locale = args.locale.clone();
    options.region = args.region.clone();
    let store = app.open_or_create(options)?;
    let path = store.path().display().to_string();
    let (locale, region) = (store.settings().locale, store.settings().region);
    store.close()?;
    let numbers = match &region {
        Some(region) => format!(
            "phone numbers without a country code are in {}",
            region.code()
        ),
        None => "no region for phone numbers without a country code".to_owned(),
    };
    let text = format!(
        "Created a store: {}\nSort order: {locale}; {numbers}.\n\
         Next: etui import contacts.vcf calendar.ics",
        escape_text(&path)
    );
    let region = region.map(|region| region.code().to_owned());
    app.out.report(
        &object! { path: path, locale: locale, region: region },
        text,
    )
}
