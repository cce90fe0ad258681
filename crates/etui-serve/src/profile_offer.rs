//! [`ProfileOffer`]: a profile that a running server hands out once, to whoever knows its address.
//!
//! ```text
//! DIRECTORY/.etui-profile-HASH   HASH: of the secret in the address, BLAKE3, 16 bytes in hexadecimal
//!
//! offset  bytes
//!      0      8  Unix time at which it expires, big-endian
//!      8      *  the profile, sealed (crate etui-seal); its key is the secret
//! ```
//!
//! A profile has a password in it. The file shows neither that nor the address: only both together are of use,
//! also in a backup. The directory is that of the stores, which a command and the server know both.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etui_seal::SealKey;

use crate::private_file::replace_file;

/// How long a profile is offered. An iPhone forgets one that was downloaded and not installed after eight minutes.
pub const OFFERED: Duration = Duration::from_secs(10 * 60);

/// The beginning of the files' names.
const PREFIX: &str = ".etui-profile-";

/// Bytes of the time before the sealed profile.
const HEAD: usize = 8;

/// The longest file, in bytes: a profile has a few KiB.
const MAX_FILE: u64 = 1 << 20;

/// A profile that is offered.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProfileOffer {
    /// The path of its address: `/profile/SECRET.mobileconfig`.
    pub path: String,
    /// The time until which it is offered.
    pub until: SystemTime,
}

impl ProfileOffer {
    /// Offers a profile in the directory of the stores.
    ///
    /// # Errors
    /// Those of writing the file, and of the system's random numbers.
    pub fn put(directory: &Path, profile: &[u8]) -> io::Result<Self> {
        remove_expired(directory, SystemTime::now());
        let secret = SealKey::generate().map_err(io::Error::other)?;
        let until = SystemTime::now() + OFFERED;
        let since = until.duration_since(UNIX_EPOCH);
        let head = since.map_err(io::Error::other)?.as_secs().to_be_bytes();
        let sealed = etui_seal::seal(&secret, &head, profile).map_err(io::Error::other)?;
        let file = file_of(directory, &secret);
        replace_file(&file, &[head.as_slice(), &sealed].concat(), 0o600)?;
        Ok(Self {
            // With the ending by which browsers know profiles that do not look at the media type.
            path: format!("{PROFILE_PATH}{}{ENDING}", secret.to_text()),
            until,
        })
    }
}

/// The beginning of the paths of profiles.
pub const PROFILE_PATH: &str = "/profile/";

/// The end of the paths of profiles, which may be left out.
const ENDING: &str = ".mobileconfig";

/// Takes the profile with a path out of the directory of the stores: of several requests one gets it. `None`: the path
/// is wrong, or the profile was taken, or expired.
///
/// # Errors
/// Those of reading the file.
pub fn take_profile(directory: &Path, path: &str, now: SystemTime) -> io::Result<Option<Vec<u8>>> {
    remove_expired(directory, now);
    let secret = path.strip_prefix(PROFILE_PATH).unwrap_or_default();
    let secret = secret.strip_suffix(ENDING).unwrap_or(secret);
    let Ok(secret) = secret.parse::<SealKey>() else {
        return Ok(None);
    };
    let file = file_of(directory, &secret);
    let mut taken = file.clone().into_os_string();
    taken.push("-taken");
    match std::fs::rename(&file, &taken) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        renamed => renamed?,
    }
    let read = read_file(Path::new(&taken));
    std::fs::remove_file(&taken)?;
    let bytes = read?;
    // One that is damaged is as good as none.
    let Some((head, sealed)) = bytes.split_at_checked(HEAD) else {
        return Ok(None);
    };
    Ok(etui_seal::open(&secret, head, sealed).ok())
}

fn file_of(directory: &Path, secret: &SealKey) -> PathBuf {
    let hash = blake3::hash(secret.to_text().as_bytes()).to_hex();
    let hash = hash.get(..32).unwrap_or_default();
    directory.join(format!("{PREFIX}{hash}"))
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Removes the profiles that are offered no more, and what killed processes left of some. A file that cannot be removed
/// is sealed, and shows nothing.
pub fn remove_expired(directory: &Path, now: SystemTime) {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_profile = name.to_str().is_some_and(|name| name.starts_with(PREFIX));
        if is_profile && is_expired(&entry.path(), now) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn is_expired(path: &Path, now: SystemTime) -> bool {
    let mut head = [0; HEAD];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    let until = match read {
        Ok(()) => UNIX_EPOCH.checked_add(Duration::from_secs(u64::from_be_bytes(head))),
        // Not written whole: it may still be.
        Err(_) => std::fs::metadata(path)
            .and_then(|file| file.modified())
            .ok()
            .map(|modified| modified + OFFERED),
    };
    // A clock that was set back would offer it for longer.
    until.is_none_or(|until| until <= now || until > now + OFFERED)
}
