//! The program `etui-serve`: the server, and the devices that may use it.

mod devices;
mod http;
mod qr_code;

use etui_program::services::serve::{ServeArgs, ServeCommand};
use etui_program::{App, Result};

/// Runs `etui serve`, or one of its commands.
pub fn run(app: &mut App, args: &ServeArgs) -> Result<()> {
    match &args.command {
        Some(ServeCommand::AddDevice(args)) => devices::add_device(app, args),
        Some(ServeCommand::Devices) => devices::list_devices(app),
        Some(ServeCommand::RemoveDevice(args)) => devices::remove_device(app, args),
        None => http::serve_http(app, &args.http),
    }
}
