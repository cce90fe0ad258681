//! [`SyncKind`]: the differences between contacts and calendars.

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::resource::Resource;
use etui::{CollectionKind, Error};
use etui_contentline::merge::{MergeConflict, MergeSide, MergeWinner};
use etui_dav::client::RemoteKind;
use etui_vcard::{CardSide, VCardVersion};

/// A text when both sides last agreed, and now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'t> {
    /// Empty if they never agreed.
    pub(crate) base: &'t [u8],
    pub(crate) text: &'t [u8],
}

/// A kind of records that can be in step with a server.
pub trait SyncKind: Resource {
    /// The kind on the server.
    const REMOTE: RemoteKind;

    /// Merges the changes of both sides.
    #[doc(hidden)]
    fn merge(
        ours: (&[u8], &[u8]),
        theirs: (&[u8], &[u8]),
        winner: MergeWinner,
    ) -> Result<(Vec<u8>, Vec<MergeConflict>), Error>;

    /// Returns the text as it is sent to the server.
    #[doc(hidden)]
    fn outgoing(text: &[u8], takes_v4: bool) -> Vec<u8>;
}

pub(crate) fn merge<R: SyncKind>(
    ours: Side<'_>,
    theirs: Side<'_>,
) -> Result<(Vec<u8>, Vec<MergeConflict>, MergeWinner), Error> {
    // The newer one wins; ours if neither says.
    let winner = match stamp(theirs.text) > stamp(ours.text) {
        true => MergeWinner::Theirs,
        false => MergeWinner::Ours,
    };
    let (text, conflicts) = R::merge((ours.base, ours.text), (theirs.base, theirs.text), winner)?;
    Ok((text, conflicts, winner))
}

impl SyncKind for Card {
    const REMOTE: RemoteKind = RemoteKind::Contacts;

    fn merge(
        ours: (&[u8], &[u8]),
        theirs: (&[u8], &[u8]),
        winner: MergeWinner,
    ) -> Result<(Vec<u8>, Vec<MergeConflict>), Error> {
        let parse = |text: &[u8]| Self::parse(text).map_err(Error::from);
        // A base that cannot be read is none: differences are then conflicts.
        let base = |text: &[u8]| Self::parse(text).ok();
        let bases = (base(ours.0), base(theirs.0));
        let (card, conflicts) = Self::merge_three_way(
            CardSide {
                base: bases.0.as_ref(),
                card: &parse(ours.1)?,
            },
            CardSide {
                base: bases.1.as_ref(),
                card: &parse(theirs.1)?,
            },
            winner,
        )?;
        Ok((card.into_text(), conflicts))
    }

    fn outgoing(text: &[u8], takes_v4: bool) -> Vec<u8> {
        match Self::parse(text) {
            // What 3.0 cannot say goes out in the forms that Apple and DAVx5 know.
            Ok(card) if card.version() != VCardVersion::V3_0 && !takes_v4 => {
                card.to_v3().into_bytes()
            }
            _ => text.to_vec(),
        }
    }
}

impl SyncKind for CalendarObject {
    const REMOTE: RemoteKind = RemoteKind::Calendar;

    fn merge(
        ours: (&[u8], &[u8]),
        theirs: (&[u8], &[u8]),
        winner: MergeWinner,
    ) -> Result<(Vec<u8>, Vec<MergeConflict>), Error> {
        // Calendar objects are UTF-8 (RFC 5545 section 3.1.4); other bytes are taken as marks.
        let [ours_base, ours, theirs_base, theirs] =
            [ours.0, ours.1, theirs.0, theirs.1].map(String::from_utf8_lossy);
        let merged = etui_ical::merge_three_way(
            MergeSide {
                base: &ours_base,
                text: &ours,
            },
            MergeSide {
                base: &theirs_base,
                text: &theirs,
            },
            winner,
        );
        Ok((merged.text.into_bytes(), merged.conflicts))
    }

    fn outgoing(text: &[u8], _takes_v4: bool) -> Vec<u8> {
        text.to_vec()
    }
}

/// Returns the values of a property in an unfolded text.
pub(crate) fn values<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = String> + 't {
    text.lines().filter_map(move |line| {
        let (head, value) = line.split_once(':')?;
        let own = head.split(';').next()?.rsplit('.').next()?;
        own.eq_ignore_ascii_case(name)
            .then(|| value.trim().to_owned())
    })
}

/// Returns a text with each of its lines on one line (RFC 6350 section 3.2).
pub(crate) fn unfold(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).replace("\r\n", "\n");
    text.replace("\n ", "").replace("\n\t", "")
}

/// Returns when a text was last changed, as far as it says: the digits of REV or LAST-MODIFIED.
pub(crate) fn stamp(text: &[u8]) -> String {
    let text = unfold(text);
    let digits = |value: String| {
        value
            .chars()
            .filter(char::is_ascii_digit)
            .take(14)
            .collect()
    };
    let all = values(&text, "REV").chain(values(&text, "LAST-MODIFIED"));
    all.map(digits).max().unwrap_or_default()
}

/// Returns the UID in a text.
pub(crate) fn uid_of(text: &[u8]) -> Option<String> {
    let text = unfold(text);
    values(&text, "UID").find(|uid| !uid.is_empty())
}

/// Returns the name of a contact, or the title and the day of an entry, for people.
pub(crate) fn title_of(text: &[u8], kind: CollectionKind) -> String {
    let text = unfold(text);
    let first = |name| values(&text, name).find(|value| !value.is_empty());
    let found = match kind {
        CollectionKind::Calendar => {
            let title = first("SUMMARY").unwrap_or_else(|| "without a title".to_owned());
            // Of the entry itself, not of a zone, whose rules begin in another century.
            let day = values(&text, "DTSTART").map(|day| day.chars().take(8).collect::<String>());
            let is_day = |day: &String| day.len() == 8 && day.bytes().all(|b| b.is_ascii_digit());
            match day.filter(is_day).max() {
                Some(day) => Some(format!(
                    "{title}, {}-{}-{}",
                    &day[..4],
                    &day[4..6],
                    &day[6..]
                )),
                None => Some(title),
            }
        }
        _ => first("FN")
            .or_else(|| first("ORG"))
            .or_else(|| first("EMAIL")),
    };
    let found = found.unwrap_or_else(|| "without a name".to_owned());
    let plain = found
        .replace("\\,", ",")
        .replace("\\;", ";")
        .replace("\\n", " ");
    plain
        .chars()
        .filter(|c| !c.is_control())
        .take(120)
        .collect()
}

/// Returns a text with the line ends of its format. XML reads CR LF as LF (XML 1.0 section 2.11), if the server does not
/// escape it.
pub(crate) fn with_line_ends(text: &str) -> Vec<u8> {
    text.replace("\r\n", "\n")
        .replace('\n', "\r\n")
        .into_bytes()
}
