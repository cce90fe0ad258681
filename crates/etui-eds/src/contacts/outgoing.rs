//! Cards on the way to a client.
//!
//! ```text
//! TEL:+49 30 1234567          TEL;X-EVOLUTION-E164=301234567,"+49":+49 30 1234567
//! PHOTO;ENCODING=b:...        PHOTO;VALUE=uri:file:///.../HASH.jpeg
//! no UID, no REV              the record's UID and a REV made of its content
//! 4.0 with FN, without N      X-EVOLUTION-FILE-AS, without which Evolution saves no edit
//! IMPP, spouses, groups       in the desktop's words: `words`
//! ```
//!
//! All other lines stay byte for byte; a card that is not UTF-8 or of another version than 3.0 is
//! converted.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use etui::ETag;
use etui::contacts::Card;
use etui_contentline::charset::to_utf8;
use etui_contentline::edit::head_without;
use etui_contentline::lines::{ContentLine, ContentLines};
use etui_contentline::values::{escape_text, param_value, property_value};
use memchr::memmem;

use super::phone::{E164, WrittenNumber, push_e164};
use super::pictures::{Picture, PictureCache, image_type};
use super::words::{DesktopWords, FindMember, GroupLines};

/// Base64 with or without padding.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A card as clients get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutgoingCard {
    /// The UID.
    pub(super) uid: String,
    /// The vCard.
    pub(super) text: String,
}

/// Writes a stored card for clients. `record_uid` returns the record's UID; it is called if the
/// text has none. `find` finds the members of a group.
pub(super) fn write_outgoing(
    stored: &[u8],
    record_uid: impl FnOnce() -> String,
    pictures: &PictureCache,
    find: FindMember<'_>,
) -> OutgoingCard {
    let text = text_in_v3(stored);
    let mut words = DesktopWords::new(&text);
    let mut out = String::with_capacity(text.len() + 160);
    let (mut uid, mut has_rev, mut end) = (None, false, None);
    for line in ContentLines::of_text(&text) {
        let raw = text.get(line.span.clone()).unwrap_or_default();
        if line.name_is("TEL") {
            if !push_phone(&mut out, &line) {
                out.push_str(raw);
            }
            continue;
        }
        if (line.name_is("PHOTO") || line.name_is("LOGO"))
            && let Some(picture) = inline_picture(&line)
            && let Ok(uri) = pictures.publish(&picture)
        {
            let head = head_without(&line, PICTURE_PARAMS);
            push_line(&mut out, &format!("{head};VALUE=uri:{uri}"));
            continue;
        }
        if line.name_is("UID") && uid.is_none() {
            let value = property_value(&line);
            uid = (!value.is_empty()).then(|| value.into_owned());
        }
        if let Some(changed) = words.line(&line) {
            push_line(&mut out, &changed);
            continue;
        }
        has_rev |= line.name_is("REV");
        if line.name_is("END") {
            end = Some(out.len());
        }
        out.push_str(raw);
    }
    let end = end.unwrap_or(out.len());
    out.insert_str(end, &GroupLines::of(&text).list_lines(find));
    if !has_rev {
        out.insert_str(end, &format!("REV:{}\r\n", made_revision(stored)));
    }
    let uid = uid.unwrap_or_else(|| {
        let uid = record_uid();
        out.insert_str(end, &format!("UID:{uid}\r\n"));
        uid
    });
    OutgoingCard { uid, text: out }
}

/// Writes the files of a stored card's pictures, so that the next list need not: the files of
/// thousands of pictures take longer than the list (`etui lab run phonebook`, every vCard with its
/// name). A picture whose file cannot be written stays in the card.
pub(super) fn publish_pictures(stored: &[u8], pictures: &PictureCache) {
    if memmem::find(stored, b"PHOTO").is_some() || memmem::find(stored, b"LOGO").is_some() {
        write_outgoing(stored, String::new, pictures, &|_| None);
    }
}

/// Returns the card as vCard 3.0, the one version that clients before 3.59 read.
pub(super) fn text_in_v3(stored: &[u8]) -> Cow<'_, str> {
    let text = to_utf8(stored);
    if text.contains("VERSION:3.0") {
        return text;
    }
    let Ok(card) = Card::parse(stored) else {
        return text;
    };
    let mut text = card.to_v3();
    if let Some(file_as) = made_file_as(&card)
        && let Some(end) = text.rfind("END:VCARD")
    {
        text.insert_str(end, &format!("{FILE_AS}:{file_as}\r\n"));
    }
    Cow::Owned(text)
}

/// The property that Evolution sorts by and requires.
pub(super) const FILE_AS: &str = "X-EVOLUTION-FILE-AS";

/// Returns the value of [`FILE_AS`] that a card of version 4.0 goes out with: its FN, if it has
/// neither that property nor N.
pub(super) fn made_file_as(card: &Card) -> Option<String> {
    if ["N", FILE_AS]
        .iter()
        .any(|name| card.property(name).is_some())
    {
        return None;
    }
    let name = card.property("FN").filter(|name| !name.is_empty())?;
    Some(escape_text(&name, "\\,;", "\\n"))
}

/// Writes the short form of a card, for views that ask for UID and REV alone.
pub(super) fn write_brief(uid: &str, revision: &str) -> OutgoingCard {
    OutgoingCard {
        uid: uid.to_owned(),
        text: format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nREV:{revision}\r\nEND:VCARD\r\n"),
    }
}

/// Returns the REV that clients see of a stored card.
pub(super) fn revision_of(stored: &[u8], card: &Card) -> String {
    card.property("REV")
        .filter(|rev| !rev.is_empty())
        .unwrap_or_else(|| made_revision(stored))
}

/// A REV for a card without one. It differs with the content.
fn made_revision(stored: &[u8]) -> String {
    let etag = ETag::of(stored).to_string();
    format!("1970-01-01T00:00:00Z({})", &etag[..8])
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push_str("\r\n");
}

/// Appends a TEL line with the parts of its number; returns false if it has none.
fn push_phone(out: &mut String, line: &ContentLine<'_>) -> bool {
    let value = property_value(line);
    let Some(number) = WrittenNumber::parse(value.strip_prefix("tel:").unwrap_or(&value)) else {
        return false;
    };
    out.push_str(&head_without(line, &[E164]));
    out.push(';');
    push_e164(out, &number);
    out.push(':');
    push_line(out, &value);
    true
}

/// The parameters that say how a picture is encoded.
pub(super) const PICTURE_PARAMS: &[&str] = &["ENCODING", "TYPE", "BASE64", "B", "VALUE"];

/// Returns the picture that a line holds itself.
pub(super) fn inline_picture(line: &ContentLine<'_>) -> Option<Picture> {
    let value = property_value(line);
    let declared;
    let encoded = match value.strip_prefix("data:") {
        Some(data) => {
            let (media_type, encoded) = data.split_once(";base64,")?;
            declared = Some(Cow::Borrowed(media_type));
            encoded
        }
        None if line.is_base64() => {
            declared = param_value(line, "TYPE");
            &value
        }
        None => return None,
    };
    let mut encoded = encoded.as_bytes().to_vec();
    encoded.retain(|byte| !byte.is_ascii_whitespace());
    let bytes = BASE64.decode(encoded).ok()?;
    Some(Picture {
        image_type: image_type(declared.as_deref(), &bytes),
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(body: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let pictures = PictureCache::new(dir.path().to_owned());
        let card = format!("BEGIN:VCARD\r\nVERSION:3.0\r\n{body}END:VCARD\r\n");
        let written = write_outgoing(card.as_bytes(), || "record".to_owned(), &pictures, &|_| {
            None
        });
        let dir = dir.path().to_str().unwrap().to_owned();
        written.text.replace(&dir, "DIR")
    }

    #[test]
    fn uid_and_rev_are_present() {
        let text = outgoing("FN:A\r\n");
        assert!(
            text.contains("FN:A\r\nUID:record\r\nREV:1970-01-01T00:00:00Z("),
            "{text}"
        );
        let whole = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u\r\nREV:r\r\nFN:A\r\nEND:VCARD\r\n";
        assert_eq!(outgoing("UID:u\r\nREV:r\r\nFN:A\r\n"), whole);
    }

    #[test]
    fn other_versions_go_out_as_3_0() {
        let pictures = PictureCache::new("/nowhere".into());
        let card = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:u\r\nFN:A\r\nTEL;VALUE=uri:tel:+49-30-1234567\r\n\
                    END:VCARD\r\n";
        let text = write_outgoing(card.as_bytes(), String::new, &pictures, &|_| None).text;
        assert!(text.contains("VERSION:3.0\r\n"), "{text}");
        assert!(
            text.contains("X-EVOLUTION-E164=301234567,\"+49\":+49-30-1234567"),
            "{text}"
        );
    }

    #[test]
    fn a_4_0_card_without_n_has_a_file_as() {
        let pictures = PictureCache::new("/nowhere".into());
        let text = |body: &str| {
            let card = format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:u\r\n{body}END:VCARD\r\n");
            write_outgoing(card.as_bytes(), String::new, &pictures, &|_| None).text
        };
        let made = text("FN:Ada\\, Countess\r\n");
        assert!(
            made.contains("X-EVOLUTION-FILE-AS:Ada\\, Countess\r\n"),
            "{made}"
        );
        assert!(!text("FN:Ada\r\nN:Lovelace;Ada;;;\r\n").contains(FILE_AS));
        let own = text("FN:Ada\r\nX-EVOLUTION-FILE-AS:Countess\r\n");
        assert_eq!(own.matches(FILE_AS).count(), 1, "{own}");
    }

    #[test]
    fn numbers_get_their_parts_and_pictures_a_file() {
        let text = outgoing("TEL;TYPE=HOME:+49 30 1234567\r\nTEL:ask me\r\n");
        assert!(text.contains("\r\nTEL;TYPE=HOME;X-EVOLUTION-E164=301234567,\"+49\":+49 30"));
        assert!(text.contains("\r\nTEL:ask me\r\n"));
        let text = outgoing("PHOTO;ENCODING=b;TYPE=PNG:aGVs\r\n bG8=\r\n");
        assert!(text.contains("\r\nPHOTO;VALUE=uri:file://DIR/"), "{text}");
        assert!(text.contains(".png\r\n"));
    }
}
