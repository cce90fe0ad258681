//! `etui serve add-device`, `devices` and `remove-device`.

use std::collections::{BTreeMap, HashSet};

use etui::calendar::CalendarObject;
use etui::calendar::time::TimeZone;
use etui::contacts::Card;
use etui::record::RecordKind;
use etui::store::{Device, DeviceAccess};
use etui::{Error, Store};
use etui_serve::user_name_of;
use serde::Serialize;

use super::DEFAULT_ADDRESS;
use super::qr_code::qr_code;
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::object;
use crate::output::{Table, one_line, quote_operand};
use etui_when::{format_minute, iso_instant};

const ADD_EXAMPLES: &str = "\
Examples:
  etui serve add-device Laptop                 for programs on this machine
  etui serve add-device Phone --url https://dav.example.org
                                               with a QR code for DAVx5
  etui serve add-device Frame --read-only --only Family
                                               sees only the collection Family
  etui --store family/ada.etui serve add-device Phone
                                               for a store that `etui serve --users family` serves

The password is shown once; the store keeps a hash of it. Each device gets its own, so that a lost
one is removed by itself. On the device enter address, user and password; it finds the rest.";

pub const LIST_EXAMPLES: &str = "\
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
    name: String,
    /// Address at which the device reaches `etui serve` [default: http://127.0.0.1:5233/]
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    url: Option<ServerUrl>,
    /// It may read, and not change anything
    #[arg(long)]
    read_only: bool,
    /// It sees only the address book or calendar of this name; can be repeated
    #[arg(long, value_name = "COLLECTION")]
    only: Vec<String>,
}

/// Remove a device: its password is refused from now on
#[derive(Debug, clap::Args)]
#[command(after_help = REMOVE_EXAMPLES, visible_alias = "rm-device")]
pub struct RemoveDeviceArgs {
    /// Its name, as `devices` lists it
    name: String,
}

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ServerUrl {
    is_encrypted: bool,
    /// Host, port and path, with a slash at the end.
    rest: String,
}

impl ServerUrl {
    fn text(&self) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        format!("{scheme}://{}", self.rest)
    }

    /// Returns the link that DAVx5 opens, with user and password.
    fn link(&self, user: &str, password: &str) -> String {
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

pub fn add_device(app: &mut App, args: &AddDeviceArgs) -> Result<()> {
    let store = app.open_or_create(app.store_options())?;
    let access = DeviceAccess {
        is_read_only: args.read_only,
        only: match args.only.is_empty() {
            true => None,
            false => Some(find_collections(&store, &args.only)?),
        },
    };
    let password = store.add_device(&args.name, &access)?.to_string();
    let user = user_name_of(store.path());
    store.close()?;
    let url = args.url.clone().unwrap_or_else(|| ServerUrl {
        is_encrypted: false,
        rest: format!("{DEFAULT_ADDRESS}/"),
    });
    let (address, link) = (url.text(), url.link(&user, &password));
    if app.out.json {
        let only = (!args.only.is_empty()).then_some(&args.only);
        return app.out.write_json(&object! {
            name: &args.name, read_only: args.read_only, only: only,
            address: address, user: user, password: password, link: link
        });
    }
    let name = one_line(&args.name);
    app.out.status(format!("Added the device {name}\n"))?;
    for (label, value) in [
        ("Address", &address),
        ("User", &user),
        ("Password", &password),
    ] {
        app.out.write_line(format!("  {label:<8}  {value}"))?;
    }
    if args.url.is_some() && app.out.terminal {
        app.out
            .status("\nFor DAVx5, scan this with the phone's camera:\n")?;
        app.out.write_line(qr_code(&link, app.out.colour)?)?;
    }
    app.out.status(match args.url {
        Some(_) if app.out.terminal => "\nThe password is shown only now.",
        Some(_) => {
            "\nThe password is shown only now. On a terminal there is a QR code too; `--json` has its text, `link`."
        }
        None => {
            "\nThe password is shown only now. This address is for programs on this machine; for others \
             give\ntheirs with --url."
        }
    })
}

/// Returns the ids of the address books and calendars with these names.
fn find_collections(store: &Store, names: &[String]) -> Result<HashSet<i64>> {
    let known = collection_names(store)?;
    let mut found = HashSet::new();
    for name in names {
        let ids = known.iter().filter(|(_, known)| *known == name);
        let before = found.len();
        found.extend(ids.map(|(id, _)| *id));
        if found.len() == before && !known.iter().any(|(_, known)| known == name) {
            let known: Vec<_> = known.values().map(|name| one_line(name)).collect();
            return Err(Failure::NotFound(format!(
                "there is no address book or calendar named \"{}\" (there are: {})",
                one_line(name),
                known.join(", ")
            )));
        }
    }
    Ok(found)
}

/// Returns the names of the address books and calendars by id.
fn collection_names(store: &Store) -> Result<BTreeMap<i64, String>> {
    fn add<R: RecordKind>(store: &Store, names: &mut BTreeMap<i64, String>) -> Result<()> {
        for name in store.collections::<R>()? {
            names.insert(store.collection::<R>(Some(&name))?.id(), name);
        }
        Ok(())
    }
    let mut names = BTreeMap::new();
    add::<Card>(store, &mut names)?;
    add::<CalendarObject>(store, &mut names)?;
    Ok(names)
}

pub fn list_devices(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let devices = store.devices()?;
    let names = collection_names(&store)?;
    if devices.is_empty() && !app.out.json {
        let text = "No device yet. Add one: etui serve add-device Phone";
        return app.out.status(text);
    }
    let zone = app.out.time_zone();
    let headings = ["Device", "Access", "Collections", "Added", "Last seen"];
    let mut table = Table::with_number_column(&headings, None);
    for device in &devices {
        let access = if device.access.is_read_only {
            "read"
        } else {
            "write"
        };
        let seen = device.last_seen();
        table.add_row([
            device.name.clone(),
            access.to_owned(),
            visible_collections(device, &names).map_or_else(|| "all".to_owned(), |v| v.join(", ")),
            format_minute(device.added(), &zone),
            seen.map_or_else(|| "never".to_owned(), |seen| format_minute(seen, &zone)),
        ]);
    }
    app.out.write_table(&table, &devices, |out, device| {
        out.write_json(&device_json(device, &names, &out.time_zone()))
    })
}

/// Returns the names of the collections that a device sees; `None`: all.
fn visible_collections(device: &Device, names: &BTreeMap<i64, String>) -> Option<Vec<String>> {
    let only = device.access.only.as_ref()?;
    let visible = names.iter().filter(|(id, _)| only.contains(id));
    Some(visible.map(|(_, name)| name.clone()).collect())
}

fn device_json(
    device: &Device,
    names: &BTreeMap<i64, String>,
    zone: &TimeZone,
) -> impl Serialize + use<> {
    object! {
        name: device.name.clone(),
        read_only: device.access.is_read_only,
        only: visible_collections(device, names),
        added: iso_instant(device.added().into(), zone),
        last_seen: device.last_seen().map(|seen| iso_instant(seen.into(), zone)),
    }
}

pub fn remove_device(app: &mut App, args: &RemoveDeviceArgs) -> Result<()> {
    let store = app.open_to_write()?;
    let names = collection_names(&store)?;
    let removed = match store.remove_device(&args.name) {
        Err(Error::NoDevice { known, .. }) if known.is_empty() => {
            return Err(Failure::NotFound(format!(
                "there is no device named \"{}\", nor any other; add it: etui serve add-device {}",
                one_line(&args.name),
                quote_operand(&args.name)
            )));
        }
        removed => removed?,
    };
    store.close()?;
    let name = one_line(&removed.name);
    let text = format!("Removed the device {name}; its password is refused from now on");
    let object = device_json(&removed, &names, &app.out.time_zone());
    app.out.report(&object, text)
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
}
