//! `etui eds serve`: the service itself; the bus starts it.

use std::path::PathBuf;
use std::time::Duration;

use etui_eds::server::{ServeError, ServeOptions, serve};

use crate::app::{App, create_parent_dir};
use crate::errors::{Failure, Result};

/// Serve the store on the session bus
///
/// Started by the bus when a program asks for an address book or a calendar.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Take the names from the stock server if it has them
    #[arg(long)]
    replace: bool,
    /// Exit after this many seconds with nothing open; 0: never
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    idle_exit: u64,
    /// Directory for pictures that programs read [default: etui/eds in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Exit if the store was switched off; in the service files
    #[arg(long, hide = true)]
    if_on: bool,
    /// Leave every source to the stock server's backends
    #[arg(long, hide = true)]
    pass_through: bool,
}

pub fn serve_store(app: &mut App, args: &ServeArgs) -> Result<()> {
    etui::set_default_actor("Evolution Data Server");
    let store = app.store_path()?;
    let mut options = app.store_options();
    options.create = true;
    create_parent_dir(&store)?;
    let idle_exit = (args.idle_exit > 0).then(|| Duration::from_secs(args.idle_exit));
    let cache_dir = match &args.cache_dir {
        Some(dir) => dir.clone(),
        None => default_cache_dir()?,
    };
    serve(ServeOptions {
        store,
        options,
        replace: args.replace,
        idle_exit,
        cache_dir,
        only_if_on: args.if_on,
        pass_through: args.pass_through,
    })
    .map_err(|error| match error {
        ServeError::Store(error) => Failure::Library(error),
        other => Failure::Other(other.to_string()),
    })
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

/// `etui/eds` in the user's cache directory (XDG Base Directory Specification).
fn default_cache_dir() -> Result<PathBuf> {
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
