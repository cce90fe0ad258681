//! `etui contacts books`: address books.

use etui::contacts::Card;

use crate::app::App;
use crate::commands::collections::CollectionsArgs;
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui contacts books                            which there are, and how many contacts they have
  etui contacts books create Work
  etui --book Work import colleagues.vcf
  etui contacts books rename Work \"Old job\"
  etui contacts books remove \"Old job\"
  etui contacts books removed                    which can be brought back, and until when
  etui contacts books restore \"Old job\"

The first one is used where none is named; when it is removed, the next one is. The last one stays.
Removed address books come back with the contacts that were removed with them.";

/// List address books; make, rename, remove one, bring one back
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    holders: CollectionsArgs<Card>,
}

/// Lists them, or does what was asked with one.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    args.holders.run(app)
}
