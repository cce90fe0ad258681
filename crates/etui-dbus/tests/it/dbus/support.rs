//! A service in a thread on a bus of its own, and a client.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use etui_dbus::{BUS_NAME, STORE_PATH, ServeError, ServeOptions, serve};
use etui_testkit::bus::PrivateBus;
use etui_testkit::wait::wait_until;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use zbus::connection::Builder;
use zbus::wire::{DynamicType, Type};
use zbus::{Connection, OwnedObjectPath, Variant, block_on};

pub const STORE: &str = "org.etui.Store1";
pub const COLLECTION: &str = "org.etui.Collection1";
pub const BOOK: &str = "org.etui.AddressBook1";
pub const CALENDAR: &str = "org.etui.Calendar1";
pub const VIEW: &str = "org.etui.View1";
pub const JOB: &str = "org.etui.ImportJob1";
pub const MEDIA: &str = "org.etui.Media1";
pub const PLAYLISTS: &str = "org.etui.Playlists1";
pub const MEDIA_PATH: &str = "/org/etui/Store1/media";

/// A record on the wire.
pub type Row = (u64, String, Vec<String>);
/// Options of a call.
pub type Options<'a> = HashMap<&'a str, Variant<'a>>;

/// No options.
pub fn none() -> Options<'static> {
    HashMap::new()
}

/// A running service.
pub struct Running {
    pub bus: PrivateBus,
    pub store: PathBuf,
    pub thread: JoinHandle<Result<(), ServeError>>,
    _dir: TempDir,
}

impl Running {
    pub fn start() -> Self {
        Self::start_with(None)
    }

    pub fn start_with(idle_exit: Option<Duration>) -> Self {
        let bus = PrivateBus::start().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("personal.etui");
        let mut options = etui::Options::default();
        options.locale = Some("en-GB".to_owned());
        options.region = Some("GB".to_owned());
        let options = ServeOptions {
            store: store.clone(),
            options,
            address: Some(bus.address().to_owned()),
            idle_exit,
            end_on_signals: false,
        };
        let thread = std::thread::spawn(move || serve(options));
        let running = Self {
            bus,
            store,
            thread,
            _dir: dir,
        };
        let client = running.client();
        wait_until("the service has its name", || client.is_served());
        running
    }

    pub fn client(&self) -> Client {
        let address = self.bus.address();
        let connection = block_on(Builder::address(address).build()).unwrap();
        Client { connection }
    }

    /// The store, opened by another handle, as another program has it.
    pub fn open_store(&self) -> etui::Store {
        etui::Store::open(&self.store).unwrap()
    }
}

/// The name and the arguments of an error.
#[derive(Debug)]
pub struct Refusal {
    pub name: String,
    /// The message, if the error is the service's own.
    pub message: Option<zbus::Message>,
}

impl Refusal {
    /// The arguments of the error.
    pub fn arguments<T: Type + DeserializeOwned>(&self) -> T {
        let message = self.message.as_ref().unwrap();
        message.body().deserialize().unwrap()
    }
}

/// A client on the bus or on a private connection.
#[derive(Clone)]
pub struct Client {
    pub connection: Connection,
}

impl Client {
    pub fn is_served(&self) -> bool {
        block_on(self.connection.call_method(
            Some("org.freedesktop.DBus"),
            "/org/freedesktop/DBus",
            Some("org.freedesktop.DBus"),
            "NameHasOwner",
            &BUS_NAME,
        ))
        .unwrap()
        .body()
        .deserialize()
        .unwrap()
    }

    /// Calls a method; an error of `org.etui.Error1` is returned without its prefix.
    pub fn call<B, T>(
        &self,
        path: &str,
        interface: &str,
        method: &str,
        body: &B,
    ) -> Result<T, Refusal>
    where
        B: Serialize + DynamicType,
        T: Type + DeserializeOwned,
    {
        let reply = block_on(self.connection.call_method(
            Some(BUS_NAME),
            path,
            Some(interface),
            method,
            body,
        ));
        match reply {
            Ok(reply) => Ok(reply.body().deserialize().unwrap()),
            Err(zbus::Error::MethodError(name, _, message)) => Err(Refusal {
                name: name.as_str().replace("org.etui.Error1.", ""),
                message: Some(message),
            }),
            Err(zbus::Error::FDO(error)) => Err(Refusal {
                name: zbus::DBusError::name(&*error).to_string(),
                message: None,
            }),
            Err(other) => panic!("{method}: {other}"),
        }
    }

    /// Calls a method of the store.
    pub fn store<B, T>(&self, method: &str, body: &B) -> Result<T, Refusal>
    where
        B: Serialize + DynamicType,
        T: Type + DeserializeOwned,
    {
        self.call(STORE_PATH, STORE, method, body)
    }

    /// Calls a method of the media library.
    pub fn media<B, T>(&self, method: &str, body: &B) -> Result<T, Refusal>
    where
        B: Serialize + DynamicType,
        T: Type + DeserializeOwned,
    {
        self.call(MEDIA_PATH, MEDIA, method, body)
    }

    /// Calls a method of the playlists.
    pub fn playlists<T: Type + DeserializeOwned>(
        &self,
        method: &str,
        body: &(impl Serialize + DynamicType),
    ) -> Result<T, Refusal> {
        self.call(MEDIA_PATH, PLAYLISTS, method, body)
    }

    /// Returns the name of the error of a call.
    pub fn refusal<B>(&self, path: &str, interface: &str, method: &str, body: &B) -> String
    where
        B: Serialize + DynamicType,
    {
        let answer = block_on(self.connection.call_method(
            Some(BUS_NAME),
            path,
            Some(interface),
            method,
            body,
        ));
        match answer {
            Ok(_) => panic!("{method} was answered"),
            Err(zbus::Error::MethodError(name, ..)) => {
                name.as_str().replace("org.etui.Error1.", "")
            }
            Err(zbus::Error::FDO(error)) => zbus::DBusError::name(&*error).to_string(),
            Err(other) => panic!("{method}: {other}"),
        }
    }

    /// Returns a property.
    pub fn property<T>(&self, path: &str, interface: &str, name: &str) -> T
    where
        T: TryFrom<zbus::OwnedVariant>,
        T::Error: std::fmt::Debug,
    {
        let value: zbus::OwnedVariant = self
            .call(
                path,
                "org.freedesktop.DBus.Properties",
                "Get",
                &(interface, name),
            )
            .unwrap();
        T::try_from(value).unwrap()
    }

    /// Returns the object of the first collection of a kind.
    pub fn collection(&self, kind: &str) -> String {
        let all: Vec<(String, OwnedObjectPath, String)> = self.store("Collections", &kind).unwrap();
        all[0].1.to_string()
    }

    /// Saves cards without conditions; returns the saved records.
    pub fn save(&self, path: &str, texts: &[String]) -> Vec<(u64, String, String)> {
        let records: Vec<(&str, &str)> = texts.iter().map(|text| (text.as_str(), "")).collect();
        self.call(path, COLLECTION, "Save", &(records, none()))
            .unwrap()
    }

    /// Calls a method whose answer begins with a descriptor and a number of rows; returns the rows
    /// as read from the file.
    pub fn rows_by_file<B>(&self, path: &str, method: &str, body: &B) -> Vec<(u64, Vec<Vec<u8>>)>
    where
        B: Serialize + DynamicType,
    {
        self.rows_of(path, COLLECTION, method, body)
    }

    /// Returns the rows of a method of the media library, as [`Client::rows_by_file`].
    pub fn media_rows<B>(&self, method: &str, body: &B) -> Vec<(u64, Vec<Vec<u8>>)>
    where
        B: Serialize + DynamicType,
    {
        self.rows_of(MEDIA_PATH, MEDIA, method, body)
    }

    fn rows_of<B>(
        &self,
        path: &str,
        interface: &str,
        method: &str,
        body: &B,
    ) -> Vec<(u64, Vec<Vec<u8>>)>
    where
        B: Serialize + DynamicType,
    {
        let reply = block_on(self.connection.call_method(
            Some(BUS_NAME),
            path,
            Some(interface),
            method,
            body,
        ))
        .unwrap();
        let body = reply.body();
        let (file, count) = match body.deserialize::<(zbus::OwnedFd, u64)>() {
            Ok(both) => both,
            Err(_) => {
                let (file, count, _) = body.deserialize::<(zbus::OwnedFd, u64, String)>().unwrap();
                (file, count)
            }
        };
        let mut bytes = Vec::new();
        File::from(std::os::fd::OwnedFd::from(file))
            .read_to_end(&mut bytes)
            .unwrap();
        let rows = parse_rows(&bytes);
        assert_eq!(rows.len() as u64, count);
        rows
    }
}

/// Reads the content of a descriptor.
fn parse_rows(mut bytes: &[u8]) -> Vec<(u64, Vec<Vec<u8>>)> {
    fn long(bytes: &mut &[u8]) -> u64 {
        u64::from_ne_bytes(bytes.split_off(..8).unwrap().try_into().unwrap())
    }
    fn short(bytes: &mut &[u8]) -> usize {
        u32::from_ne_bytes(bytes.split_off(..4).unwrap().try_into().unwrap()) as usize
    }
    let count = long(&mut bytes);
    let rows = (0..count)
        .map(|_| {
            let id = long(&mut bytes);
            let values = (0..short(&mut bytes))
                .map(|_| {
                    let length = short(&mut bytes);
                    bytes.split_off(..length).unwrap().to_vec()
                })
                .collect();
            (id, values)
        })
        .collect();
    assert!(bytes.is_empty());
    rows
}

/// A card.
pub fn card(uid: &str, name: &str, more: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\n{more}END:VCARD\r\n")
}

/// Many cards `uid-0`, `uid-1`, ...
pub fn cards(count: usize, more: &str) -> Vec<String> {
    (0..count)
        .map(|n| card(&format!("uid-{n}"), &format!("Name {n:05}"), more))
        .collect()
}
