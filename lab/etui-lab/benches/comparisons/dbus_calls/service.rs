//! The two services on the bus, and the calls that are timed.

use std::path::Path;

use zbus::{OwnedFd, OwnedObjectPath, Variant};

use super::report::{AS_EDS, OWN};
use etui_lab::Error;
use etui_lab::peers::bus::{BusClient, RemoteObject};
use etui_lab::peers::eds;

const PEER: &str = "org.freedesktop.DBus.Peer";
const STORE: RemoteObject<'static> =
    RemoteObject("org.etui.Store1", "/org/etui/Store1", "org.etui.Store1");
const COLLECTION: &str = "org.etui.Collection1";
const BOOK_FACTORY: RemoteObject<'static> = RemoteObject(
    "org.gnome.evolution.dataserver.AddressBook10",
    "/org/gnome/evolution/dataserver/AddressBookFactory",
    "org.gnome.evolution.dataserver.AddressBookFactory",
);
const ADDRESS_BOOK: &str = "org.gnome.evolution.dataserver.AddressBook";
/// The built-in source: the store's default address book.
const SOURCE: &str = "system-address-book";

/// A service of etui's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// `org.etui.Store1`.
    Own,
    /// Evolution Data Server's address books.
    AsEds,
}

/// A call, in the words of `calls.c`.
#[derive(Debug, Clone)]
pub struct RemoteCall {
    object: [String; 3],
    member: &'static str,
    arguments: Vec<String>,
}

impl RemoteCall {
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let object = self.object.iter().map(String::as_str);
        let arguments = self.arguments.iter().map(String::as_str);
        object.chain([self.member]).chain(arguments)
    }
}

pub fn start_registry(client: &BusClient) -> Result<(), Error> {
    let registry = RemoteObject(
        eds::SOURCES,
        "/org/gnome/evolution/dataserver/SourceManager",
        PEER,
    );
    client.call(registry, "Ping", &())
}

impl Service {
    pub const ALL: [Self; 2] = [Self::Own, Self::AsEds];

    pub fn arm_name(self) -> &'static str {
        match self {
            Self::Own => OWN,
            Self::AsEds => AS_EDS,
        }
    }

    pub fn bus_name(self) -> &'static str {
        match self {
            Self::Own => STORE.0,
            Self::AsEds => BOOK_FACTORY.0,
        }
    }

    /// The command by which the bus starts it.
    pub fn command_line(self, etui: &Path, store: &Path) -> String {
        let command = match self {
            Self::Own => "dbus",
            Self::AsEds => "eds serve",
        };
        let (etui, store) = (etui.display(), store.display());
        format!("\"{etui}\" --store \"{store}\" {command} --idle-exit 0")
    }

    /// Asks for the address book, as a program's first call; returns its object.
    pub fn open(self, client: &BusClient) -> Result<String, Error> {
        match self {
            Self::Own => {
                let books: Vec<(String, OwnedObjectPath, String)> =
                    client.call(STORE, "Collections", &"contacts")?;
                let book = books.first().map(|(_, path, _)| path.to_string());
                book.ok_or_else(|| Error::other("the store has no address book"))
            }
            Self::AsEds => {
                let (path, _): (String, String) =
                    client.call(BOOK_FACTORY, "OpenAddressBook", &SOURCE)?;
                Ok(path)
            }
        }
    }

    /// The calls that are timed, by phase: an empty one, one contact, and many contacts. `uids` are
    /// separated by commas.
    pub fn calls(self, path: &str, uids: &str) -> [(&'static str, RemoteCall); 3] {
        let call = |interface: &str, member, arguments: &[&str]| RemoteCall {
            object: [self.bus_name(), path, interface].map(str::to_owned),
            member,
            arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
        };
        let one = format!("s:{}", uids.split(',').next().unwrap_or_default());
        let (get, get_many) = match self {
            Self::Own => {
                let many = format!("as:{uids}");
                (
                    call(COLLECTION, "Get", &[&one, "as:card"]),
                    call(COLLECTION, "GetMany", &[&many, "as:card", "options"]),
                )
            }
            Self::AsEds => {
                let terms = uids.split(',').map(|uid| format!(" (is \"id\" \"{uid}\")"));
                let query = format!("s:(or{})", terms.collect::<String>());
                (
                    call(ADDRESS_BOOK, "GetContact", &[&one]),
                    call(ADDRESS_BOOK, "GetContactList", &[&query]),
                )
            }
        };
        let empty = call(PEER, "Ping", &[]);
        [("empty", empty), ("get", get), ("get_many", get_many)]
    }

    /// Reads every contact; returns their number.
    pub fn read_all(self, client: &BusClient, path: &str) -> Result<u64, Error> {
        match self {
            Self::Own => {
                let book = RemoteObject(STORE.0, path, COLLECTION);
                let columns = Variant::from(vec!["card"]);
                let options = std::collections::HashMap::from([("columns", columns)]);
                let (_file, rows, _): (OwnedFd, u64, String) =
                    client.call(book, "QueryFd", &("", options))?;
                Ok(rows)
            }
            Self::AsEds => {
                let book = RemoteObject(BOOK_FACTORY.0, path, ADDRESS_BOOK);
                let cards: Vec<String> = client.call(book, "GetContactList", &"")?;
                Ok(cards.len() as u64)
            }
        }
    }
}
