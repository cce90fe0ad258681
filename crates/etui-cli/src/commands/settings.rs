//! `etui settings`: shows and changes the locale and the region of the store.

use etui::text::phone::Region;
use etui_program::output::object;
use etui_program::{App, Failure, Result};

const EXAMPLES: &str = "\
Examples:
  etui settings                   show locale and region
  etui settings region DE         complete phone numbers without a country code as German ones
  etui settings region none       do not complete them
  etui settings locale sv-SE      sort lists in Swedish order

A change reindexes all records, in one transaction. Programs that have the store open, such as
`etui serve`, must be restarted before they can save again.";

/// Show or change the locale and the region of the store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SettingsArgs {
    #[command(subcommand)]
    setting: Option<Setting>,
}

#[derive(Debug, clap::Subcommand)]
enum Setting {
    /// Set the region of phone numbers without a country code
    #[command(after_help = "Examples:\n  etui settings region DE\n  etui settings region none")]
    Region {
        /// Two letters (ISO 3166-1), or none
        #[arg(value_name = "CODE", value_parser = parse_region)]
        region: RegionArg,
    },
    /// Set the locale of the sort order
    #[command(after_help = "Examples:\n  etui settings locale de\n  etui settings locale sv-SE")]
    Locale {
        /// Language tag (BCP 47)
        #[arg(value_name = "TAG")]
        locale: String,
    },
}

/// A region, or `none`.
#[derive(Debug, Clone, Copy)]
struct RegionArg(Option<Region>);

fn parse_region(text: &str) -> std::result::Result<RegionArg, String> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(RegionArg(None));
    }
    let region = Region::parse(text);
    let region = region.ok_or("a region has two letters, like DE or US; or none")?;
    Ok(RegionArg(Some(region)))
}

pub fn run_settings(app: &mut App, args: &SettingsArgs) -> Result<()> {
    let Some(setting) = &args.setting else {
        let store = app.open_to_read()?;
        let (locale, region) = (store.settings().locale, store.settings().region);
        let text = format!("Locale  {locale}\nRegion  {}", region_name(region));
        return write_settings(app, &locale, region, &text);
    };
    let store = app.open_to_write()?;
    let (old_locale, old_region) = (store.settings().locale, store.settings().region);
    let (locale, region, text) = match setting {
        Setting::Region {
            region: RegionArg(region),
        } => {
            let [old, new] = [old_region, *region].map(region_name);
            (
                old_locale,
                *region,
                format!("Region: {new} (before: {old})"),
            )
        }
        Setting::Locale { locale } => {
            let text = format!("Locale: {locale} (before: {old_locale})");
            (locale.clone(), old_region, text)
        }
    };
    store
        .change_settings(&locale, region)
        .map_err(Failure::from)?;
    write_settings(app, &locale, region, &text)
}

fn write_settings(app: &mut App, locale: &str, region: Option<Region>, text: &str) -> Result<()> {
    if app.out.json {
        let region = region.map(|region| region.code().to_owned());
        return app
            .out
            .write_json(&object! { locale: locale, region: region });
    }
    app.out.write_line(text)
}

/// Returns the code of a region, or `none`.
pub fn region_name(region: Option<Region>) -> String {
    region.map_or_else(|| "none".to_owned(), |region| region.code().to_owned())
}
