//! Arguments of the services that other programs than `etui` run. `etui` has them in its help, manual and
//! completions, and starts the program.

pub mod dbus;
pub mod eds;
pub mod remind;
pub mod serve;
pub mod sync;
