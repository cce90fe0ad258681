//! The syntax of vCard 2.1 (versit, 1996), which has no lists and no escapes but `\;`.
//!
//! ```text
//! 2.1                              as 3.0
//! NOTE:tea, milk; and C:\temp      NOTE:tea\, milk\; and C:\\temp
//! ADR:;;Elm 1, rear;Town;;;        ADR:;;Elm 1\, rear;Town;;;
//! ORG:A\;B;C                       ORG:A\;B;C
//! NOTE:green                       NOTE:green tea
//!  tea
//! ```
//!
//! A backslash before a comma or a colon is read as an escape, too: programs write it, and no text
//! has it.

use memchr::memmem;

use super::{ValueEscapes, outer_component};
use crate::lines::{ContentLine, ContentLines, trim_blanks};

/// Properties whose parts are separated by semicolons.
const STRUCTURED: &[&str] = &["N", "ADR", "ORG"];
/// Properties of later versions, whose entries are separated by commas there.
const LISTS: &[&str] = &["CATEGORIES", "NICKNAME"];
/// Properties that are URIs, dates and the like, in which nothing is escaped.
const PLAIN: &[&str] = &[
    "URL",
    "UID",
    "PHOTO",
    "LOGO",
    "SOUND",
    "KEY",
    "SOURCE",
    "IMPP",
    "GEO",
    "REV",
    "BDAY",
    "ANNIVERSARY",
    "MEMBER",
    "RELATED",
];
/// Properties that have no blanks, other than those of [`PLAIN`].
const WORDS: &[&str] = &["EMAIL"];

/// Returns true if `record` is a vCard 2.1.
pub(super) fn is_v21(record: &[u8]) -> bool {
    // A search for the text spares parsing the lines of other cards.
    let has_text = [b"2.1", b"2.0"]
        .iter()
        .any(|text| memmem::find(record, *text).is_some());
    has_text
        && outer_component(record).is_some_and(|name| name.eq_ignore_ascii_case(b"VCARD"))
        && ContentLines::new(record)
            .find(|line| line.name_is("VERSION"))
            .is_some_and(|line| matches!(trim_blanks(&line.unfolded_value()), b"2.1" | b"2.0"))
}

/// Returns true if the blanks of folds are part of the value: everywhere but in base64 and URIs.
pub(super) fn keeps_fold_blanks(line: &ContentLine<'_>) -> bool {
    !line.is_base64() && !is_one(line, PLAIN) && !is_one(line, WORDS)
}

/// Returns the characters of the line's value to escape.
pub(super) fn syntax_of(line: &ContentLine<'_>) -> ValueEscapes {
    // The separators of unknown properties are their own.
    let is_unknown = line
        .name
        .first()
        .is_some_and(|x| x.eq_ignore_ascii_case(&b'X'));
    let is_text = !(is_unknown || is_one(line, PLAIN));
    ValueEscapes {
        commas: is_text && !is_one(line, LISTS),
        semicolons: is_text && !is_one(line, STRUCTURED),
        backslashes: true,
    }
}

fn is_one(line: &ContentLine<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| line.name_is(name))
}
