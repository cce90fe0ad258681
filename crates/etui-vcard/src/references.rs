//! References to other cards by UID: MEMBER (RFC 6350 §6.6.5), RELATED (§6.6.6) and Apple's members
//! of a group in vCard 3.0.

use std::collections::HashSet;

use crate::card::Card;
use crate::error::CardError;
use crate::property::PropertyValue;

/// The properties whose values name cards.
const REFERENCES: &[&str] = &["MEMBER", "X-ADDRESSBOOKSERVER-MEMBER", "RELATED"];

const URN: &str = "urn:uuid:";

impl Card {
    /// Replaces the UIDs `old` by `new` in the values of MEMBER, X-ADDRESSBOOKSERVER-MEMBER and
    /// RELATED, with or without `urn:uuid:` as they are written. A line that then repeats another one,
    /// or names the card itself, is removed. Returns true if the card changed.
    ///
    /// # Errors
    /// As [`Card::remove`].
    pub fn replace_references(&mut self, old: &[&str], new: &str) -> Result<bool, CardError> {
        let old: HashSet<String> = old.iter().map(|uid| uid_key(uid)).collect();
        let own = self.uid().map(uid_key);
        let mut changed = 0;
        for name in REFERENCES {
            let mut seen: HashSet<(Vec<String>, String)> = HashSet::new();
            let lines = self.named(name);
            seen.extend(lines.filter_map(|p| Some((p.types(), uid_key(p.first_text()?)))));
            changed += self.edit_lines(name, |property| {
                let property = property?;
                let text = property.first_text()?.trim();
                let is_text = property
                    .value_type()
                    .is_some_and(|t| t.eq_ignore_ascii_case("TEXT"));
                let key = uid_key(new);
                let is_own = own.as_ref() == Some(&key);
                let found = uid_key(text);
                if is_text || !(old.contains(&found) || is_own && found == key) {
                    return None;
                }
                if is_own || !seen.insert((property.types(), key)) {
                    return Some(None);
                }
                let new = match strip_urn(text) {
                    Some(_) if strip_urn(new).is_none() => format!("{URN}{new}"),
                    _ => new.to_owned(),
                };
                Some(Some(PropertyValue::Text(new)))
            })?;
        }
        Ok(changed > 0)
    }
}

/// Returns the form of a UID that is compared: UUIDs are written in any case, and with or without
/// their URN.
fn uid_key(uid: &str) -> String {
    let uid = uid.trim();
    strip_urn(uid).unwrap_or(uid).to_ascii_lowercase()
}

fn strip_urn(uid: &str) -> Option<&str> {
    let (urn, rest) = uid.split_at_checked(URN.len())?;
    urn.eq_ignore_ascii_case(URN).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_follow_a_merge() {
        for (line, expected) in [
            ("MEMBER:urn:uuid:b", "MEMBER:urn:uuid:a"),
            (
                "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:b",
                "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:a",
            ),
            (
                "item1.member;PID=1.1:URN:UUID:B",
                "item1.member;PID=1.1:urn:uuid:a",
            ),
            (
                "RELATED;TYPE=spouse:urn:uuid:b",
                "RELATED;TYPE=spouse:urn:uuid:a",
            ),
            ("RELATED;VALUE=text:b", "RELATED;VALUE=text:b"),
            (
                "MEMBER:urn:uuid:a\r\nMEMBER:urn:uuid:b",
                "MEMBER:urn:uuid:a",
            ),
            (
                "MEMBER:urn:uuid:b\r\nMEMBER:urn:uuid:c",
                "MEMBER:urn:uuid:a",
            ),
            ("MEMBER:urn:uuid:bb", "MEMBER:urn:uuid:bb"),
            ("X-A:urn:uuid:b", "X-A:urn:uuid:b"),
        ] {
            let text =
                |line| format!("BEGIN:VCARD\r\nVERSION:4.0\r\nFN:x\r\n{line}\r\nEND:VCARD\r\n");
            let mut card = Card::parse(text(line)).unwrap();
            let changed = card.replace_references(&["b", "c"], "a").unwrap();
            assert_eq!(String::from_utf8_lossy(card.text()), text(expected));
            assert_eq!(changed, line != expected);
        }
        let own =
            "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:x\r\nUID:a\r\nRELATED:urn:uuid:b\r\nEND:VCARD\r\n";
        let mut own = Card::parse(own).unwrap();
        assert!(own.replace_references(&["b"], "a").unwrap());
        assert_eq!(own.property("RELATED"), None);
    }
}
