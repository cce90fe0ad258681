//! UIDs of records: `palm-addr-00a1b2-0123456789abcdef`, of the creator, the unique id and the content.
//!
//! A file imported again gives the same UIDs, also after an export. A device that gives an id to
//! another record does not replace the record that had it.

use crate::database::DatabaseRecord;
use crate::kind::DatabaseKind;

/// Returns the UID of a record.
pub(crate) fn record_uid(kind: DatabaseKind, record: &DatabaseRecord) -> String {
    let hash = blake3::hash(&record.data).to_hex();
    let hash = hash.get(..16).unwrap_or_default();
    let creator = kind.creator_text();
    format!(
        "palm-{creator}-{:06x}-{hash}",
        record.unique_id & 0x00FF_FFFF
    )
}

/// Returns the unique id in a UID that [`record_uid`] made; `None` for other UIDs and for 0.
pub(crate) fn unique_id(kind: DatabaseKind, uid: &str) -> Option<u32> {
    let rest = uid
        .strip_prefix("palm-")?
        .strip_prefix(kind.creator_text())?;
    let (id, hash) = rest.strip_prefix('-')?.split_once('-')?;
    let is_hex =
        |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_hex(id, 6) || !is_hex(hash, 16) {
        return None;
    }
    u32::from_str_radix(id, 16).ok().filter(|id| *id != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unique_id_is_found_again() {
        let record = DatabaseRecord {
            unique_id: 0xA1B2,
            ..DatabaseRecord::default()
        };
        let uid = record_uid(DatabaseKind::Addresses, &record);
        assert_eq!(uid, "palm-addr-00a1b2-af1349b9f5f9a1a6");
        assert_eq!(unique_id(DatabaseKind::Addresses, &uid), Some(0xA1B2));
        assert_eq!(unique_id(DatabaseKind::Memos, &uid), None);
        for other in [
            "",
            "palm-addr-",
            "palm-addr-00a1b2",
            "palm-addr-00a1b2-x",
            "ada",
        ] {
            assert_eq!(unique_id(DatabaseKind::Addresses, other), None, "{other}");
        }
    }
}
