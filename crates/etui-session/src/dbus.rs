//! `etui dbus`: the store for programs on the session bus.

use std::time::Duration;

use etui_dbus::{ServeError, ServeOptions};
use etui_program::{App, Failure, Result, create_parent_dir};

use etui_program::services::dbus::DbusArgs;

/// Serves the store on the session bus, until nobody has used it for `--idle-exit` seconds.
pub fn serve_bus(app: &App, args: &DbusArgs) -> Result<()> {
    etui::set_default_actor("D-Bus");
    let store = app.store_path()?;
    create_parent_dir(&store)?;
    let mut options = app.store_options();
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
