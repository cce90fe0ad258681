//! A store over etui's own D-Bus interface: the client is this process.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::path::Path;
use std::time::Instant;

use etui::calendar::CalendarObject;
use etui_testkit::bus::PrivateBus;
use zbus::wire::Type;
use zbus::{OwnedFd, OwnedObjectPath, Variant};

use super::local::{Kept, name_texts};
use super::{StoreBackend, answer_pairs, counted, timed};
use crate::error::Error;
use crate::peers::bus::{BusClient, RemoteObject};
use crate::peers::eds::{TimedAnswer, find_etui};

const BUS_NAME: &str = "org.etui.Store1";
const STORE: RemoteObject<'static> = RemoteObject(BUS_NAME, "/org/etui/Store1", BUS_NAME);
const COLLECTION: &str = "org.etui.Collection1";

/// Records of a kind, by their names on the wire.
pub trait WireKind: Kept {
    /// The kind of the collection.
    const WIRE_KIND: &'static str;
    /// The column of a record's text.
    const TEXT: &'static str;
}

impl WireKind for CalendarObject {
    const WIRE_KIND: &'static str = "calendar";
    const TEXT: &'static str = "record";
}

/// Options of a call.
pub type CallOptions<'a> = HashMap<&'a str, Variant<'a>>;

/// A record as it arrives: id, ETag, values.
type WireRow = (u64, String, Vec<String>);

/// A collection of a service.
pub struct OwnBackend<R> {
    client: Option<BusClient>,
    path: String,
    records: Vec<String>,
    held: Vec<(R, String)>,
    // After the client: fields are dropped in this order.
    bus: PrivateBus,
    kind: PhantomData<R>,
}

impl<R: WireKind> OwnBackend<R> {
    /// Serves a store on a bus of its own; with texts to be saved.
    pub fn start(store: &Path, records: Vec<String>) -> Result<Self, Error> {
        let failed = |e: std::io::Error| Error::other(format!("the bus: {e}"));
        let bus = PrivateBus::start().map_err(failed)?;
        let (etui, store) = (find_etui()?, store.display());
        let command = format!(
            "\"{}\" --store \"{store}\" dbus --idle-exit 0",
            etui.display()
        );
        bus.add_service(BUS_NAME, &command).map_err(failed)?;
        let mut backend = Self {
            client: None,
            path: String::new(),
            records,
            held: Vec::new(),
            bus,
            kind: PhantomData,
        };
        backend.open()?;
        Ok(backend)
    }

    fn client(&self) -> Result<&BusClient, Error> {
        let client = self.client.as_ref();
        client.ok_or_else(|| Error::other("the collection is closed"))
    }

    /// Calls a method of an interface of the collection.
    pub fn call<B, T>(&self, interface: &str, method: &str, body: &B) -> Result<T, Error>
    where
        B: serde::Serialize + zbus::wire::DynamicType,
        T: Type + serde::de::DeserializeOwned,
    {
        let collection = RemoteObject(BUS_NAME, &self.path, interface);
        self.client()?.call(collection, method, body)
    }

    fn save(&self, texts: &[String]) -> Result<(), Error> {
        let records: Vec<(&str, &str)> = texts.iter().map(|text| (text.as_str(), "")).collect();
        let _saved: Vec<(u64, String, String)> =
            self.call(COLLECTION, "Save", &(records, CallOptions::new()))?;
        Ok(())
    }

    /// Returns the values of one column of the records that match a filter, by descriptor.
    pub fn query_file(&self, filter: &str, columns: &[&str]) -> Result<RowFile, Error> {
        let options = unordered(columns);
        let (file, _rows, _next): (OwnedFd, u64, String) =
            self.call(COLLECTION, "QueryFd", &(filter, options))?;
        RowFile::read(file)
    }

    /// Returns the records that match a filter, as an array.
    pub fn query(&self, filter: &str, options: CallOptions<'_>) -> Result<Vec<WireRow>, Error> {
        let (rows, _next, _count): (Vec<WireRow>, String, u64) =
            self.call(COLLECTION, "Query", &(filter, options))?;
        Ok(rows)
    }

    /// Returns the texts of records by UID, by descriptor.
    pub fn texts_of(&self, uids: &[String]) -> Result<RowFile, Error> {
        let (file, _rows): (OwnedFd, u64) = self.call(
            COLLECTION,
            "GetManyFd",
            &(uids, [R::TEXT].as_slice(), CallOptions::new()),
        )?;
        RowFile::read(file)
    }
}

/// The options of a query without an order.
pub fn unordered<'a>(columns: &[&str]) -> CallOptions<'a> {
    let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
    let sort = Variant::from("none".to_owned());
    CallOptions::from([("columns", Variant::from(columns)), ("sort", sort)])
}

impl<R: WireKind> StoreBackend for OwnBackend<R> {
    fn save_batch(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        let some = self.records.get(from as usize..(from + count) as usize);
        let (ns, ()) = timed(1, || self.save(some.unwrap_or_default()))?;
        Ok(counted(ns, count))
    }

    fn save_each(&mut self, from: u64, count: u64) -> Result<TimedAnswer, Error> {
        let some = self.records.get(from as usize..(from + count) as usize);
        let mut ns = Vec::new();
        for text in some.unwrap_or_default() {
            ns.extend(timed(1, || self.save(std::slice::from_ref(text)))?.0);
        }
        Ok(counted(ns, count))
    }

    fn fetch_all(&mut self) -> Result<TimedAnswer, Error> {
        let (ns, count) = timed(1, || {
            let file = self.query_file("", &[R::TEXT])?;
            Ok(file.rows()?.len() as u64)
        })?;
        Ok(counted(ns, count))
    }

    fn fetch_names(&mut self) -> Result<TimedAnswer, Error> {
        let (ns, named) = timed(1, || {
            let file = self.query_file("", &[R::TEXT])?;
            name_texts::<R>(&file.first_values()?)
        })?;
        Ok(answer_pairs(ns, &named))
    }

    fn fetch_one(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        let (mut ns, mut texts) = (Vec::new(), Vec::new());
        for uid in uids {
            let columns = [R::TEXT].as_slice();
            let (took, row) = timed(times, || {
                self.call::<_, (WireRow,)>(COLLECTION, "Get", &(uid, columns))
            })?;
            ns.extend(took);
            texts.extend(row.0.2);
        }
        Ok(answer_pairs(ns, &name_texts::<R>(&texts)?))
    }

    fn fetch_many(&mut self, times: u64, uids: &[String]) -> Result<TimedAnswer, Error> {
        let body = (uids, [R::TEXT].as_slice(), CallOptions::new());
        let (ns, (rows, _missing)) = timed(times, || {
            self.call::<_, (Vec<WireRow>, Vec<String>)>(COLLECTION, "GetMany", &body)
        })?;
        let texts: Vec<String> = rows.into_iter().flat_map(|(_, _, values)| values).collect();
        Ok(answer_pairs(ns, &name_texts::<R>(&texts)?))
    }

    fn close(&mut self) -> Result<TimedAnswer, Error> {
        self.held.clear();
        let begun = Instant::now();
        self.client = None;
        Ok(counted(vec![begun.elapsed().as_nanos() as f64], 0))
    }

    fn open(&mut self) -> Result<TimedAnswer, Error> {
        let (ns, (client, path)) = timed(1, || {
            let client = BusClient::connect(self.bus.address())?;
            let all: Vec<(String, OwnedObjectPath, String)> =
                client.call(STORE, "Collections", &R::WIRE_KIND)?;
            let first = all.into_iter().next();
            let (_, path, _) = first.ok_or_else(|| Error::other("there is no collection"))?;
            Ok((client, path.to_string()))
        })?;
        (self.client, self.path) = (Some(client), path);
        Ok(counted(ns, 0))
    }

    fn hold_all(&mut self) -> Result<(), Error> {
        let file = self.query_file("", &[R::TEXT])?;
        for text in file.first_values()? {
            let record = R::parsed(text)?;
            let name = record.name();
            self.held.push((record, name));
        }
        Ok(())
    }

    fn process_ids(&self) -> Vec<u32> {
        let service = self.writer_id().ok();
        service.into_iter().chain([std::process::id()]).collect()
    }

    fn writer_id(&self) -> Result<u32, Error> {
        self.client()?.process_of(BUS_NAME)
    }
}

/// Rows in a file of the service: `rows:u64`, then for each row `id:u64 count:u32` and
/// `length:u32 bytes` for each value.
pub struct RowFile(Vec<u8>);

impl RowFile {
    fn read(file: OwnedFd) -> Result<Self, Error> {
        let file = std::fs::File::from(std::os::fd::OwnedFd::from(file));
        let failed = |e| Error::file("a file of the service", e);
        let length = file.metadata().map_err(failed)?.len();
        let mut bytes = vec![0; length as usize];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).map_err(failed)?;
        Ok(Self(bytes))
    }

    /// Returns the values of each row.
    pub fn rows(&self) -> Result<Vec<Vec<&[u8]>>, Error> {
        let read = || {
            let (count, mut rest) = self.0.split_first_chunk::<8>()?;
            let mut rows = Vec::new();
            for _ in 0..u64::from_ne_bytes(*count) {
                let (_id, after) = rest.split_first_chunk::<8>()?;
                let (values, after) = after.split_first_chunk::<4>()?;
                let mut row = Vec::new();
                rest = after;
                for _ in 0..u32::from_ne_bytes(*values) {
                    let (length, after) = rest.split_first_chunk::<4>()?;
                    let (value, after) =
                        after.split_at_checked(u32::from_ne_bytes(*length) as usize)?;
                    row.push(value);
                    rest = after;
                }
                rows.push(row);
            }
            Some(rows)
        };
        read().ok_or_else(|| Error::other("a file of the service ends too early"))
    }

    /// Returns the first value of each row.
    pub fn first_values(&self) -> Result<Vec<&[u8]>, Error> {
        let rows = self.rows()?;
        Ok(rows.iter().filter_map(|row| row.first().copied()).collect())
    }
}
