//! The keys, as `?` shows them.

use super::state::ListWords;

/// Keys and their meanings.
pub type KeyRows = Vec<(String, String)>;

/// Returns the keys of a list.
pub fn list_keys(words: &ListWords) -> KeyRows {
    let (one, landmark) = (words.one, words.landmark);
    let space = match words.has_done {
        true => "complete a to-do, or open it again",
        false => "one screen down",
    };
    let mut rows = key_rows(&[
        ("arrows, j, k", "move"),
        ("PgUp, PgDn", "one screen up, down; also Ctrl-B, Ctrl-F"),
        ("g, G", "first, last; also Home, End"),
        (
            "[, ]",
            &format!("previous, next {landmark}; also left, right"),
        ),
        (
            "Ctrl-G",
            &format!("go to a {landmark} by its first or last character"),
        ),
        (
            "/",
            "search as you type; Enter: use the result, Esc: whole list",
        ),
        ("Enter", &format!("show the {one}")),
        (
            "Tab",
            &format!("next {}; Shift-Tab: the one before", words.kind),
        ),
    ]);
    if words.has_times {
        rows.extend(key_rows(&[("m", "move to another day or time")]));
    }
    rows.extend(record_keys(one));
    rows.extend(key_rows(&[
        ("Space", space),
        ("q, Ctrl-C", "quit; q: back from a page"),
    ]));
    rows
}

/// Returns the keys for one record.
pub fn record_keys(noun: &str) -> KeyRows {
    key_rows(&[
        (
            "a",
            &format!("add: a new {noun} in one phrase, or with Ctrl-O in the editor"),
        ),
        ("e", "edit the fields"),
        ("E", "edit the text in $VISUAL or $EDITOR"),
        ("d", "remove, after a question"),
        ("u", "undo the last change made here; again: the one before"),
        (
            "y, c",
            "copy the text or a value to the terminal's clipboard",
        ),
        ("Ctrl-Z", "suspend; fg continues"),
        ("Ctrl-L", "draw the screen again"),
    ])
}

/// Makes owned rows.
pub fn key_rows(rows: &[(&str, &str)]) -> KeyRows {
    let rows = rows.iter();
    rows.map(|(keys, what)| ((*keys).to_owned(), (*what).to_owned()))
        .collect()
}
