//! [`Change`], and a batch of them as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// A change of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// The hash of all but the device and the time.
    pub(super) id: String,
    /// The collection: kind and name.
    pub(super) place: String,
    /// The name of the record in it.
    pub(super) name: String,
    /// The changes that it replaces.
    pub(super) replaces: Vec<String>,
    /// The text; `None`: it was removed, or the text was left out.
    pub(super) text: Option<Vec<u8>>,
    /// The text was left out, long after it was replaced.
    pub(super) is_left_out: bool,
    /// The text of the changes that it replaces, whose files were lost.
    pub(super) is_again: bool,
    pub(super) device: String,
    /// When it was written, in Unix ms.
    pub(super) at: i64,
}

impl Change {
    pub(super) fn new(
        (place, name): (&str, &str),
        replaces: Vec<String>,
        text: Option<Vec<u8>>,
        is_again: bool,
        device: &str,
    ) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(place.as_bytes());
        part(name.as_bytes());
        replaces.iter().for_each(|id| part(id.as_bytes()));
        part(&[u8::from(text.is_some()), u8::from(is_again)]);
        part(text.as_deref().unwrap_or_default());
        Self {
            id: hasher.finalize().to_hex()[..32].to_owned(),
            place: place.to_owned(),
            name: name.to_owned(),
            replaces,
            text,
            is_left_out: false,
            is_again,
            device: device.to_owned(),
            at: crate::run::now_ms(),
        }
    }

    pub(super) fn without_text(&self) -> Self {
        Self {
            text: None,
            is_left_out: true,
            ..self.clone()
        }
    }
}

/// A change as it is written.
#[derive(Serialize, Deserialize)]
struct WrittenChange {
    id: String,
    place: String,
    name: String,
    #[serde(default)]
    replaces: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// A text that is not UTF-8, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    left_out: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    again: bool,
    at: i64,
}

#[derive(Serialize, Deserialize)]
struct WrittenBatch {
    device: String,
    changes: Vec<WrittenChange>,
}

pub(super) fn write_batch(device: &str, changes: &[Change]) -> serde_json::Result<Vec<u8>> {
    let changes = changes.iter().map(|change| {
        let text = change.text.as_deref().map(str::from_utf8);
        WrittenChange {
            id: change.id.clone(),
            place: change.place.clone(),
            name: change.name.clone(),
            replaces: change.replaces.clone(),
            bytes: match (&text, &change.text) {
                (Some(Err(_)), Some(bytes)) => Some(STANDARD.encode(bytes)),
                _ => None,
            },
            text: text.and_then(Result::ok).map(str::to_owned),
            left_out: change.is_left_out,
            again: change.is_again,
            at: change.at,
        }
    });
    serde_json::to_vec(&WrittenBatch {
        device: device.to_owned(),
        changes: changes.collect(),
    })
}

/// Reads a batch; `None` if it is none.
pub(super) fn read_batch(text: &[u8]) -> Option<Vec<Change>> {
    let batch: WrittenBatch = serde_json::from_slice(text).ok()?;
    let changes = batch.changes.into_iter().map(|one| {
        let bytes = match one.bytes {
            Some(bytes) => Some(STANDARD.decode(bytes).ok()?),
            None => None,
        };
        Some(Change {
            id: one.id,
            place: one.place,
            name: one.name,
            replaces: one.replaces,
            text: one.text.map(String::into_bytes).or(bytes),
            is_left_out: one.left_out,
            is_again: one.again,
            device: batch.device.clone(),
            at: one.at,
        })
    });
    changes.collect()
}
