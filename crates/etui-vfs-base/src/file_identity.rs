//! The device and inode of a file, asked without its times.
//!
//! Since Linux 6.13 ("multigrain timestamps") a file whose times were read gets new ones with its next
//! write, where it otherwise keeps those of the last tick of the clock. ext4 then writes the inode
//! with the next flush: a commit that compared names by `stat` wrote one more block than one that did not.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags, fstat, makedev, stat, statx};
use rustix::io::Errno;

/// Returns the device and the inode number of a file; links are followed.
///
/// # Errors
/// Any error of `statx`, such as that there is no such file.
pub fn file_identity(path: &Path) -> io::Result<(u64, u64)> {
    match statx(CWD, path, AtFlags::empty(), StatxFlags::INO) {
        Ok(found) => Ok((
            makedev(found.stx_dev_major, found.stx_dev_minor),
            found.stx_ino,
        )),
        // Some sandboxes do not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {
            let found = stat(path)?;
            Ok((found.st_dev, found.st_ino))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the device and the inode number of an open file.
///
/// # Errors
/// Any error of `statx`.
pub(crate) fn identity_of(file: &impl AsFd) -> io::Result<(u64, u64)> {
    match statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::INO) {
        Ok(found) => Ok((
            makedev(found.stx_dev_major, found.stx_dev_minor),
            found.stx_ino,
        )),
        Err(Errno::NOSYS | Errno::PERM) => {
            let found = fstat(file)?;
            Ok((found.st_dev, found.st_ino))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_is_that_of_the_metadata() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        std::fs::write(&file, b"x").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let metadata = std::fs::metadata(&file).unwrap();
        let expected = (metadata.dev(), metadata.ino());
        assert_eq!(file_identity(&file).unwrap(), expected);
        assert_eq!(file_identity(&link).unwrap(), expected);
        assert_eq!(
            identity_of(&std::fs::File::open(&file).unwrap()).unwrap(),
            expected
        );
        let missing = file_identity(&dir.path().join("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
