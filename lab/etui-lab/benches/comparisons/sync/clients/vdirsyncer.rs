//! vdirsyncer: the copy is a folder with a file for each card.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::super::dav::expected::uid_of;
use super::super::super::dav::products::{make_dirs, run_command, tool_command, write_file};
use super::super::marked;
use super::super::served::Served;
use super::SyncClient;
use etui_lab::Error;

pub(super) const PROGRAM: &str = "vdirsyncer";
pub(super) const REMEDY: &str =
    "`pip install vdirsyncer`, in an environment whose programs are in PATH";

pub(super) struct Vdirsyncer {
    home: PathBuf,
}

impl Vdirsyncer {
    pub(super) fn pair(dir: &Path, served: &Served) -> Result<Self, Error> {
        let client = Self {
            home: dir.to_owned(),
        };
        make_dirs(&client.copy())?;
        let config = format!(
            "[general]\nstatus_path = \"{}\"\n\
             [pair book]\na = \"here\"\nb = \"there\"\ncollections = null\n\
             [storage here]\ntype = \"filesystem\"\npath = \"{}\"\nfileext = \".vcf\"\n\
             [storage there]\ntype = \"carddav\"\nurl = \"{}\"\nusername = \"{}\"\npassword = \"{}\"\n",
            dir.join("status").display(),
            client.copy().display(),
            served.book_url(),
            served.user(),
            served.password()
        );
        write_file(&client.config(), &config)?;
        run_command(client.command("discover")?.arg("--no-list"))?;
        Ok(client)
    }

    fn copy(&self) -> PathBuf {
        self.home.join("book")
    }

    fn config(&self) -> PathBuf {
        self.home.join("config")
    }

    fn command(&self, name: &str) -> Result<Command, Error> {
        let mut command = tool_command(PROGRAM)?;
        command
            .env("HOME", &self.home)
            .env("LC_ALL", "C.UTF-8")
            .arg("--config")
            .arg(self.config())
            .arg(name);
        Ok(command)
    }

    /// Returns files and texts of the cards by UID.
    fn files(&self) -> Result<BTreeMap<String, (PathBuf, String)>, Error> {
        let mut files = BTreeMap::new();
        let copy = self.copy();
        for entry in fs::read_dir(&copy).map_err(|e| Error::file(&copy, e))? {
            let path = entry.map_err(|e| Error::file(&copy, e))?.path();
            let text = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
            if let Some(uid) = uid_of(&text) {
                files.insert(uid, (path, text));
            }
        }
        Ok(files)
    }
}

impl SyncClient for Vdirsyncer {
    fn sync_command(&self) -> Result<Command, Error> {
        self.command("sync")
    }

    fn cards(&self) -> Result<BTreeMap<String, String>, Error> {
        let files = self.files()?.into_iter();
        Ok(files.map(|(uid, (_, text))| (uid, text)).collect())
    }

    fn change(&mut self, uid: &str, mark: &str) -> Result<(), Error> {
        let files = self.files()?;
        let found = files.get(uid);
        let (path, text) = found.ok_or_else(|| Error::other(format!("no card {uid}")))?;
        write_file(path, &marked(text, mark))
    }
}
