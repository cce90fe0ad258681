//! Cards on the way from a client: the reverse of `outgoing`, with a UID and a new REV.
//!
//! A picture whose URI is one of this service becomes the picture again: the lines of the stored
//! card if it has that picture, else the file's content. Other lines stay as the client wrote them.
//! An edit of a stored 4.0 card is merged into it: 3.0 cannot say all that 4.0 can.

use base64::Engine;
use etui::contacts::{Card, VCardVersion};
use etui_contentline::charset::to_utf8;
use etui_contentline::edit::{fold_line, head_without, own_lines};
use etui_contentline::lines::{ContentLine, ContentLines};
use etui_contentline::values::{param_value, property_value};

use super::outgoing::{BASE64, FILE_AS, PICTURE_PARAMS, inline_picture, made_file_as, text_in_v3};
use super::phone::E164;
use super::pictures::PictureCache;
use super::words::{FindMember, GroupLines, StoredWords};
use crate::error::{EdsError, EdsResult, INVALID_ARGUMENT};

/// A card as a client sent it.
pub(super) struct IncomingCard {
    text: String,
    /// The UID in the text.
    pub(super) uid: Option<String>,
    /// The REV in the text.
    pub(super) revision: Option<String>,
}

impl IncomingCard {
    /// Checks that a text is one card.
    ///
    /// # Errors
    /// [`INVALID_ARGUMENT`] with the reason.
    pub(super) fn parse(text: String) -> EdsResult<Self> {
        let card = Card::parse(text.as_bytes()).map_err(not_a_card)?;
        Ok(Self {
            uid: card.uid().map(str::to_owned),
            revision: card.property("REV"),
            text,
        })
    }

    /// Returns the card to be stored under `uid`. With a `revision` its REV is set to it.
    ///
    /// # Errors
    /// [`INVALID_ARGUMENT`] if the card is too large with its pictures.
    pub(super) fn to_stored(
        &self,
        uid: &str,
        revision: Option<&str>,
        stored: Option<&[u8]>,
        pictures: &PictureCache,
        find: FindMember<'_>,
    ) -> EdsResult<Card> {
        let stored_v3 = stored.map(text_in_v3).unwrap_or_default();
        let mut words = StoredWords::of(&stored_v3);
        let group = GroupLines::of(&stored_v3).edited(&self.text, find);
        let mut out = Vec::with_capacity(self.text.len() + 64);
        let stored_card = stored.and_then(|stored| Card::parse(stored).ok());
        let stored_v4 = stored_card.filter(|card| card.version() == VCardVersion::V4_0);
        let made = stored_v4.as_ref().and_then(made_file_as);
        let mut added = group.added.clone();
        if self.uid.is_none() {
            added.push_str(&format!("UID:{uid}\r\n"));
        }
        if let Some(revision) = revision {
            added.push_str(&format!("REV:{revision}\r\n"));
        }
        for line in ContentLines::of_text(&self.text) {
            if line.name_is("END") {
                out.extend_from_slice(added.as_bytes());
                added.clear();
            }
            match () {
                () if line.name_is("REV") && revision.is_some() => {}
                () if line.name_is(FILE_AS) && made.as_deref() == Some(&*property_value(&line)) => {
                }
                () if group.drops(&line) => {}
                // An empty UID counts as none.
                () if line.name_is("UID") && self.uid.is_none() => {}
                () if line.name_is("TEL") && param_value(&line, E164).is_some() => {
                    let head = head_without(&line, &[E164]);
                    let value = property_value(&line);
                    out.extend(fold_line(&format!("{head}:{value}"), b"\r\n"));
                }
                () if line.name_is("PHOTO") || line.name_is("LOGO") => {
                    match picture_lines(&line, stored, pictures) {
                        Some(lines) => out.extend(lines),
                        None => out.extend_from_slice(line.raw()),
                    }
                }
                () => match words.line(&line) {
                    Some(stored) => out.extend_from_slice(stored.as_bytes()),
                    None => out.extend_from_slice(line.raw()),
                },
            }
        }
        let card = Card::parse(out).map_err(not_a_card)?;
        match stored_v4 {
            Some(stored) if card.version() == VCardVersion::V3_0 => {
                stored.merge_v3(&card).map_err(not_a_card)
            }
            _ => Ok(card),
        }
    }
}

pub(super) fn not_a_card(error: etui::contacts::CardError) -> EdsError {
    EdsError::new(INVALID_ARGUMENT, error.to_string())
}

/// Returns the lines of the picture that a URI of this service identifies.
fn picture_lines(
    line: &ContentLine<'_>,
    stored: Option<&[u8]>,
    pictures: &PictureCache,
) -> Option<Vec<u8>> {
    let file = pictures.file_of_uri(&property_value(line))?;
    let stored = stored.map(to_utf8).unwrap_or_default();
    let mut kept = None;
    for stored in own_lines(stored.as_bytes(), Some("VCARD")) {
        if stored.name.eq_ignore_ascii_case(line.name)
            && let Some(picture) = inline_picture(&stored)
            && pictures.is_file_of(&file, &picture)
        {
            if stored.is_base64() {
                return Some(stored.raw().to_vec());
            }
            // A `data:` URI of version 4.0; the line becomes one of 3.0.
            kept = Some(picture);
        }
    }
    let picture = kept.or_else(|| pictures.read(&file))?;
    let head = head_without(line, PICTURE_PARAMS);
    let encoded = BASE64.encode(picture.bytes);
    let text = format!("{head};ENCODING=b;TYPE={}:{encoded}", picture.image_type);
    Some(fold_line(&text, b"\r\n"))
}

#[cfg(test)]
mod tests {
    use super::super::outgoing::write_outgoing;
    use super::*;

    #[test]
    fn a_card_that_comes_back_untouched_is_the_stored_one() {
        let dir = tempfile::tempdir().unwrap();
        let pictures = PictureCache::new(dir.path().to_owned());
        let stored = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u\r\nFN:A\r\nTEL;TYPE=HOME:+49 30 1234567\r\n\
                      PHOTO;ENCODING=BASE64;TYPE=PNG:aGVs\r\n bG8=\r\nREV:1\r\nEND:VCARD\r\n";
        let sent = write_outgoing(stored.as_bytes(), String::new, &pictures, &|_| None);
        let back = IncomingCard::parse(sent.text.clone()).unwrap();
        assert_eq!(back.uid.as_deref(), Some("u"));
        assert_eq!(back.revision.as_deref(), Some("1"));
        let card = back
            .to_stored("u", None, Some(stored.as_bytes()), &pictures, &|_| None)
            .unwrap();
        assert_eq!(std::str::from_utf8(card.text()).unwrap(), stored);

        // Given to another contact, the URI is the same picture.
        let other = sent.text.replace("UID:u", "UID:v");
        let card = IncomingCard::parse(other).unwrap();
        let card = card
            .to_stored("v", Some("2"), None, &pictures, &|_| None)
            .unwrap();
        let text = std::str::from_utf8(card.text()).unwrap();
        assert!(
            text.contains("PHOTO;ENCODING=b;TYPE=PNG:aGVsbG8=\r\n"),
            "{text}"
        );
        assert!(
            text.contains("REV:2\r\nEND") && !text.contains("REV:1"),
            "{text}"
        );
    }

    #[test]
    fn an_edit_of_a_4_0_card_keeps_what_3_0_cannot_say() {
        let dir = tempfile::tempdir().unwrap();
        let pictures = PictureCache::new(dir.path().to_owned());
        let stored = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:u\r\nFN:A\r\nBDAY:1815\r\nREV:1\r\n\
                      PHOTO:data:image/png;base64,aGVsbG8=\r\nTEL;PREF=2:+49 30 1\r\nEND:VCARD\r\n";
        let sent = write_outgoing(stored.as_bytes(), String::new, &pictures, &|_| None).text;
        assert!(sent.contains("PHOTO;VALUE=uri:file:"), "{sent}");
        let edit = |text: String| {
            let card = IncomingCard::parse(text).unwrap();
            let card = card.to_stored("u", None, Some(stored.as_bytes()), &pictures, &|_| None);
            String::from_utf8(card.unwrap().into_text()).unwrap()
        };
        assert_eq!(edit(sent.clone()), stored);
        assert_eq!(
            edit(sent.replace("FN:A", "FN:B")),
            stored.replace("FN:A", "FN:B")
        );
        let filed = sent.replace("FILE-AS:A", "FILE-AS:Countess");
        assert!(edit(filed).contains("X-EVOLUTION-FILE-AS:Countess\r\n"));
    }

    #[test]
    fn a_card_without_uid_gets_one() {
        let pictures = PictureCache::new("/nowhere".into());
        let card = IncomingCard::parse("BEGIN:VCARD\nFN:A\nEND:VCARD".into()).unwrap();
        assert_eq!(card.uid, None);
        let card = card
            .to_stored("made", None, None, &pictures, &|_| None)
            .unwrap();
        assert_eq!(card.uid(), Some("made"));
    }
}
