//! [`TagLines`]: the text of a track, a picture or a group.
//!
//! ```text
//! text  := line*
//! line  := name "=" value LF
//! name  := a tag, in the names of Vorbis comments    TITLE, ARTIST, ALBUM ...
//!        | "file." property                          properties of the file beside the tags
//!        | "user." property                          user data: plays, rating
//! value := text; a backslash is written "\\", a line feed "\n", a carriage return "\r"
//! ```
//!
//! A name that occurs on several lines has several values.

use std::borrow::Cow;

/// Prefix of the properties that the person's programs record.
pub(super) const USER: &str = "user.";

/// A text of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TagLines(Vec<u8>);

impl TagLines {
    /// Wraps a stored text. Bytes that are no line have no values.
    pub(crate) fn from_text(text: Vec<u8>) -> Self {
        Self(text)
    }

    /// Returns the text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Appends a value. An empty one is left out.
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(b'=');
        for byte in value.bytes() {
            match byte {
                b'\\' => self.0.extend_from_slice(b"\\\\"),
                b'\n' => self.0.extend_from_slice(b"\\n"),
                b'\r' => self.0.extend_from_slice(b"\\r"),
                other => self.0.push(other),
            }
        }
        self.0.push(b'\n');
    }

    /// Appends a number.
    pub(crate) fn push_number(&mut self, name: &str, number: impl ToString) {
        self.push(name, &number.to_string());
    }

    /// Returns each name with its value, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        let lines = self.0.split(|&b| b == b'\n');
        lines.filter_map(|line| {
            let at = line.iter().position(|&b| b == b'=')?;
            let name = std::str::from_utf8(line.get(..at)?).ok()?;
            Some((name, unescape(line.get(at + 1..)?)))
        })
    }

    /// Returns the values of a name.
    pub(crate) fn all<'t>(&'t self, name: &'t str) -> impl Iterator<Item = Cow<'t, str>> {
        // Other lines are not parsed: indexing a track asks for some thirty names.
        let lines = self.0.split(|&b| b == b'\n');
        lines.filter_map(|line| {
            let rest = line.strip_prefix(name.as_bytes())?;
            Some(unescape(rest.strip_prefix(b"=")?))
        })
    }

    /// Returns the first value of a name.
    pub(crate) fn first<'t>(&'t self, name: &'t str) -> Option<Cow<'t, str>> {
        self.all(name).next()
    }

    /// Returns the first value of a name if it is a number.
    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.first(name)?.trim().parse().ok()
    }

    /// Returns the lines whose names start with `prefix`, or all others.
    pub(crate) fn filtered(&self, prefix: &str, with_prefix: bool) -> Self {
        let lines = self.0.split_inclusive(|&b| b == b'\n');
        let kept = lines.filter(|line| line.starts_with(prefix.as_bytes()) == with_prefix);
        Self(kept.flatten().copied().collect())
    }

    /// Replaces the values of a name by one, or removes them.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) {
        let lines = self.0.split_inclusive(|&b| b == b'\n');
        let is_other = |line: &&[u8]| {
            let rest = line.strip_prefix(name.as_bytes());
            rest.is_none_or(|rest| rest.first() != Some(&b'='))
        };
        self.0 = lines.filter(is_other).flatten().copied().collect();
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    /// Appends all lines of another text.
    pub(crate) fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }
}

/// Returns the names and values of a record's text, in order: tags in the names of Vorbis comments,
/// `file.*` for properties, `user.*` for user data.
pub fn text_values(text: &[u8]) -> Vec<(String, String)> {
    let lines = TagLines::from_text(text.to_vec());
    let values = lines
        .iter()
        .map(|(name, value)| (name.to_owned(), value.into_owned()));
    values.collect()
}

fn unescape(value: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(value);
    if !text.contains('\\') {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn values_read_back(values in prop::collection::vec(("[A-Z.]{1,8}", any::<String>()), 0..8)) {
            let mut lines = TagLines::default();
            for (name, value) in &values {
                lines.push(name, value);
            }
            let read: Vec<_> = lines.iter().map(|(n, v)| (n.to_owned(), v.into_owned())).collect();
            let kept: Vec<_> = values.into_iter().filter(|(_, v)| !v.is_empty()).collect();
            prop_assert_eq!(read, kept);
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = TagLines::from_text(bytes).iter().count();
        }
    }

    #[test]
    fn a_value_is_replaced() {
        let mut lines = TagLines::from_text(b"A=1\nAB=2\nA=3\n".to_vec());
        lines.set("A", Some("4"));
        assert_eq!(lines.as_bytes(), b"AB=2\nA=4\n");
        lines.set("AB", None);
        assert_eq!(lines.as_bytes(), b"A=4\n");
    }

    #[test]
    fn lines_are_split_by_prefix() {
        let mut lines = TagLines::default();
        lines.push("TITLE", "Low");
        lines.push_number("user.plays", 3);
        assert_eq!(lines.filtered(USER, true).as_bytes(), b"user.plays=3\n");
        assert_eq!(lines.filtered(USER, false).as_bytes(), b"TITLE=Low\n");
        assert_eq!(lines.number::<u32>("user.plays"), Some(3));
    }
}
