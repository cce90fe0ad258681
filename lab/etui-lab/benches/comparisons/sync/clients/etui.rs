//! `etui sync`: the copy is a store.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use etui::Store;
use etui::contacts::Card;
use etui::record::Collection;
use etui::store::CollectionKey;

use super::super::super::dav::products::{run_command, write_file};
use super::super::marked;
use super::super::served::{Served, by_uid};
use super::SyncClient;
use etui_lab::Error;
use etui_lab::peers::eds::find_etui;

/// The programs that run a sync: the second replaces the first.
pub(super) const ETUI: &str = "etui";
pub(super) const ETUI_SERVE: &str = "etui-serve";

pub(super) struct EtuiClient {
    store: PathBuf,
    program: &'static str,
}

/// Checks that the program is here, and syncs.
pub(super) fn check_program() -> Result<(), String> {
    let etui = find_etui().map_err(|error| error.to_string())?;
    let helped = Command::new(etui).args(["sync", "add", "--help"]).output();
    match helped.is_ok_and(|output| output.status.success()) {
        true => Ok(()),
        false => Err("the command `etui` here does not sync with servers".to_owned()),
    }
}

impl EtuiClient {
    pub(super) fn pair(dir: &Path, served: &Served, program: &'static str) -> Result<Self, Error> {
        let client = Self {
            store: dir.join("store.etui"),
            program,
        };
        let password = dir.join("password");
        write_file(&password, served.password())?;
        let private = Permissions::from_mode(0o600);
        fs::set_permissions(&password, private).map_err(|e| Error::file(&password, e))?;
        let mut add = client.sync_command()?;
        add.args(["add", &served.book_url(), "--user", served.user()]);
        run_command(add.arg("--no-sync").arg("--password-file").arg(&password))?;
        Ok(client)
    }

    fn with_copy<T>(
        &self,
        work: impl FnOnce(&Collection<Card>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let store = Store::open(&self.store)?;
        let no_pair = || Error::other("the account has no collection");
        let accounts = store.sync().accounts()?;
        let account = accounts.first().ok_or_else(no_pair)?;
        let pairs = store.sync().pairs(account.id)?;
        let copy = pairs.first().ok_or_else(no_pair)?.settings.collection;
        let done = work(&store.collection::<Card>(CollectionKey::Id(copy))?)?;
        store.close()?;
        Ok(done)
    }
}

impl SyncClient for EtuiClient {
    fn sync_command(&self) -> Result<Command, Error> {
        // The other program is beside it.
        let mut command = Command::new(find_etui()?.with_file_name(self.program));
        command.env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
        command.arg("sync").arg("--store").arg(&self.store);
        Ok(command)
    }

    fn cards(&self) -> Result<BTreeMap<String, String>, Error> {
        self.with_copy(|copy| {
            let all = copy.all()?;
            let texts = all.iter().map(|(_, text)| String::from_utf8_lossy(text));
            Ok(by_uid(texts.map(String::from)))
        })
    }

    fn change(&mut self, uid: &str, mark: &str) -> Result<(), Error> {
        self.with_copy(|copy| {
            // A card of version 4.0 may have it as a URI.
            let there = match copy.get(uid)? {
                Some(there) => Some(there),
                None => copy.get(format!("urn:uuid:{uid}").as_str())?,
            };
            let there = there.ok_or_else(|| Error::other(format!("no card {uid}")))?;
            let card = Card::parse(marked(&String::from_utf8_lossy(&there.text), mark))?;
            copy.save(&card)?;
            Ok(())
        })
    }
}
