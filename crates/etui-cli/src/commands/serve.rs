//! `etui serve`: serves the store to other programs.

use std::time::Duration;

use etui_dbus::{ServeError, ServeOptions};

use crate::app::{App, create_parent_dir};
use crate::errors::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  etui serve --dbus                   serve your store on the session bus, until nobody uses it
  etui serve --dbus --idle-exit 0     ... until Ctrl-C
  etui --store work.etui serve --dbus
  busctl --user introspect org.etui.Store1 /org/etui/Store1
                                      show what programs can ask for
  busctl --user call org.etui.Store1 /org/etui/Store1 org.etui.Store1 Collections s ''
                                      list address books and calendars

The session bus starts the service itself if the file org.etui.Store1.service is in
~/.local/share/dbus-1/services. Methods, errors and examples in Python are in the book (dbus.md).";

/// Serve the store to other programs over D-Bus
///
/// Takes the name org.etui.Store1 on the session bus. Creates the store if there is none. Other
/// commands work meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Serve on the session bus
    #[arg(long)]
    dbus: bool,
    /// Exit after this time without calls, views and imports; 0: never
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    idle_exit: u64,
}

pub fn serve_store(app: &App, args: &ServeArgs) -> Result<()> {
    if !args.dbus {
        return Err(Failure::usage(
            "say over what to serve: `etui serve --dbus` serves on the session bus",
        ));
    }
    let store = app.store_path()?;
    create_parent_dir(&store)?;
    let mut options = app.store_options()?;
    options.create = true;
    let idle = Duration::from_secs(args.idle_exit);
    let served = etui_dbus::serve(ServeOptions {
        store,
        options,
        address: None,
        idle_exit: (!idle.is_zero()).then_some(idle),
        end_on_signals: true,
    });
    served.map_err(|error| match error {
        ServeError::Store(error) => error.into(),
        other => Failure::Other(other.to_string()),
    })
}
