//! neverest: the copy is a pimdir, an SQLite database with a file for each text. Changes are queued in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;

use super::super::super::dav::products::{make_dirs, run_command, tool_command, write_file};
use super::super::marked;
use super::super::served::{Served, by_uid};
use super::SyncClient;
use etui_lab::Error;

pub(super) const PROGRAM: &str = "neverest";
pub(super) const REMEDY: &str = "`cargo install neverest --version 0.3.0 --locked --no-default-features \
                                 --features dav,rustls-ring,vendored`";

pub(super) struct Neverest {
    home: PathBuf,
}

/// A card of the copy.
struct Item {
    collection: String,
    number: i64,
    text: String,
}

impl Neverest {
    pub(super) fn pair(dir: &Path, served: &Served) -> Result<Self, Error> {
        let client = Self {
            home: dir.to_owned(),
        };
        let config = format!(
            "[accounts.lab]\ndefault = true\nstore.root = \"{}\"\ncarddav.server = \"{}/dav/\"\n\
             carddav.auth.basic.username = \"{}\"\ncarddav.auth.basic.password.raw = \"{}\"\n",
            client.copy().display(),
            served.url(),
            served.user(),
            served.password()
        );
        write_file(&dir.join("config.toml"), &config)?;
        run_command(&mut client.command("init")?)?;
        Ok(client)
    }

    fn copy(&self) -> PathBuf {
        self.home.join("copy")
    }

    fn command(&self, name: &str) -> Result<Command, Error> {
        let mut command = tool_command(PROGRAM)?;
        command
            .env("HOME", &self.home)
            .env("LC_ALL", "C.UTF-8")
            .arg("--config")
            .arg(self.home.join("config.toml"))
            .arg(name);
        Ok(command)
    }

    fn database(&self) -> Result<Connection, Error> {
        Ok(Connection::open(self.copy().join("pimdir.db"))?)
    }

    /// Returns the file of a text, in folders of the first letters of its hash.
    fn file(&self, hash: &str) -> PathBuf {
        let part = |range| hash.get(range).unwrap_or_default();
        let objects = self.copy().join("objects");
        objects.join(part(0..2)).join(part(2..4)).join(hash)
    }

    fn items(&self) -> Result<Vec<Item>, Error> {
        let database = self.database()?;
        let query = "SELECT collection, seq, object_hash FROM items WHERE deleted = 0";
        let mut statement = database.prepare(query)?;
        let rows = statement.query_map((), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))
        })?;
        rows.map(|row| {
            let (collection, number, hash) = row?;
            let file = self.file(&hash);
            Ok(Item {
                collection,
                number,
                text: fs::read_to_string(&file).map_err(|e| Error::file(&file, e))?,
            })
        })
        .collect()
    }
}

impl SyncClient for Neverest {
    fn sync_command(&self) -> Result<Command, Error> {
        self.command("sync")
    }

    fn cards(&self) -> Result<BTreeMap<String, String>, Error> {
        Ok(by_uid(self.items()?.into_iter().map(|item| item.text)))
    }

    fn change(&mut self, uid: &str, mark: &str) -> Result<(), Error> {
        let is_meant = |item: &Item| by_uid([item.text.clone()].into_iter()).contains_key(uid);
        let item = self.items()?.into_iter().find(is_meant);
        let item = item.ok_or_else(|| Error::other(format!("no card {uid}")))?;
        let text = marked(&item.text, mark);
        let hash = base32(blake3::hash(text.as_bytes()).as_bytes());
        let file = self.file(&hash);
        make_dirs(file.parent().unwrap_or(&file))?;
        write_file(&file, &text)?;
        let mut database = self.database()?;
        let queued = database.transaction()?;
        let object = "INSERT INTO objects (hash, size, refcount) VALUES (?1, ?2, 1)";
        queued.execute(object, (&hash, text.len() as i64))?;
        let payload = serde_json::json!({ "v": 1, "seq": item.number, "object": hash });
        queued.execute(
            "INSERT INTO queue (created_at, producer, collection, action, payload, object_hash) \
             VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'lab', ?1, 'update', ?2, ?3)",
            (&item.collection, payload.to_string(), &hash),
        )?;
        queued.commit()?;
        Ok(())
    }
}

/// Returns bytes in base 32 (RFC 4648 section 6), in small letters and without padding.
fn base32(bytes: &[u8]) -> String {
    let digits = b"abcdefghijklmnopqrstuvwxyz234567";
    let bit = |at: usize| {
        let byte = bytes.get(at / 8).copied().unwrap_or_default();
        usize::from(byte >> (7 - at % 8) & 1)
    };
    let groups = (0..bytes.len() * 8).step_by(5);
    let values = groups.map(|from| (from..from + 5).fold(0, |value, at| value * 2 + bit(at)));
    values
        .filter_map(|value| digits.get(value).copied().map(char::from))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_is_that_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "my"),
            ("foob", "mzxw6yq"),
            ("fooba", "mzxw6ytb"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
    }
}
