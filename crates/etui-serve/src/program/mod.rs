//! The program `etui-serve`: the server, and the devices that may use it.

mod accounts;
mod announce;
mod browser_login;
mod connection;
mod devices;
mod folder;
mod home;
mod http;
mod iphone;
mod people;
mod profile;
mod qr_code;
mod secret;
mod subscribe;
mod sync;
mod vdirsyncer;

use etui_program::services::serve::{ServeArgs, ServeCommand};
use etui_program::{App, Result};

pub use sync::run as sync;

/// Runs `etui serve`, or one of its commands.
pub fn run(app: &mut App, args: &ServeArgs) -> Result<()> {
    match &args.command {
        Some(ServeCommand::AddDevice(args)) => devices::add_device(app, args),
        Some(ServeCommand::Devices) => devices::list_devices(app),
        Some(ServeCommand::ChangeDevice(args)) => devices::change_device(app, args),
        Some(ServeCommand::RemoveDevice(args)) => devices::remove_device(app, args),
        Some(ServeCommand::AddPerson(args)) => people::add_person(app, args),
        Some(ServeCommand::People(args)) => people::list_people(app, args),
        Some(ServeCommand::Share(args)) => people::share(app, args),
        Some(ServeCommand::Unshare(args)) => people::unshare(app, args),
        Some(ServeCommand::Shares) => people::list_shares(app),
        None => http::serve_http(app, &args.http),
    }
}
