//! [`Summary`]: what the list of a calendar shows of a record without reading its text.
//!
//! ```text
//! summary := flags:u8 status:u8 [start] [end] title location       times as in `moment`
//! flags   := kind (2 bits) | recurs | in series | alarms | transparent | start | end
//! title   := length:varint bytes
//! location   := length:varint bytes
//! ```

use super::Status;
use super::ics::ComponentKind;
use super::time::CalendarTime;
use super::time_codec::{self, ZoneInterner};
use crate::record::keys::clip_text;
use etui_text::varint;

const RECURS: u8 = 1 << 2;
const SERIES: u8 = 1 << 3;
const ALARMS: u8 = 1 << 4;
const TRANSPARENT: u8 = 1 << 5;
const START: u8 = 1 << 6;
const END: u8 = 1 << 7;

/// Longest title and location that are shown, in bytes.
pub(super) const MAX_SHOWN: usize = 200;

const KINDS: [ComponentKind; 3] = [
    ComponentKind::Event,
    ComponentKind::Todo,
    ComponentKind::Journal,
];

/// A calendar record as lists show it, without reading its text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Kind of its master component.
    pub kind: ComponentKind,
    /// Title (`SUMMARY`); empty if there is none.
    pub title: String,
    /// Location (`LOCATION`); empty if there is none.
    pub location: String,
    /// Start of its first occurrence; of a to-do without start, its due time.
    pub start: Option<CalendarTime>,
    /// End of that occurrence.
    pub end: Option<CalendarTime>,
    /// True if it recurs.
    pub recurs: bool,
    /// True if it has alarms.
    pub alarms: bool,
    /// Status.
    pub status: Option<Status>,
    /// True if it takes up no time in free/busy.
    pub transparent: bool,
    /// True if it has an entry in `series`.
    pub(crate) in_series: bool,
}

impl Summary {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        let kind = KINDS.iter().position(|k| *k == self.kind).unwrap_or(0) as u8;
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        out.push(
            kind | flag(self.recurs, RECURS)
                | flag(self.in_series, SERIES)
                | flag(self.alarms, ALARMS)
                | flag(self.transparent, TRANSPARENT)
                | flag(self.start.is_some(), START)
                | flag(self.end.is_some(), END),
        );
        let status = self
            .status
            .and_then(|s| Status::ALL.iter().position(|(_, o)| *o == s));
        // 0: no status.
        out.push(status.map_or(0, |at| at as u8 + 1));
        for time in self.start.iter().chain(&self.end) {
            time_codec::push_time(&mut out, time);
        }
        varint::push_bytes(&mut out, clip_text(&self.title, MAX_SHOWN).as_bytes());
        varint::push_bytes(&mut out, clip_text(&self.location, MAX_SHOWN).as_bytes());
        out
    }
}

/// A stored summary; its texts are borrowed.
pub(super) struct StoredSummary<'a> {
    flags: u8,
    pub(super) status: Option<Status>,
    pub(super) start: Option<CalendarTime>,
    pub(super) end: Option<CalendarTime>,
    pub(super) title: &'a [u8],
    pub(super) location: &'a [u8],
}

impl<'a> StoredSummary<'a> {
    /// Decodes a summary. Damaged bytes are decoded as far as possible.
    pub(super) fn from_bytes(mut bytes: &'a [u8], zones: &mut ZoneInterner) -> Self {
        let (flags, status) = match bytes {
            [flags, status, rest @ ..] => {
                bytes = rest;
                (*flags, *status)
            }
            _ => (0, 0),
        };
        let mut time = |flag: u8, bytes: &mut &'a [u8]| {
            (flags & flag != 0)
                .then(|| time_codec::take_time(bytes, zones))
                .flatten()
        };
        let start = time(START, &mut bytes);
        let end = time(END, &mut bytes);
        Self {
            flags,
            status: usize::from(status)
                .checked_sub(1)
                .and_then(|at| Some(Status::ALL.get(at)?.1)),
            start,
            end,
            title: varint::take_bytes(&mut bytes).unwrap_or_default(),
            location: varint::take_bytes(&mut bytes).unwrap_or_default(),
        }
    }

    pub(super) fn kind(&self) -> ComponentKind {
        KINDS
            .get(usize::from(self.flags & 3))
            .copied()
            .unwrap_or(ComponentKind::Event)
    }

    pub(super) fn in_series(&self) -> bool {
        self.flags & SERIES != 0
    }

    pub(super) fn is_transparent(&self) -> bool {
        self.flags & TRANSPARENT != 0
    }

    pub(super) fn summary(self) -> Summary {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Summary {
            kind: self.kind(),
            title: text(self.title),
            location: text(self.location),
            recurs: self.flags & RECURS != 0,
            alarms: self.flags & ALARMS != 0,
            transparent: self.is_transparent(),
            in_series: self.in_series(),
            status: self.status,
            start: self.start,
            end: self.end,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::calendar::time::Timestamp;

    fn decode(bytes: &[u8]) -> Summary {
        StoredSummary::from_bytes(bytes, &mut ZoneInterner::default()).summary()
    }

    #[test]
    fn summaries_read_back_as_written() {
        let summary = Summary {
            kind: ComponentKind::Journal,
            title: "Concert".to_owned(),
            location: "Hall".to_owned(),
            start: Some(CalendarTime::Utc(Timestamp::from_seconds(5))),
            end: None,
            recurs: true,
            alarms: true,
            status: Some(Status::Final),
            transparent: true,
            in_series: true,
        };
        let bytes = summary.to_bytes();
        assert_eq!(decode(&bytes), summary);
        for end in 0..bytes.len() {
            let _ = decode(&bytes[..end]);
        }
        assert_eq!(decode(&[]), Summary::default());
    }
}
