//! [`Folder`]: files that vdirsyncer keeps in step with a server.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use etui_dav::client::RemoteKind;
use tempfile::TempDir;

use super::dav::{Dav, value};
use super::place::{Edited, Place};

pub struct Folder {
    dir: TempDir,
}

impl Folder {
    pub fn of(there: &Dav) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = Self { dir };
        let path = |name: &str| folder.dir.path().join(name).display().to_string();
        let mut config = format!("[general]\nstatus_path = \"{}\"\n", path("status"));
        let sides = [
            (RemoteKind::Contacts, "book", "carddav", ".vcf"),
            (RemoteKind::Calendar, "calendar", "caldav", ".ics"),
        ];
        for (kind, name, storage, extension) in sides {
            fs::create_dir(path(name)).unwrap();
            let server = &there.server;
            config += &format!(
                "[pair {name}]\na = \"{name}_here\"\nb = \"{name}_there\"\ncollections = null\n\
                 [storage {name}_here]\ntype = \"filesystem\"\npath = \"{}\"\nfileext = \"{extension}\"\n\
                 [storage {name}_there]\ntype = \"{storage}\"\nurl = \"http://{}{}\"\nusername = \"{}\"\n\
                 password = \"{}\"\n",
                path(name),
                server.address,
                there.path(kind),
                server.user,
                server.password
            );
        }
        fs::write(path("config"), config).unwrap();
        folder.run(&["discover"]);
        folder
    }

    fn run(&self, arguments: &[&str]) {
        let output = Command::new("vdirsyncer")
            .args(arguments)
            .env("VDIRSYNCER_CONFIG", self.dir.path().join("config"))
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("vdirsyncer: {error}; run: scripts/need vdirsyncer"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }

    pub fn sync(&self) {
        // One side may be empty.
        self.run(&["sync", "--force-delete"]);
    }

    fn files<R: Edited>(&self) -> BTreeMap<String, (PathBuf, String)> {
        let name = match R::REMOTE {
            RemoteKind::Contacts => "book",
            RemoteKind::Calendar => "calendar",
        };
        let files = fs::read_dir(self.dir.path().join(name)).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        let mut all = BTreeMap::new();
        for path in paths.filter(|path| path.to_string_lossy().ends_with(R::EXTENSION)) {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.replace("\r\n", "\n").replace('\n', "\r\n");
            let twin = all.insert(value(&text, "UID").unwrap(), (path, text));
            assert!(twin.is_none(), "a UID is there twice: {twin:?}");
        }
        all
    }
}

impl Place for Folder {
    const KEEPS: bool = false;

    fn texts<R: Edited>(&self) -> BTreeMap<String, String> {
        let files = self.files::<R>().into_iter();
        files.map(|(uid, (_, text))| (uid, text)).collect()
    }

    fn add<R: Edited>(&self, uid: &str, text: &str) {
        let name = match R::REMOTE {
            RemoteKind::Contacts => "book",
            RemoteKind::Calendar => "calendar",
        };
        let folder = self.dir.path().join(name);
        // A text of another UID may have this name.
        let mut path = folder.join(format!("{uid}{}", R::EXTENSION));
        for n in 0.. {
            if !path.exists() {
                break;
            }
            path = folder.join(format!("{uid}-{n}{}", R::EXTENSION));
        }
        fs::write(path, text).unwrap();
    }

    fn change<R: Edited>(&self, uid: &str, text: &str) {
        let (path, _) = &self.files::<R>()[uid];
        // A new file, which is another one for certain.
        let written = path.with_extension("new");
        fs::write(&written, text).unwrap();
        fs::rename(&written, path).unwrap();
    }

    fn remove<R: Edited>(&self, uid: &str) {
        let (path, _) = &self.files::<R>()[uid];
        fs::remove_file(path).unwrap();
    }

    fn kept_texts<R: Edited>(&self) -> String {
        self.texts::<R>().into_values().collect()
    }
}
