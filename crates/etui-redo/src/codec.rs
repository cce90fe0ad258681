//! The payload of a record: the pages of a transaction, as the byte ranges that it changed.
//!
//! ```text
//! payload: pages in ascending order of their numbers; the record's header has their number
//!
//! page:    varint   page number
//!          varint   kind: 2n     n ranges over the page's previous image
//!                         2n + 1 n ranges over zeros
//!                         0      no data: the page is in place. Its previous image is equal, or it
//!                                is new and was written to the database file, and flushed, before
//!                                the record
//!          8 bytes  hash of the page after the transaction
//!          ranges in ascending order:
//!            varint   distance from the end of the previous range (or the start of the page)
//!            varint   length
//!            bytes    new contents
//! ```
//!
//! A varint has seven bits in a byte, the lowest first; the high bit means that more bytes follow.

use std::io;

use crate::page_diff::differing_ranges;

/// The smallest page size of SQLite.
pub const SMALLEST_PAGE: usize = 512;

/// The largest page size of SQLite.
pub const LARGEST_PAGE: usize = 1 << 16;

static ZEROS: [u8; LARGEST_PAGE] = [0; LARGEST_PAGE];

/// Returns true if the number is a valid page size.
pub fn is_page_size(size: usize) -> bool {
    size.is_power_of_two() && (SMALLEST_PAGE..=LARGEST_PAGE).contains(&size)
}

fn put_varint(to: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn varint_len(number: u32) -> usize {
    match number {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        0x20_0000..0x1000_0000 => 4,
        0x1000_0000.. => 5,
    }
}

fn encoded_len(ranges: &[(u32, u32)]) -> usize {
    let mut last = 0;
    let mut len = 0;
    for &(begin, end) in ranges {
        len += varint_len(begin - last) + varint_len(end - begin) + (end - begin) as usize;
        last = end;
    }
    len
}

/// Returns true if the encoded ranges may exceed `most` bytes: a quick upper bound for few ranges.
fn may_exceed(ranges: &[(u32, u32)], most: usize) -> bool {
    // Varints of offsets within a page take at most three bytes.
    let bytes: u32 = ranges.iter().map(|(begin, end)| end - begin + 6).sum();
    bytes as usize > most
}

/// Encodes pages, and keeps its buffers for the next ones.
#[derive(Debug, Default)]
pub struct PageEncoder {
    ranges: Vec<(u32, u32)>,
    on_zeros: Vec<(u32, u32)>,
}

impl PageEncoder {
    /// Appends a page. `before` is `None` if the previous image is not reliable; it has the length
    /// of `after`, a page size. `hash` is that of `after`.
    pub fn page(
        &mut self,
        to: &mut Vec<u8>,
        number: u32,
        before: Option<&[u8]>,
        after: &[u8],
        hash: u64,
    ) {
        let size = after.len();
        let whole = before.is_none_or(|before| {
            differing_ranges(before, after, &mut self.ranges);
            // Where most of a page changed, ranges over zeros may be shorter than over its previous
            // image.
            may_exceed(&self.ranges, size / 2) && encoded_len(&self.ranges) > size / 2
        });
        let mut ranges = &self.ranges;
        let mut on_zeros = false;
        if whole && let Some(zeros) = ZEROS.get(..size) {
            differing_ranges(zeros, after, &mut self.on_zeros);
            on_zeros = before.is_none() || encoded_len(&self.on_zeros) <= encoded_len(&self.ranges);
            if on_zeros {
                ranges = &self.on_zeros;
            }
        }
        put_varint(to, number);
        put_varint(to, (ranges.len() as u32) << 1 | u32::from(on_zeros));
        to.extend_from_slice(&hash.to_le_bytes());
        let mut last = 0;
        for &(begin, end) in ranges {
            let (gap, len) = (begin - last, end - begin);
            if gap < 0x80 && len < 0x80 {
                to.extend_from_slice(&[gap as u8, len as u8]);
            } else {
                put_varint(to, gap);
                put_varint(to, len);
            }
            to.extend_from_slice(after.get(begin as usize..end as usize).unwrap_or_default());
            last = end;
        }
    }
}

/// Appends a page that is in place.
pub fn page_in_place(to: &mut Vec<u8>, number: u32, hash: u64) {
    put_varint(to, number);
    put_varint(to, 0);
    to.extend_from_slice(&hash.to_le_bytes());
}

/// The reason why a payload cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The encoder did not write it.
    #[error("it is damaged")]
    Damaged,
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A sequential reader of a payload.
pub trait PayloadSource {
    /// Returns the next bytes, at most a page.
    ///
    /// # Errors
    ///
    /// The payload ends before, or cannot be read.
    fn take(&mut self, len: usize) -> Result<&[u8], DecodeError>;
}

impl PayloadSource for &[u8] {
    fn take(&mut self, len: usize) -> Result<&[u8], DecodeError> {
        let (taken, rest) = self.split_at_checked(len).ok_or(DecodeError::Damaged)?;
        *self = rest;
        Ok(taken)
    }
}

fn take_varint(source: &mut impl PayloadSource) -> Result<u32, DecodeError> {
    let mut number = 0_u64;
    for shift in [0, 7, 14, 21, 28] {
        let byte = source.take(1)?.first().copied().unwrap_or(0);
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(number).map_err(|_| DecodeError::Damaged);
        }
    }
    Err(DecodeError::Damaged)
}

/// The header of a page, before its ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageHeader {
    /// The page number, from 1.
    pub number: u32,
    /// The ranges apply to zeros instead of the previous image.
    pub on_zeros: bool,
    /// The hash of the page after the transaction.
    pub hash: u64,
    ranges: u32,
}

impl PageHeader {
    /// Reads the header of the next page.
    ///
    /// # Errors
    ///
    /// The payload is damaged or cannot be read.
    pub fn read(source: &mut impl PayloadSource) -> Result<Self, DecodeError> {
        let number = take_varint(source)?;
        let ranges = take_varint(source)?;
        let hash = crate::u64_at(source.take(8)?, 0);
        if number == 0 {
            return Err(DecodeError::Damaged);
        }
        let (on_zeros, ranges) = (ranges & 1 != 0, ranges >> 1);
        Ok(Self {
            number,
            on_zeros,
            hash,
            ranges,
        })
    }

    /// Returns true if the page is in place: there are no ranges to apply.
    pub fn is_in_place(&self) -> bool {
        self.ranges == 0 && !self.on_zeros
    }

    /// Reads the ranges of the page and applies them to an image of it.
    ///
    /// # Errors
    ///
    /// The payload is damaged or cannot be read.
    pub fn apply(
        &self,
        source: &mut impl PayloadSource,
        image: &mut [u8],
    ) -> Result<(), DecodeError> {
        if self.on_zeros {
            image.fill(0);
        }
        let mut at = 0_usize;
        for _ in 0..self.ranges {
            at = at.saturating_add(take_varint(source)? as usize);
            let len = take_varint(source)? as usize;
            let end = at.saturating_add(len);
            let to = image.get_mut(at..end).ok_or(DecodeError::Damaged)?;
            if to.is_empty() {
                return Err(DecodeError::Damaged);
            }
            to.copy_from_slice(source.take(len)?);
            at = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::hash;
    use proptest::prelude::*;

    fn round_trip(before: Option<&[u8]>, after: &[u8]) -> usize {
        let mut payload = Vec::new();
        PageEncoder::default().page(&mut payload, 7, before, after, hash(after));
        let mut source = payload.as_slice();
        let head = PageHeader::read(&mut source).unwrap();
        assert_eq!((head.number, head.hash), (7, hash(after)));
        let mut image = before.map_or_else(|| vec![0xee; after.len()], <[u8]>::to_vec);
        head.apply(&mut source, &mut image).unwrap();
        assert!(image == after && source.is_empty());
        payload.len()
    }

    #[test]
    fn a_page_that_did_not_change_takes_its_head_only() {
        let page = vec![3; 4096];
        assert_eq!(round_trip(Some(&page), &page), 10);
    }

    #[test]
    fn a_page_in_place_is_one_that_did_not_change() {
        let page = vec![3; 4096];
        let (mut one, mut two) = (Vec::new(), Vec::new());
        page_in_place(&mut one, 300, hash(&page));
        PageEncoder::default().page(&mut two, 300, Some(&page), &page, hash(&page));
        assert_eq!(one, two);
        assert!(PageHeader::read(&mut one.as_slice()).unwrap().is_in_place());
    }

    #[test]
    fn ranges_are_exact_and_near_ones_are_one() {
        let before = vec![1; 512];
        let mut after = before.clone();
        after[31] = 2;
        after[32] = 2;
        after[36] = 2;
        after[100] = 2;
        // Two ranges: six bytes from 31, one at 100.
        assert_eq!(round_trip(Some(&before), &after), 10 + (2 + 6) + (2 + 1));
    }

    #[test]
    fn a_new_page_takes_no_more_than_what_is_in_it() {
        let mut after = vec![0; 65_536];
        after[..100].fill(9);
        after[65_000..].fill(9);
        assert!(round_trip(None, &after) < 10 + 636 + 10);
        assert!(round_trip(Some(&vec![7; 65_536]), &after) < 10 + 636 + 10);
    }

    #[test]
    fn nonsense_is_an_error() {
        for bytes in [
            &[][..],
            &[0x80],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0],
        ] {
            assert!(PageHeader::read(&mut &*bytes).is_err());
        }
        let mut payload = Vec::new();
        let page = [5; 512];
        PageEncoder::default().page(&mut payload, 1, None, &page, 0);
        let mut source = payload.as_slice();
        let head = PageHeader::read(&mut source).unwrap();
        assert!(head.apply(&mut source, &mut [0; 256]).is_err());
    }

    fn page() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 512),
            proptest::collection::vec(prop_oneof![9 => Just(0_u8), 1 => any::<u8>()], 1024),
        ]
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(
            before in page(),
            writes in proptest::collection::vec((any::<u16>(), any::<u8>(), 0_usize..40), 0..20),
        ) {
            let mut after = before.clone();
            for (at, byte, len) in writes {
                let at = at as usize % after.len();
                let end = (at + len).min(after.len());
                after[at..end].fill(byte);
            }
            round_trip(Some(&before), &after);
            round_trip(None, &after);
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut source = bytes.as_slice();
            let mut image = vec![0; 512];
            while let Ok(head) = PageHeader::read(&mut source) {
                if head.apply(&mut source, &mut image).is_err() {
                    break;
                }
            }
        }
    }
}
