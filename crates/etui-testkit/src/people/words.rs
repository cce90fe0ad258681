//! Words of no particular language: company names, categories, notes.

use std::sync::LazyLock;

use crate::text::{List, list};

/// The lists of `words.txt`.
pub(super) struct Vocabulary {
    /// First words of company names.
    pub company_heads: List,
    pub departments: List,
    /// A person has one to three categories.
    pub categories: List,
    /// Nicknames that are not made from the given name.
    pub nicknames: List,
    /// Titles before a name.
    pub prefixes: List,
    /// Sentences; a note has one to six. Some contain characters that must be escaped: commas,
    /// semicolons, backslashes, line breaks.
    pub notes: List,
}

pub(super) static WORDS: LazyLock<Vocabulary> = LazyLock::new(|| {
    let list = |name| list(include_str!("words.txt"), name);
    Vocabulary {
        company_heads: list("company_heads"),
        departments: list("departments"),
        categories: list("categories"),
        nicknames: list("nicknames"),
        prefixes: list("prefixes"),
        notes: list("notes"),
    }
});
