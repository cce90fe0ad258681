//! [`PictureCache`]: pictures of contacts as files, which clients read by `file://` URIs.
//!
//! The store keeps a picture in its card. A file is named by the hash of its content
//! (`cache/pictures/HASH.jpeg`), so that equal pictures share a file and a URI that comes back
//! identifies its content.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use etui::contacts::MAX_CARD;

use crate::error::{EdsError, EdsResult, OTHER};

/// Hexadecimal digits of a content's hash in a file's name.
const HASH_DIGITS: usize = 32;

/// The directory with the files of pictures.
#[derive(Debug)]
pub(super) struct PictureCache {
    dir: PathBuf,
}

/// A picture as it is in a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    /// The image file's bytes.
    pub(super) bytes: Vec<u8>,
    /// The type, such as `JPEG`.
    pub(super) image_type: String,
}

impl Picture {
    /// Returns the name of the picture's file.
    fn file_name(&self) -> String {
        let hash = blake3::hash(&self.bytes).to_hex();
        let extension = self.image_type.to_ascii_lowercase();
        format!("{}.{extension}", &hash[..HASH_DIGITS])
    }
}

impl PictureCache {
    /// Returns the cache in a directory, which is made when the first picture is kept.
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Writes the file of a picture, if it is not there, and returns its URI.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn publish(&self, picture: &Picture) -> EdsResult<String> {
        let path = self.dir.join(picture.file_name());
        if !path.exists() {
            self.write_file(&path, &picture.bytes)
                .map_err(|e| EdsError::new(OTHER, format!("{}: a picture: {e}", path.display())))?;
        }
        Ok(uri_of_path(&path))
    }

    /// Writes under another name first: a reader never sees half a picture.
    fn write_file(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }

    /// Returns the name of the file if a URI is one of this cache.
    pub(super) fn file_of_uri(&self, uri: &str) -> Option<String> {
        let path = path_of_uri(uri)?;
        let name = path.file_name()?.to_str()?;
        let (hash, extension) = name.split_once('.')?;
        let is_ours = path.parent() == Some(self.dir.as_path())
            && hash.len() == HASH_DIGITS
            && hash.bytes().all(|b| b.is_ascii_hexdigit())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric());
        is_ours.then(|| name.to_owned())
    }

    /// Reads the picture of a file that [`PictureCache::file_of_uri`] returned.
    pub(super) fn read(&self, file_name: &str) -> Option<Picture> {
        let path = self.dir.join(file_name);
        // A file larger than a card can be is not from here.
        if fs::metadata(&path).ok()?.len() > MAX_CARD as u64 {
            return None;
        }
        let (_, extension) = file_name.split_once('.')?;
        Some(Picture {
            bytes: fs::read(path).ok()?,
            image_type: extension.to_ascii_uppercase(),
        })
    }

    /// Whether a picture has this file.
    pub(super) fn is_file_of(&self, file_name: &str, picture: &Picture) -> bool {
        let hash = blake3::hash(&picture.bytes).to_hex();
        file_name.starts_with(&hash[..HASH_DIGITS])
    }
}

/// `file:///a%20b` for `/a b`.
fn uri_of_path(path: &Path) -> String {
    let mut uri = String::from("file://");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// Returns the path of a `file://` URI.
pub(super) fn path_of_uri(uri: &str) -> Option<PathBuf> {
    let mut bytes = uri.strip_prefix("file://")?.bytes();
    let mut path = Vec::new();
    while let Some(byte) = bytes.next() {
        path.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    Some(PathBuf::from(String::from_utf8(path).ok()?))
}

/// The type of an image: as the card says, else by its first bytes.
pub(super) fn image_type(declared: Option<&str>, bytes: &[u8]) -> String {
    let declared = declared.map(|text| text.rsplit('/').next().unwrap_or(text));
    match declared {
        Some(name)
            if !name.is_empty()
                && name.len() <= 8
                && name.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            name.to_ascii_uppercase()
        }
        _ if bytes.starts_with(b"\x89PNG") => "PNG".to_owned(),
        _ if bytes.starts_with(b"GIF8") => "GIF".to_owned(),
        _ => "JPEG".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_picture_is_found_by_its_uri() {
        let dir = tempfile::tempdir().unwrap();
        let cache = PictureCache::new(dir.path().join("a b"));
        let picture = Picture {
            bytes: b"\x89PNG...".to_vec(),
            image_type: image_type(None, b"\x89PNG..."),
        };
        let uri = cache.publish(&picture).unwrap();
        assert!(uri.contains("a%20b/") && uri.ends_with(".png"), "{uri}");
        let file = cache.file_of_uri(&uri).unwrap();
        assert_eq!(cache.read(&file).unwrap(), picture);
        assert!(cache.is_file_of(&file, &picture));
        for other in ["file:///etc/passwd", "http://x/y", "file:///x/%zz"] {
            assert_eq!(cache.file_of_uri(other), None);
        }
        assert_eq!(cache.file_of_uri(&uri.replace(".png", "/../x.png")), None);
    }
}
