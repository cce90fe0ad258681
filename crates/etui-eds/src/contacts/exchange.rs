//! Cards from the stock server and back to it, when the store takes its place.
//!
//! The stock server keeps pictures in files of its own; the store keeps them in the card. What the
//! stock server adds to phone numbers is taken off.

use std::path::Path;

use base64::Engine;
use etui::contacts::{Card, MAX_CARD, VCardVersion};
use etui_contentline::charset::to_utf8;
use etui_contentline::edit::{fold_line, head_without, own_lines};
use etui_contentline::lines::{ContentLine, ContentLines, parse_params};
use etui_contentline::values::{property_params, property_value, unescape_text};

use super::incoming::{IncomingCard, not_a_card};
use super::outgoing::{BASE64, PICTURE_PARAMS, inline_picture};
use super::phone::E164;
use super::pictures::{PictureCache, image_type, path_of_uri};
use crate::error::EdsResult;

/// Returns a card of the stock server as the store keeps it. Pictures in files below `picture_dir`
/// become part of it.
pub(crate) fn card_from_stock(text: &str, uid: &str, picture_dir: &Path) -> EdsResult<Card> {
    let mut out = String::with_capacity(text.len());
    for line in ContentLines::of_text(text) {
        match picture_of_file(&line, picture_dir) {
            Some(inline) => out.push_str(&inline),
            None => out.push_str(text.get(line.span.clone()).unwrap_or_default()),
        }
    }
    let none = PictureCache::new("/nonexistent".into());
    IncomingCard::parse(out)?.to_stored(uid, None, None, &none, &|_| None)
}

/// Returns a stored card as the stock server takes it: vCard 3.0 in UTF-8, with a UID.
pub(crate) fn card_for_stock(stored: &[u8], uid: &str) -> EdsResult<String> {
    let card = Card::parse(stored).map_err(not_a_card)?;
    let text = match card.version() {
        VCardVersion::V4_0 => card.to_v3(),
        _ => to_utf8(stored).into_owned(),
    };
    let none = PictureCache::new("/nonexistent".into());
    let card = IncomingCard::parse(text)?.to_stored(uid, None, None, &none, &|_| None)?;
    Ok(String::from_utf8_lossy(card.text()).into_owned())
}

/// Returns the lines of a card in a form in which two cards with the same content are equal, in
/// whatever way they are written: order, folds, escapes, and what the server sets by itself.
pub(crate) fn canonical_card(text: &[u8]) -> Vec<String> {
    let text = to_utf8(text);
    let lines = own_lines(text.as_bytes(), Some("VCARD"));
    let mut canonical: Vec<String> = lines.filter_map(|line| canonical_line(&line)).collect();
    canonical.sort();
    canonical
}

fn canonical_line(line: &ContentLine<'_>) -> Option<String> {
    let name = String::from_utf8_lossy(line.name).to_ascii_uppercase();
    if ["BEGIN", "END", "VERSION", "REV", "PRODID", ""].contains(&name.as_str()) {
        return None;
    }
    if let Some(picture) = inline_picture(line) {
        let hash = blake3::hash(&picture.bytes).to_hex();
        return Some(format!("{name}:{hash}"));
    }
    let value = unescape_text(&property_value(line));
    if value.trim_matches(';').is_empty() {
        return None;
    }
    let mut params = Vec::new();
    for param in parse_params(property_params(line).as_bytes()) {
        let upper = |text: &[u8]| String::from_utf8_lossy(text).to_ascii_uppercase();
        // Words alone are types, in vCard 2.1.
        let (name, values) = match param.value {
            Some(values) => (upper(param.name), upper(values)),
            None => ("TYPE".to_owned(), upper(param.name)),
        };
        if name == E164 || name == "ENCODING" || name == "CHARSET" {
            continue;
        }
        let values = values.split(',').map(|value| format!("{name}={value}"));
        params.extend(values);
    }
    params.sort();
    params.dedup();
    Some(format!("{name};{}:{value}", params.join(";")))
}

/// Returns the line of a picture in a file of the stock server, with the picture in it.
fn picture_of_file(line: &ContentLine<'_>, dir: &Path) -> Option<String> {
    if !line.name_is("PHOTO") && !line.name_is("LOGO") {
        return None;
    }
    let path = path_of_uri(&property_value(line))?;
    if !path.starts_with(dir) || std::fs::metadata(&path).ok()?.len() > MAX_CARD as u64 {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    let head = head_without(line, PICTURE_PARAMS);
    let encoded = BASE64.encode(&bytes);
    let text = format!(
        "{head};ENCODING=b;TYPE={}:{encoded}",
        image_type(None, &bytes)
    );
    Some(String::from_utf8_lossy(&fold_line(&text, b"\r\n")).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_the_stock_server_becomes_part_of_the_card() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a b.png");
        std::fs::write(&file, b"\x89PNG...").unwrap();
        let uri = format!("file://{}/a%20b.png", dir.path().display());
        let text = format!(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u\r\nFN:A\r\nPHOTO;VALUE=uri:{uri}\r\n\
             TEL;X-EVOLUTION-E164=1,\"+49\":+49 1\r\nEND:VCARD\r\n"
        );
        let card = card_from_stock(&text, "u", dir.path()).unwrap();
        let stored = String::from_utf8(card.text().to_vec()).unwrap();
        assert!(
            stored.contains("PHOTO;ENCODING=b;TYPE=PNG:iVBORy4uLg==\r\n"),
            "{stored}"
        );
        assert!(stored.contains("TEL:+49 1\r\n"));
        let elsewhere = card_from_stock(&text, "u", Path::new("/elsewhere")).unwrap();
        assert!(String::from_utf8_lossy(elsewhere.text()).contains(&uri));
    }

    #[test]
    fn ways_of_writing_do_not_count() {
        let one = b"BEGIN:VCARD\nVERSION:3.0\nFN:A\\, B\nTEL;TYPE=home,VOICE:1\nNOTE:\n\
                    REV:1\nPHOTO;ENCODING=b;TYPE=PNG:aGVsbG8=\nEND:VCARD\n";
        let other = b"BEGIN:VCARD\r\nVERSION:3.0\r\nPHOTO;TYPE=\"png\";ENCODING=BASE64:\r\n aGVs\
                      bG8=\r\nTEL;VOICE;HOME;X-EVOLUTION-E164=1,:1\r\nFN:A, B\r\nEND:VCARD\r\n";
        assert_eq!(canonical_card(one), canonical_card(other));
        let different = b"BEGIN:VCARD\nFN:A\\, C\nEND:VCARD\n";
        assert_ne!(canonical_card(one), canonical_card(different));
    }
}
