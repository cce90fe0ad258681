//! Files that the VFS refuses, and its reasons.

use std::io;
use std::path::Path;
use std::sync::Arc;

use etui_testkit::disk::{MountedDisks, RecordingDisk};
use etui_vfs::Options;
use etui_vfs::device::{Access, File, Platform, Role};
use rusqlite::{Connection, OpenFlags};

/// A disk of another machine.
#[derive(Debug)]
struct Far(MountedDisks);

impl Platform for Far {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        if role == Role::Database {
            let why = "it is on NFS, a file system of the network";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        self.0.open(path, role, access)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.0.exists(path)
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        self.0.remove(path, durably)
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        self.0.sync_directory_of(path)
    }
}

#[test]
fn a_file_system_of_the_network_is_refused() {
    let rack = MountedDisks::new();
    let disk = RecordingDisk::new();
    let mount = rack.mount(&disk);
    let options = Options::default();
    etui_vfs::register_with("far", options, Arc::new(Far(rack.clone()))).unwrap();
    let flags = OpenFlags::default();
    let refused = Connection::open_with_flags_and_vfs(mount.path("/db"), flags, "far");
    let code = refused.err().and_then(|error| error.sqlite_error_code());
    assert_eq!(code, Some(rusqlite::ErrorCode::CannotOpen));
    let why = etui_vfs::last_refusal().unwrap();
    assert!(
        why.contains("/db cannot be opened") && why.contains("NFS"),
        "{why}"
    );
    assert!(disk.files().names.is_empty());
}
