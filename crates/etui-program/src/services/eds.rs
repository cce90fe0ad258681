//! Arguments of `etui eds`, which `etui-session` runs.

use std::path::PathBuf;

use crate::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  etui eds status                  who serves, and what has changed since
  etui eds try                     use the store until logout
  etui eds on                      use the store for good
  etui eds off                     give every change back to the stock server
  etui eds serve                   serve the store until Ctrl-C

`on`, `try` and `off` ask first; without a terminal they need --yes. Programs that have address books or
calendars open are named, and are to be closed and started again. One store serves at a time. `off` is for
all sessions of the user; run it before etui is removed.

If it goes wrong: remove org.gnome.evolution.dataserver.*.service from
~/.local/share/dbus-1/services and log in again; the stock server serves then.";

/// Serve the store to desktop programs, as Evolution Data Server
///
/// GNOME Contacts and Calendar, Evolution and other programs then use the store, unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EdsArgs {
    #[command(subcommand)]
    /// The command.
    pub command: EdsCommand,
}

/// What is done.
#[derive(Debug, clap::Subcommand)]
pub enum EdsCommand {
    /// Show who serves, and what has changed since switching on
    Status,
    /// Use the store until logout
    Try(SwitchArgs),
    /// Use the store for good
    On(SwitchArgs),
    /// Give every change back to the stock server, which serves again
    Off(SwitchArgs),
    /// Serve the store on the session bus
    Serve(EdsServeArgs),
}

/// Options of switching.
#[derive(Debug, clap::Args)]
pub struct SwitchArgs {
    /// Show what would happen and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// The side that counts where both changed a record
    #[arg(long, value_name = "SIDE")]
    pub prefer: Option<PreferredSide>,
}

/// The side that counts where both changed a record.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum PreferredSide {
    /// The stock server
    Stock,
    /// The store
    Store,
}

/// Serve the store on the session bus
///
/// Started by the bus when a program asks for an address book or a calendar.
#[derive(Debug, clap::Args)]
pub struct EdsServeArgs {
    /// Take the names from the stock server if it has them
    #[arg(long)]
    pub replace: bool,
    /// Exit after this many seconds with nothing open; 0: never
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub idle_exit: u64,
    /// Directory for pictures that programs read [default: etui/eds in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Exit if the store was switched off; in the service files
    #[arg(long, hide = true)]
    pub if_on: bool,
    /// Leave every source to the stock server's backends
    #[arg(long, hide = true)]
    pub pass_through: bool,
}

/// Removes the files of contacts' pictures, which are made again when a program asks for one.
pub fn forget_pictures() -> Result<()> {
    // Without a home directory there are none.
    let Ok(cache) = default_cache_dir() else {
        return Ok(());
    };
    let pictures = cache.join("pictures");
    match std::fs::remove_dir_all(&pictures) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Failure::io(&pictures, e)),
        _ => Ok(()),
    }
}

/// `etui/eds` in the user's cache directory (XDG Base Directory Specification): what desktop programs read is there.
pub fn default_cache_dir() -> Result<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("etui/eds"))
        .ok_or_else(|| {
            Failure::usage("there is no home directory for pictures; set --cache-dir DIR")
        })
}
