//! Arguments of `etui dbus`, which `etui-session` runs.

const EXAMPLES: &str = "\
Examples:
  etui dbus                           until nobody has used it for a minute
  etui dbus --idle-exit 0             until Ctrl-C
  busctl --user tree org.etui.Store1

The bus starts it when a program asks for org.etui.Store1, once the service file is installed. The book has
the interfaces, and examples in Python (dbus.md).";

/// Serve the store to programs on the session bus, by the name org.etui.Store1
///
/// Creates the store if there is none. Other commands work meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DbusArgs {
    /// Exit after this time without calls, views and imports; 0: never
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub idle_exit: u64,
}
