//! The keys of the agenda, as `?` shows them.

use crate::commands::records::browser::help::{KeyRows, key_rows, record_keys};

/// Returns the keys of the agenda.
pub fn agenda_keys() -> KeyRows {
    let mut rows = key_rows(&[
        ("D, W, M", "day, week, month"),
        ("[, ]", "previous, next day, week or month; also PgUp, PgDn"),
        ("arrows", "move; also h, j, k, l"),
        ("g, G", "first, last; also Home, End"),
        ("t", "today"),
        (
            ":",
            "go to a day in words: next friday, 24.12.; also Ctrl-G",
        ),
        (
            "/",
            "find the next entry with some words; n: the next one, N: the one before",
        ),
        ("Tab", "next entry of the day; Shift-Tab: the one before"),
        ("Enter", "show the entry; in a month: show the day"),
        ("Space", "complete a to-do, or open it again"),
        ("m", "move to another day or time; of a series, one or all"),
        ("s", "skip this time of a series"),
    ]);
    rows.extend(record_keys("entry"));
    rows.extend(key_rows(&[("q, Ctrl-C", "quit; q: back from a page")]));
    rows
}
