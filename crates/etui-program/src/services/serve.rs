//! Arguments of `etui serve`, which `etui-serve` runs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

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
  etui --store /srv/family/ada.etui serve share Family --with bob --write
                                      bob sees ada's calendar Family, and may change it

Phones, Thunderbird and GNOME find contacts and calendars by the address alone (CardDAV, CalDAV).
In a browser it shows today's agenda and a search. The book has the steps for each program
(phone.md), and recipes for nginx, Caddy, Apache and tunnels (server.md).";

/// The port without `--listen`.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5233);

/// Serve the store to phones and other devices
///
/// Serves CardDAV, CalDAV and a web page over HTTP. Creates the store if there is none. Other commands
/// work meanwhile. Each request is a line on standard error, without names or paths of records.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct ServeArgs {
    #[command(subcommand)]
    /// The command; none: serve.
    pub command: Option<ServeCommand>,
    #[command(flatten)]
    /// Options of the server.
    pub http: HttpArgs,
}

/// How devices reach the server.
#[derive(Debug, clap::Args)]
pub struct HttpArgs {
    /// Address and port, or a port of 127.0.0.1; can be repeated [default: 127.0.0.1:5233, without --unix]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_address)]
    pub listen: Vec<SocketAddr>,
    /// Unix socket, for a reverse proxy on this machine
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,
    /// Encrypt with a certificate of its own, for the home network; devices ask whether to trust it
    #[arg(long, conflicts_with = "cert")]
    pub tls: bool,
    /// Encrypt with this certificate (PEM, with those of the authorities in between)
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// A reverse proxy in front encrypts, and adds the client to X-Forwarded-For
    #[arg(long)]
    pub behind_proxy: bool,
    /// Announce the server in the local network (mDNS, by Avahi)
    #[arg(long, conflicts_with_all = ["behind_proxy", "stdio"])]
    pub announce: bool,
    /// Serve whoever started it over standard input and output: for etui sync add ssh://HOST
    #[arg(long, conflicts_with_all = ["listen", "unix", "tls", "cert", "behind_proxy", "users"])]
    pub stdio: bool,
    /// Serve all stores in a directory: NAME.etui is that of the user NAME
    #[arg(long, value_name = "DIR")]
    pub users: Option<PathBuf>,
}

/// What is done instead of serving.
#[derive(Debug, clap::Subcommand)]
pub enum ServeCommand {
    // Its help is that of its arguments.
    #[allow(missing_docs)]
    AddDevice(AddDeviceArgs),
    /// List the devices that have a password
    #[command(after_help = LIST_EXAMPLES)]
    Devices,
    #[allow(missing_docs)]
    ChangeDevice(ChangeDeviceArgs),
    #[allow(missing_docs)]
    RemoveDevice(RemoveDeviceArgs),
    #[allow(missing_docs)]
    AddPerson(AddPersonArgs),
    #[allow(missing_docs)]
    People(PeopleArgs),
    #[allow(missing_docs)]
    Share(ShareArgs),
    #[allow(missing_docs)]
    Unshare(UnshareArgs),
    /// List the address books and calendars that are shared with others, and by them
    #[command(after_help = SHARES_EXAMPLES)]
    Shares,
}

const ADD_EXAMPLES: &str = "\
Examples:
  etui serve add-device Laptop                 for programs on this machine
  etui serve add-device Phone --url https://dav.example.org
                                               with a QR code for DAVx5
  etui serve add-device Phone --iphone --url https://192.168.1.20:5233
                                               with a profile for iPhone, iPad and Mac
  etui serve add-device Frame --read-only --only Family
                                               sees only the collection Family
  etui serve add-device Work --read Family     may change all but Family
  etui --store family/ada.etui serve add-device Phone
                                               for a store that `etui serve --users family` serves

The password is shown once; the store keeps a hash of it. Each device gets its own, so that a lost
one is removed by itself. On the device enter address, user and password; it finds the rest.";

const LIST_EXAMPLES: &str = "\
Examples:
  etui serve devices
  etui serve devices --json
  etui serve remove-device Phone       if it is lost

The time of use is recorded once a day.";

const REMOVE_EXAMPLES: &str = "\
Examples:
  etui serve remove-device Phone
  etui serve add-device Phone          give it a new password

The password is refused from the next request on, also by a running server. The data on the device
stay there.";

/// Make a password for a device, with which it may use the store
#[derive(Debug, clap::Args)]
#[command(after_help = ADD_EXAMPLES)]
pub struct AddDeviceArgs {
    /// Its name, as it is listed and logged
    pub name: String,
    /// Address at which the device reaches `etui serve` [default: http://127.0.0.1:5233/]
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    pub url: Option<ServerUrl>,
    /// Offer a profile for iPhone, iPad or Mac: once, for ten minutes, at an address that the server answers
    #[arg(long, requires = "url")]
    pub iphone: bool,
    /// Write the profile to a file instead, for AirDrop or a Mac; it has the password
    #[arg(long, value_name = "FILE", requires = "iphone")]
    pub profile: Option<PathBuf>,
    /// It may read, and not change anything
    #[arg(long)]
    pub read_only: bool,
    /// It sees only the address book or calendar of this name; can be repeated
    #[arg(long, value_name = "COLLECTION")]
    pub only: Vec<String>,
    /// It may read, and not change, the address book or calendar of this name; can be repeated
    #[arg(long, value_name = "COLLECTION")]
    pub read: Vec<String>,
}

const CHANGE_EXAMPLES: &str = "\
Examples:
  etui serve change-device Phone --read-only
  etui serve change-device Phone --all          sees everything again, and may change it
  etui serve change-device Frame --only Family --only Birthdays
  etui serve change-device Phone --read Work    may change all but Work

The rights are those that are named, and no others; the password stays. They count from the next request
on, also in a running server.";

/// Change the rights of a device, which keeps its password
#[derive(Debug, clap::Args)]
#[command(after_help = CHANGE_EXAMPLES)]
#[command(group = clap::ArgGroup::new("rights").required(true).multiple(true).args(["all", "read_only", "only", "read"]))]
pub struct ChangeDeviceArgs {
    /// Its name, as `devices` lists it
    pub name: String,
    /// It sees and may change everything
    #[arg(long, conflicts_with_all = ["read_only", "only", "read"])]
    pub all: bool,
    /// It may read, and not change anything
    #[arg(long)]
    pub read_only: bool,
    /// It sees only the address book or calendar of this name; can be repeated
    #[arg(long, value_name = "COLLECTION")]
    pub only: Vec<String>,
    /// It may read, and not change, the address book or calendar of this name; can be repeated
    #[arg(long, value_name = "COLLECTION")]
    pub read: Vec<String>,
}

const ADD_PERSON_EXAMPLES: &str = "\
Examples:
  etui serve add-person ada --users /srv/family
  etui --store /srv/family/ada.etui serve add-device Phone --url https://dav.example.org
                                                the next step: a password for each device
  etui serve --users /srv/family                serve everybody in the directory

A person is a store in the directory: ada.etui. A running server serves it at once. An existing store is
put there by copying it: etui backup /srv/family/ada.etui";

/// Add a person to a directory of stores
#[derive(Debug, clap::Args)]
#[command(after_help = ADD_PERSON_EXAMPLES)]
pub struct AddPersonArgs {
    /// The name with which the person's devices log in: letters, digits, \".\", \"_\" and \"-\"
    pub name: String,
    /// The directory that `etui serve --users` serves; it is made if there is none
    #[arg(long = "users", value_name = "DIR", id = "directory")]
    pub users: PathBuf,
}

const PEOPLE_EXAMPLES: &str = "\
Examples:
  etui serve people --users /srv/family
  etui serve people --users /srv/family --json";

/// List the people of a directory of stores, their devices, and what they share
#[derive(Debug, clap::Args)]
#[command(after_help = PEOPLE_EXAMPLES)]
pub struct PeopleArgs {
    /// The directory that `etui serve --users` serves
    #[arg(long = "users", value_name = "DIR", id = "directory")]
    pub users: PathBuf,
}

const SHARE_EXAMPLES: &str = "\
Examples:
  etui --store /srv/family/ada.etui serve share Family --with bob
                                                bob sees ada's calendar Family among his own
  etui --store /srv/family/ada.etui serve share Family --with bob --write
                                                ... and may change it
  etui --store /srv/family/ada.etui serve shares

The collection stays in the store of its owner, who alone can remove it; the other person's devices see it
after their next synchronisation. Entries of CLASS:PRIVATE are not there for others, and of those of
CLASS:CONFIDENTIAL only the times. The other person can give it another name and colour.";

/// Share an address book or calendar with another person of the same directory
#[derive(Debug, clap::Args)]
#[command(after_help = SHARE_EXAMPLES)]
pub struct ShareArgs {
    /// The name of the address book or calendar
    pub collection: String,
    /// The other person; can be repeated
    #[arg(long, value_name = "PERSON", required = true)]
    pub with: Vec<String>,
    /// The other person may change it, not only read it
    #[arg(long)]
    pub write: bool,
}

const UNSHARE_EXAMPLES: &str = "\
Examples:
  etui --store /srv/family/ada.etui serve unshare Family --with bob

It is refused from the next request on. What bob's devices have copied stays there until they look again.";

/// Share an address book or calendar no longer
#[derive(Debug, clap::Args)]
#[command(after_help = UNSHARE_EXAMPLES)]
pub struct UnshareArgs {
    /// The name of the address book or calendar
    pub collection: String,
    /// The other person; can be repeated
    #[arg(long, value_name = "PERSON", required = true)]
    pub with: Vec<String>,
}

const SHARES_EXAMPLES: &str = "\
Examples:
  etui --store /srv/family/ada.etui serve shares
  etui --store /srv/family/ada.etui serve shares --json";

/// Remove a device: its password is refused from now on
#[derive(Debug, clap::Args)]
#[command(after_help = REMOVE_EXAMPLES, visible_alias = "rm-device")]
pub struct RemoveDeviceArgs {
    /// Its name, as `devices` lists it
    pub name: String,
}

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    /// Whether it is one of HTTPS.
    pub is_encrypted: bool,
    /// Host, port and path, with a slash at the end.
    pub rest: String,
}

impl ServerUrl {
    /// Returns it as a browser takes it.
    pub fn text(&self) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        format!("{scheme}://{}", self.rest)
    }

    /// Returns the host, without brackets, and the port; `None` if there are none.
    ///
    /// ```
    /// # use etui_program::services::serve::ServerUrl;
    /// let url = |rest: &str| ServerUrl { is_encrypted: true, rest: rest.to_owned() };
    /// assert_eq!(url("[::1]:5233/").host_and_port(), Some(("::1".to_owned(), 5233)));
    /// assert_eq!(url("Pc.Local/").host_and_port(), Some(("pc.local".to_owned(), 443)));
    /// assert_eq!(url(":5233/").host_and_port(), None);
    /// ```
    pub fn host_and_port(&self) -> Option<(String, u16)> {
        let place = self.rest.split('/').next()?;
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => place.split_at(place.find(':').unwrap_or(place.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().ok()?,
            None if !port.is_empty() => return None,
            None if self.is_encrypted => 443,
            None => 80,
        };
        (!host.is_empty()).then(|| (host.to_ascii_lowercase(), port))
    }

    /// Returns the link that DAVx5 opens, with user and password.
    pub fn link(&self, user: &str, password: &str) -> String {
        let scheme = if self.is_encrypted {
            "caldavs"
        } else {
            "caldav"
        };
        format!("{scheme}://{user}:{password}@{}", self.rest)
    }
}

/// Parses `https://dav.example.org`.
fn parse_url(text: &str) -> std::result::Result<ServerUrl, String> {
    let hint = "write it like https://dav.example.org/";
    let (scheme, rest) = text.split_once("://").ok_or(hint)?;
    let is_encrypted = match scheme.to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return Err(hint.to_owned()),
    };
    let is_plain =
        |c: char| c.is_ascii_graphic() && !matches!(c, '@' | '?' | '#' | '"' | '<' | '>');
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() || !rest.chars().all(is_plain) {
        return Err(hint.to_owned());
    }
    Ok(ServerUrl {
        is_encrypted,
        rest: format!("{}/", rest.trim_end_matches('/')),
    })
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
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn addresses_become_links() {
        let url = parse_url("https://dav.example.org").unwrap();
        assert_eq!(url.text(), "https://dav.example.org/");
        assert_eq!(url.link("ada", "1-2"), "caldavs://ada:1-2@dav.example.org/");
        let url = parse_url("HTTP://192.0.2.1:5233/").unwrap();
        assert_eq!(url.link("ada", "1"), "caldav://ada:1@192.0.2.1:5233/");
        for bad in [
            "",
            "dav.example.org",
            "ftp://x",
            "https://",
            "https:///x",
            "https://a@b",
            "https://a b",
        ] {
            assert!(parse_url(bad).is_err(), "{bad}");
        }
    }

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
