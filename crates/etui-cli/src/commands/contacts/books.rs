//! `etui contacts books`: address books.

use etui::contacts::Card;

use crate::app::App;
use crate::commands::records::holders::{create, list};
use crate::errors::Result;

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
    match &args.create {
        Some(name) => create::<Card>(app, name),
        None => list::<Card>(app),
    }
}
