//! Devices: programs on other machines, such as a phone, that may use the store over a network.
//!
//! Each has a password of its own, so that it can be removed by itself. A password is made here and
//! never chosen: 140 random bits need no slow hash, so the store keeps its BLAKE3, and checking a
//! password costs microseconds.

use std::collections::HashSet;
use std::fmt;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, Row};

use crate::db::TransactionSize;
use crate::db::random::fill_random;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::store::collections::system_time;
use crate::types::{CollectionId, DeviceId, now_ms};

/// The tables, made when the first device is added. `docs/src/schema.md` explains them.
const SCHEMA: &str = "\
CREATE TABLE IF NOT EXISTS device (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    hash       BLOB NOT NULL,
    read_only  INTEGER NOT NULL,
    is_limited INTEGER NOT NULL,
    added_at   INTEGER NOT NULL,
    seen_at    INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS device_collection (
    device     INTEGER,
    collection INTEGER,
    PRIMARY KEY (device, collection)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS device_read_only (
    device     INTEGER,
    collection INTEGER,
    PRIMARY KEY (device, collection)
) STRICT, WITHOUT ROWID;";

/// The longest name of a device, in characters.
const MAX_NAME: usize = 100;

/// The time of use is recorded at most once in this time.
const SEEN_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// The digits of a password: Crockford's base 32, without the letters that are read as digits.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Digits of a password: 28 of 5 bits are 140 bits.
const PASSWORD_DIGITS: usize = 28;

/// Digits of a group of a password as it is shown.
const GROUP_DIGITS: usize = 4;

/// The rights of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceAccess {
    /// It may read and not write.
    pub is_read_only: bool,
    /// The ids of the collections that it sees ([`Reader::id`](crate::record::Reader::id)), and of the references
    /// to those of others; `None`: all, also those created later.
    pub only: Option<HashSet<CollectionId>>,
    /// The ids of those in which it may read and not write.
    pub read_only: HashSet<CollectionId>,
}

impl DeviceAccess {
    /// Returns true if the device sees a collection.
    #[must_use]
    pub fn may_see(&self, collection: CollectionId) -> bool {
        self.only
            .as_ref()
            .is_none_or(|only| only.contains(&collection))
    }

    /// Returns true if the device sees a collection and may change its records.
    #[must_use]
    pub fn may_write(&self, collection: CollectionId) -> bool {
        !self.is_read_only && self.may_see(collection) && !self.read_only.contains(&collection)
    }
}

/// A device that may use the store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// Its id in the store.
    pub id: DeviceId,
    /// Its name, unique in the store.
    pub name: String,
    /// Its rights.
    pub access: DeviceAccess,
    /// The time at which it was added.
    pub added: SystemTime,
    /// The time of its last use, up to a day too early; `None` if it was never used.
    pub last_seen: Option<SystemTime>,
}

impl Device {
    /// Returns the owner of the store, who needs no password: a program that could as well open the file.
    #[must_use]
    pub fn of_owner() -> Self {
        Self {
            id: DeviceId(0),
            name: "another computer".to_owned(),
            access: DeviceAccess::default(),
            added: SystemTime::UNIX_EPOCH,
            last_seen: None,
        }
    }
}

/// The password of a device. It is shown once; the store keeps its hash.
///
/// Written in groups, such as `k7m2-9xq4-h0tc-...`; [`Devices::find`] ignores hyphens, blanks
/// and case, and reads `o` as 0, `i` and `l` as 1.
#[derive(Clone, PartialEq, Eq)]
pub struct DevicePassword(String);

impl DevicePassword {
    /// Makes one of random bits.
    fn generate() -> Result<Self> {
        let mut random = [0; PASSWORD_DIGITS];
        fill_random(&mut random)?;
        // 256 is a multiple of 32, so all digits are equally likely.
        let digits = random.iter().map(|byte| DIGITS[usize::from(byte % 32)]);
        Ok(Self(digits.map(char::from).collect()))
    }

    /// Reads a password as a person or a program entered it; `None` if it cannot be a password.
    fn parse(text: &str) -> Option<Self> {
        let mut digits = String::with_capacity(PASSWORD_DIGITS);
        for c in text.chars().filter(|c| *c != '-' && !c.is_whitespace()) {
            let digit = match c.to_ascii_lowercase() {
                'o' => '0',
                'i' | 'l' => '1',
                other => other,
            };
            if digits.len() == PASSWORD_DIGITS || !digit.is_ascii() {
                return None;
            }
            if !DIGITS.contains(&(digit as u8)) {
                return None;
            }
            digits.push(digit);
        }
        (digits.len() == PASSWORD_DIGITS).then_some(Self(digits))
    }

    fn hash(&self) -> blake3::Hash {
        blake3::hash(self.0.as_bytes())
    }
}

impl fmt::Display for DevicePassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, digit) in self.0.chars().enumerate() {
            if i > 0 && i % GROUP_DIGITS == 0 {
                f.write_str("-")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// Does not write the password, which would then be in a log.
impl fmt::Debug for DevicePassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DevicePassword(...)")
    }
}

/// The devices that may use a store by `etui serve`.
pub struct Devices<'s>(&'s Store);

impl Store {
    /// Returns the devices of this store.
    pub fn devices(&self) -> Devices<'_> {
        Devices(self)
    }
}

impl Devices<'_> {
    /// Adds a device, and returns its password, which cannot be read again.
    ///
    /// ```
    /// # use etui::Store;
    /// use etui::store::DeviceAccess;
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// let password = store.devices().add("Pixel", &DeviceAccess::default())?;
    /// let found = store.devices().find(&password.to_string())?;
    /// assert_eq!(found.expect("it was added").name, "Pixel");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceExists`], [`Error::BadDeviceName`], or any write error.
    pub fn add(&self, name: &str, access: &DeviceAccess) -> Result<DevicePassword> {
        check_name(name)?;
        let password = DevicePassword::generate()?;
        self.0.db.write_of(TransactionSize::Small, |conn| {
            conn.execute_batch(SCHEMA)?;
            let added = conn.execute(
                "INSERT OR IGNORE INTO device (name, hash, read_only, is_limited, added_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                (
                    name,
                    password.hash().as_bytes(),
                    access.is_read_only,
                    access.only.is_some(),
                    now_ms(),
                ),
            )?;
            if added == 0 {
                return Err(Error::DeviceExists(name.to_owned()));
            }
            write_collections(conn, conn.last_insert_rowid(), access)
        })?;
        Ok(password)
    }

    /// Changes the rights of a device, which keeps its password.
    ///
    /// # Errors
    /// [`Error::NoDevice`], with the names that exist; any write error.
    pub fn change(&self, name: &str, access: &DeviceAccess) -> Result<()> {
        self.0.db.write_of(TransactionSize::Small, |conn| {
            let device = find_by_name(conn, name)?;
            conn.execute_batch(SCHEMA)?;
            conn.execute(
                "UPDATE device SET read_only = ?2, is_limited = ?3 WHERE id = ?1",
                (device.id.0, access.is_read_only, access.only.is_some()),
            )?;
            remove_collections(conn, device.id)?;
            write_collections(conn, device.id.0, access)
        })
    }

    /// Returns the devices in the order in which they were added.
    ///
    /// # Errors
    /// Any read error.
    pub fn list(&self) -> Result<Vec<Device>> {
        self.0.db.read_transaction(|conn| {
            let mut devices = Vec::new();
            for_each_device(conn, |device, _| devices.push(device))?;
            devices
                .into_iter()
                .map(|device| with_collections(conn, device))
                .collect()
        })
    }

    /// Removes a device: its password is not accepted any more.
    ///
    /// # Errors
    /// [`Error::NoDevice`], with the names that exist; any write error.
    pub fn remove(&self, name: &str) -> Result<Device> {
        self.0.db.write_of(TransactionSize::Small, |conn| {
            let device = find_by_name(conn, name)?;
            let device = with_collections(conn, device)?;
            conn.execute("DELETE FROM device WHERE id = ?1", [device.id.0])?;
            remove_collections(conn, device.id)?;
            Ok(device)
        })
    }

    /// Returns the device that has this password; `None` if no device has it.
    ///
    /// Hashes are compared in constant time. Nothing is written, so this never waits for another
    /// process; [`Devices::record_use`] records the time.
    ///
    /// # Errors
    /// Any read error.
    pub fn find(&self, password: &str) -> Result<Option<Device>> {
        let Some(password) = DevicePassword::parse(password) else {
            return Ok(None);
        };
        let hash = password.hash();
        self.0.db.read_transaction(|conn| {
            let mut found = None;
            for_each_device(conn, |device, stored| {
                // Compared in constant time.
                if stored == hash {
                    found = Some(device);
                }
            })?;
            found
                .map(|device| with_collections(conn, device))
                .transpose()
        })
    }

    /// Records that a device is in use, unless that was done within a day or the store is read-only.
    /// Returns true if the time was written.
    ///
    /// # Errors
    /// Any write error, such as [`Error::Busy`] after [`Options::busy_timeout`](super::Options).
    pub fn record_use(&self, device: &Device) -> Result<bool> {
        let now = now_ms();
        // A time in the future is of a clock that was wrong.
        let is_recent = |seen: SystemTime| seen.elapsed().is_ok_and(|since| since < SEEN_INTERVAL);
        if device.last_seen.is_some_and(is_recent) || self.0.is_read_only() {
            return Ok(false);
        }
        self.0.db.write_of(TransactionSize::Small, |conn| {
            let changed = conn.execute(
                "UPDATE device SET seen_at = ?2 WHERE id = ?1",
                (device.id.0, now),
            )?;
            Ok(changed > 0)
        })
    }
}

/// Calls `visit` with each device, without its collections, and the hash of its password.
fn for_each_device(conn: &Connection, mut visit: impl FnMut(Device, blake3::Hash)) -> Result<()> {
    // A statement, which reads the schema again if another program has added the first device.
    let mut table = conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'device'")?;
    if !table.exists([])? {
        return Ok(());
    }
    let mut all = conn.prepare_cached(
        "SELECT id, name, hash, read_only, is_limited, added_at, seen_at FROM device ORDER BY id",
    )?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let hash = blake3::Hash::from_bytes(row.get("hash")?);
        visit(read_device(row)?, hash);
    }
    Ok(())
}

fn read_device(row: &Row<'_>) -> rusqlite::Result<Device> {
    let is_limited: bool = row.get("is_limited")?;
    Ok(Device {
        id: DeviceId(row.get("id")?),
        name: row.get("name")?,
        access: DeviceAccess {
            is_read_only: row.get("read_only")?,
            only: is_limited.then(HashSet::new),
            read_only: HashSet::new(),
        },
        added: system_time(row.get("added_at")?),
        last_seen: row.get::<_, Option<i64>>("seen_at")?.map(system_time),
    })
}

fn find_by_name(conn: &Connection, name: &str) -> Result<Device> {
    let mut devices = Vec::new();
    for_each_device(conn, |device, _| devices.push(device))?;
    match devices.iter().position(|device| device.name == name) {
        Some(found) => Ok(devices.swap_remove(found)),
        None => Err(Error::NoDevice {
            name: name.to_owned(),
            known: devices.into_iter().map(|device| device.name).collect(),
        }),
    }
}

/// Adds the collections that a limited device sees, and those in which it may only read.
fn with_collections(conn: &Connection, mut device: Device) -> Result<Device> {
    let read = |table: &str| -> Result<HashSet<CollectionId>> {
        let sql = format!("SELECT collection FROM {table} WHERE device = ?1");
        let mut all = conn.prepare_cached(&sql)?;
        let all = all.query_map([device.id.0], |row| row.get(0).map(CollectionId))?;
        Ok(all.collect::<rusqlite::Result<_>>()?)
    };
    let only = device.access.only.is_some();
    let (only, read_only) = (
        only.then(|| read("device_collection")).transpose()?,
        has_read_only(conn)?
            .then(|| read("device_read_only"))
            .transpose()?,
    );
    device.access.only = only;
    device.access.read_only = read_only.unwrap_or_default();
    Ok(device)
}

/// Returns true if there is the table of the collections in which devices only read: a store of an earlier version has
/// none.
fn has_read_only(conn: &Connection) -> Result<bool> {
    let mut table =
        conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'device_read_only'")?;
    Ok(table.exists([])?)
}

fn write_collections(conn: &Connection, device: i64, access: &DeviceAccess) -> Result<()> {
    let only = access.only.iter().flatten();
    for (table, collections) in [
        ("device_collection", only.collect::<Vec<_>>()),
        ("device_read_only", access.read_only.iter().collect()),
    ] {
        let sql = format!("INSERT INTO {table} (device, collection) VALUES (?1, ?2)");
        let mut insert = conn.prepare_cached(&sql)?;
        for collection in collections {
            insert.execute((device, collection.0))?;
        }
    }
    Ok(())
}

fn remove_collections(conn: &Connection, device: DeviceId) -> Result<()> {
    conn.execute(
        "DELETE FROM device_collection WHERE device = ?1",
        [device.0],
    )?;
    if has_read_only(conn)? {
        conn.execute("DELETE FROM device_read_only WHERE device = ?1", [device.0])?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    let is_valid = (1..=MAX_NAME).contains(&name.chars().count())
        && !name.chars().any(char::is_control)
        && name.trim() == name;
    match is_valid {
        true => Ok(()),
        false => Err(Error::BadDeviceName(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn passwords_are_groups_that_people_can_type() {
        let password = DevicePassword::generate().unwrap();
        let shown = password.to_string();
        assert_eq!(
            shown.len(),
            PASSWORD_DIGITS + PASSWORD_DIGITS / GROUP_DIGITS - 1
        );
        assert_eq!(shown.split('-').count(), PASSWORD_DIGITS / GROUP_DIGITS);
        assert_ne!(password, DevicePassword::generate().unwrap());
        assert_eq!(format!("{password:?}"), "DevicePassword(...)");
        let typed = [
            shown.clone(),
            shown.replace('-', ""),
            shown.replace('-', " "),
            shown.to_uppercase(),
            shown.replace('0', "O").replace('1', "l"),
            format!(" {shown}\n"),
        ];
        for text in typed {
            assert_eq!(
                DevicePassword::parse(&text),
                Some(password.clone()),
                "{text}"
            );
        }
    }

    #[test]
    fn other_texts_are_no_passwords() {
        let digits = "0123456789abcdefghjkmnpqrstv";
        assert!(DevicePassword::parse(digits).is_some());
        let bad = [
            String::new(),
            digits[1..].to_owned(),
            format!("{digits}0"),
            digits.replace('a', "u"),
            digits.replace('a', "é"),
            digits.replace('a', "\0"),
        ];
        for text in bad {
            assert_eq!(DevicePassword::parse(&text), None, "{text}");
        }
    }
}
