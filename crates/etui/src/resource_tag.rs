//! [`ResourceTag`]: the strong ETag of a resource.

use std::fmt;
use std::str::FromStr;

use etui_text::varint;

use crate::types::ETag;

/// The version of a resource: its strong ETag (RFC 9110 section 8.8.3), without the quotes.
///
/// Two versions with one tag have the same bytes. It is computed without reading a text:
///
/// ```text
/// 0123456789abcdef0123456789abcdef                   a contact: the ETag of its record
/// 0123456789abcdef0123456789abcdef-1f2e3d4c5b6a      a calendar object: and the id of its template
/// 0123456789abcdef0123456789abcdef-1f2e3d4c5b6a-9af  and a hash of the order of its components, if
///                                                    that is not the order of the record
/// ```
///
/// The one part that it does not cover is a `VTIMEZONE` that the library writes itself, for a record
/// that names an IANA time zone and came without its definition: its rules are those of the time
/// zone database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResourceTag {
    etag: ETag,
    source: Option<i64>,
    order: u32,
}

impl ResourceTag {
    /// Returns the tag of a record with this ETag, source object and encoded positions in it.
    pub(crate) fn new(etag: ETag, source: Option<i64>, positions: &[u8]) -> Self {
        Self {
            etag,
            source,
            order: hash_order(positions),
        }
    }

    /// Returns the ETag of the record.
    #[must_use]
    pub fn etag(&self) -> ETag {
        self.etag
    }
}

/// Returns 0 if the positions ascend, else a hash of them.
fn hash_order(positions: &[u8]) -> u32 {
    let mut rest = positions;
    let mut last = 0;
    while let Some(position) = varint::take_u64(&mut rest) {
        if position < last {
            let mut first = [0; 4];
            first.copy_from_slice(&blake3::hash(positions).as_bytes()[..4]);
            return u32::from_be_bytes(first) | 1;
        }
        last = position;
    }
    0
}

impl fmt::Display for ResourceTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.etag)?;
        if let Some(source) = self.source {
            write!(f, "-{source:x}")?;
            if self.order != 0 {
                write!(f, "-{:x}", self.order)?;
            }
        }
        Ok(())
    }
}

/// The text is not the tag of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the tag of a resource is 32 hexadecimal digits, or these and more after a hyphen")]
pub struct InvalidResourceTag;

/// Parses a tag without its quotes. Only the form that [`Display`](fmt::Display) writes is a tag.
impl FromStr for ResourceTag {
    type Err = InvalidResourceTag;

    fn from_str(text: &str) -> Result<Self, InvalidResourceTag> {
        let mut parts = text.split('-');
        let etag = parts.next().and_then(|etag| etag.parse().ok());
        let source = parts.next().map(|source| u64::from_str_radix(source, 16));
        let order = parts.next().map(|order| u32::from_str_radix(order, 16));
        let tag = Self {
            etag: etag.ok_or(InvalidResourceTag)?,
            source: source
                .transpose()
                .map_err(|_| InvalidResourceTag)?
                .map(u64::cast_signed),
            order: order
                .transpose()
                .map_err(|_| InvalidResourceTag)?
                .unwrap_or(0),
        };
        match tag.to_string() == text {
            true => Ok(tag),
            false => Err(InvalidResourceTag),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tags_round_trip_as_text() {
        let etag = ETag::of(b"text");
        for (source, positions) in [
            (None, &[][..]),
            (Some(5), &[0]),
            (Some(-1), &[0, 1]),
            (Some(i64::MAX), &[1, 0]),
        ] {
            let tag = ResourceTag::new(etag, source, positions);
            assert_eq!(tag.to_string().parse(), Ok(tag), "{tag}");
        }
        let text = etag.to_string();
        let upper = text.to_uppercase();
        let more = [
            format!("{text}-"),
            format!("{text}-0f"),
            format!("{text}-1-0"),
            upper,
        ];
        let more = more.iter().map(String::as_str);
        for bad in ["", "*", "1", "-1", "x"].into_iter().chain(more) {
            assert_eq!(bad.parse::<ResourceTag>(), Err(InvalidResourceTag), "{bad}");
        }
    }

    #[test]
    fn the_order_of_the_components_is_in_the_tag() {
        let tag = |positions: &[u8]| ResourceTag::new(ETag::of(b""), Some(1), positions);
        assert_eq!(tag(&[0, 1]), tag(&[4, 9]));
        assert_ne!(tag(&[0, 1]), tag(&[1, 0]));
        assert_ne!(tag(&[0, 2, 1]), tag(&[2, 0, 1]));
    }
}
