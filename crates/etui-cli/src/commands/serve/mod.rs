//! `etui serve`: serves the store to devices over HTTP, or to other programs over D-Bus.

mod dbus;
mod devices;
mod http;
mod qr_code;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use self::devices::{AddDeviceArgs, RemoveDeviceArgs};
use crate::app::App;
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui serve add-device Phone         make a password for your phone
  etui serve                          serve your store on http://127.0.0.1:5233/, until Ctrl-C
  etui serve --tls --listen 0.0.0.0:5233
                                      to your network, with a certificate of its own
  etui serve --listen 0.0.0.0:5233 --cert fullchain.pem --key privkey.pem
                                      ... with your certificate, read again when it changes
  etui serve --unix /run/etui/serve.sock --behind-proxy
                                      behind a reverse proxy on this machine
  etui serve --users /srv/family      ada.etui is the store of the user ada, bob.etui that of bob
  etui serve devices                  list the devices that have a password
  etui serve --dbus                   serve programs on the session bus, until nobody uses it

Phones, Thunderbird and GNOME find contacts and calendars by the address alone (CardDAV, CalDAV).
In a browser it shows today's agenda and a search. The book has the steps for each program, and
recipes for nginx, Caddy, Apache and tunnels (phone.md); for D-Bus see dbus.md.";

/// The port without `--listen`.
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5233);

/// Serve the store to phones and other devices, or to programs over D-Bus
///
/// Serves CardDAV, CalDAV and a web page over HTTP. Creates the store if there is none. Other commands
/// work meanwhile. Each request is a line on standard error, without names or paths of records.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct ServeArgs {
    #[command(subcommand)]
    command: Option<ServeCommand>,
    #[command(flatten)]
    http: HttpArgs,
    /// Serve programs on the session bus instead, by the name org.etui.Store1
    #[arg(
        long,
        conflicts_with_all = ["listen", "unix", "tls", "cert", "key", "behind_proxy", "users"]
    )]
    dbus: bool,
    /// With --dbus: exit after this time without calls, views and imports; 0: never
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    idle_exit: u64,
}

#[derive(Debug, clap::Args)]
struct HttpArgs {
    /// Address and port, or a port of 127.0.0.1; can be repeated [default: 127.0.0.1:5233, without --unix]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_address)]
    listen: Vec<SocketAddr>,
    /// Unix socket, for a reverse proxy on this machine
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,
    /// Encrypt with a certificate of its own, made at the first use; devices ask whether to trust it
    #[arg(long, conflicts_with = "cert")]
    tls: bool,
    /// Encrypt with this certificate (PEM, with those of the authorities in between)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// A reverse proxy in front encrypts, and adds the client to X-Forwarded-For
    #[arg(long)]
    behind_proxy: bool,
    /// Serve all stores in a directory: NAME.etui is that of the user NAME
    #[arg(long, value_name = "DIR")]
    users: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum ServeCommand {
    AddDevice(AddDeviceArgs),
    /// List the devices that have a password
    #[command(after_help = devices::LIST_EXAMPLES)]
    Devices,
    RemoveDevice(RemoveDeviceArgs),
}

pub fn run_command(app: &mut App, args: &ServeArgs) -> Result<()> {
    match &args.command {
        Some(ServeCommand::AddDevice(args)) => devices::add_device(app, args),
        Some(ServeCommand::Devices) => devices::list_devices(app),
        Some(ServeCommand::RemoveDevice(args)) => devices::remove_device(app, args),
        None if args.dbus => dbus::serve_bus(app, args.idle_exit),
        None => http::serve_http(app, &args.http),
    }
}

/// Parses `127.0.0.1:5233`, `[::1]:5233` or `5233`.
fn parse_address(text: &str) -> std::result::Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(DEFAULT_ADDRESS.ip(), port));
    }
    let hint = "write an address and a port, such as 0.0.0.0:5233 or [::]:5233";
    text.parse().map_err(|_| hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text| parse_address(text).map(|address| address.to_string());
        assert_eq!(read("5300").as_deref(), Ok("127.0.0.1:5300"));
        assert_eq!(read("0.0.0.0:80").as_deref(), Ok("0.0.0.0:80"));
        assert_eq!(read("[::1]:80").as_deref(), Ok("[::1]:80"));
        for bad in ["", "localhost:80", "::1:80x", "70000", "0.0.0.0"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
