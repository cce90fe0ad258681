//! Text shared by the generators: word lists in files, and folded content lines.
//!
//! A line of a word list is `name: entry|entry|...`, the most frequent entry first; `¶` is a line
//! break within an entry.

/// The entries of one list.
pub(crate) type List = Vec<&'static str>;

/// Returns the value of a line; empty if there is no such line.
pub(crate) fn field(text: &'static str, name: &str) -> &'static str {
    let mut lines = text.lines().filter_map(|line| line.split_once(": "));
    lines
        .find(|(key, _)| *key == name)
        .map_or("", |line| line.1)
}

/// Returns the entries of a line.
pub(crate) fn list(text: &'static str, name: &str) -> List {
    match field(text, name) {
        "" => List::new(),
        entries => entries.split('|').collect(),
    }
}

/// The longest line in octets, without its end (RFC 6350 §3.2, RFC 5545 §3.1).
pub(crate) const LINE_OCTETS: usize = 75;

/// Appends a content line without its end, folded between characters.
pub(crate) fn fold_line(line: &str, out: &mut String) {
    let (mut rest, mut room) = (line, LINE_OCTETS);
    while rest.len() > room {
        let (now, later) = rest.split_at(rest.floor_char_boundary(room));
        out.push_str(now);
        out.push_str("\r\n ");
        rest = later;
        room = LINE_OCTETS - 1;
    }
    out.push_str(rest);
}
