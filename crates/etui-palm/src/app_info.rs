//! [`AppInfo`]: the categories of a database, and the field labels of AddressDB.
//!
//! ```text
//!   0  u16       renamed categories, a bit for each
//!   2  16 x 16s  names
//! 258  16 x u8   ids
//! 274  u8        last id        275  u8  pad
//! 276            the application's own
//!                AddressDB: u32, 22 x 16s labels of fields, u8 country, ...
//! ```

use crate::bytes::{ByteReader, until_zero};
use crate::code_page::CodePage;
use crate::kind::DatabaseKind;

/// Number of categories, the first of which is none.
pub const CATEGORIES: usize = 16;
/// Bytes of a name with its zero byte.
const NAME: usize = 16;
/// Number of labels of AddressDB.
const LABELS: usize = 22;
/// Index of the label of the first custom field.
const CUSTOM_LABEL: usize = 14;

/// The name of the first category: none.
const UNFILED: &str = "Unfiled";

/// The labels of a new AddressDB.
const DEFAULT_LABELS: [&str; LABELS] = [
    "Last name",
    "First name",
    "Company",
    "Work",
    "Home",
    "Fax",
    "Other",
    "E-mail",
    "Address",
    "City",
    "State",
    "Zip Code",
    "Country",
    "Title",
    "Custom 1",
    "Custom 2",
    "Custom 3",
    "Custom 4",
    "Note",
    "Main",
    "Pager",
    "Mobile",
];

/// The categories of a database, and the labels of its custom fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppInfo {
    /// The names of the categories by index; index 0 and empty names are none.
    pub categories: Vec<String>,
    /// The labels of the custom fields of AddressDB; empty for the usual ones.
    pub custom_labels: [String; 4],
}

impl AppInfo {
    /// Parses an app info. Parts that are cut off are empty.
    pub fn parse(info: &[u8], kind: DatabaseKind, page: CodePage) -> Self {
        let mut bytes = ByteReader::new(info);
        let text = |name: [u8; NAME]| page.decode(until_zero(&name)).text.trim().to_owned();
        let mut parsed = Self::default();
        if bytes.u16().is_none() {
            return parsed;
        }
        for _ in 0..CATEGORIES {
            let Some(name) = bytes.array::<NAME>() else {
                return parsed;
            };
            parsed.categories.push(text(name));
        }
        if let Some(none) = parsed.categories.first_mut() {
            none.clear();
        }
        // Ids, last id, pad, and the application's first number.
        let own = bytes.array::<{ CATEGORIES + 2 + 4 }>();
        if kind != DatabaseKind::Addresses || own.is_none() {
            return parsed;
        }
        for at in 0..LABELS {
            let Some(label) = bytes.array::<NAME>() else {
                break;
            };
            let custom = at.checked_sub(CUSTOM_LABEL);
            let place = custom.and_then(|at| parsed.custom_labels.get_mut(at));
            if let (Some(place), Some(usual)) = (place, DEFAULT_LABELS.get(at)) {
                let label = text(label);
                if label != *usual {
                    *place = label;
                }
            }
        }
        parsed
    }

    /// Returns the texts of an app info, to detect their code page.
    pub(crate) fn texts(info: &[u8]) -> impl Iterator<Item = &[u8]> {
        let names = info.get(2..2 + CATEGORIES * NAME).unwrap_or_default();
        names.chunks(NAME).map(until_zero)
    }

    /// Returns the name of a category; `None` for none.
    pub fn category(&self, index: usize) -> Option<&str> {
        let name = self.categories.get(index)?;
        (index > 0 && !name.is_empty()).then_some(name)
    }

    /// Returns the index of the category with this name, adding it if there is room; `None` if
    /// there is none. The name must fit ([`fit_name`]).
    pub(crate) fn add_category(&mut self, name: &str) -> Option<usize> {
        if self.categories.is_empty() {
            self.categories.push(String::new());
        }
        let known = self.categories.iter().skip(1).position(|n| n == name);
        if let Some(at) = known {
            return Some(at + 1);
        }
        if self.categories.len() >= CATEGORIES {
            return None;
        }
        self.categories.push(name.to_owned());
        Some(self.categories.len() - 1)
    }

    /// Returns the app info of a new database.
    pub(crate) fn encode(&self, kind: DatabaseKind, page: CodePage) -> Vec<u8> {
        let mut out = vec![0, 0];
        let mut names = self.categories.iter().map(String::as_str);
        names.next();
        push_name(&mut out, UNFILED, page);
        for _ in 1..CATEGORIES {
            push_name(&mut out, names.next().unwrap_or_default(), page);
        }
        out.extend(0..16u8);
        out.extend([15, 0]);
        match kind {
            DatabaseKind::Addresses => {
                out.extend([0; 4]);
                for (at, usual) in DEFAULT_LABELS.iter().enumerate() {
                    let custom = at.checked_sub(CUSTOM_LABEL);
                    let custom = custom.and_then(|at| self.custom_labels.get(at));
                    let label = custom.filter(|label| !label.is_empty());
                    push_name(&mut out, label.map_or(*usual, String::as_str), page);
                }
                out.extend([0; 4]);
            }
            DatabaseKind::Appointments => out.extend([0; 2]),
            DatabaseKind::Tasks | DatabaseKind::Memos => out.extend([0; 4]),
        }
        out
    }
}

/// Shortens a name to the bytes of a category or a label, and to the characters of the code page.
pub(crate) fn fit_name(name: &str, page: CodePage) -> String {
    let mut fitting = String::new();
    let mut bytes = 0;
    for c in name.chars() {
        let (encoded, missing) = page.encode(c.encode_utf8(&mut [0; 4]));
        bytes += encoded.len();
        if bytes >= NAME {
            break;
        }
        fitting.push(if missing.is_empty() { c } else { '?' });
    }
    fitting.trim().to_owned()
}

fn push_name(out: &mut Vec<u8>, name: &str, page: CodePage) {
    let (bytes, _) = page.encode(name);
    let end = out.len() + NAME;
    out.extend(bytes.into_iter().take(NAME - 1));
    out.resize(end, 0);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn categories_and_labels_read_back_as_written() {
        let page = CodePage::Windows1252;
        let mut info = AppInfo::default();
        assert_eq!(info.add_category("Büro"), Some(1));
        assert_eq!(info.add_category("Family"), Some(2));
        assert_eq!(info.add_category("Büro"), Some(1));
        info.custom_labels[1] = "Spouse".to_owned();
        let bytes = info.encode(DatabaseKind::Addresses, page);
        assert_eq!(bytes.len(), 276 + 4 + 22 * 16 + 4);
        let read = AppInfo::parse(&bytes, DatabaseKind::Addresses, page);
        assert_eq!(read.custom_labels, info.custom_labels);
        assert_eq!(read.category(1), Some("Büro"));
        assert_eq!(read.category(2), Some("Family"));
        assert_eq!(
            (read.category(0), read.category(3), read.category(99)),
            (None, None, None)
        );
        for length in 0..bytes.len() {
            AppInfo::parse(&bytes[..length], DatabaseKind::Addresses, page);
        }
    }

    #[test]
    fn there_is_room_for_fifteen() {
        let mut info = AppInfo::default();
        for n in 1..CATEGORIES {
            assert_eq!(info.add_category(&n.to_string()), Some(n));
        }
        assert_eq!(info.add_category("one more"), None);
        assert_eq!(
            fit_name("Größenverzeichnis", CodePage::Windows1252),
            "Größenverzeichn"
        );
        assert_eq!(fit_name("a정", CodePage::Windows1252), "a?");
    }
}
