//! [`Dialect`]: a program in a language, with the headings that it writes.
//!
//! The headings of other languages are tables in `data/`: a row for each English heading, a column for
//! each language.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::CsvProgram;

/// The program of each table; `None` for that of calendars.
const TABLES: [(Option<CsvProgram>, &str); 4] = [
    (None, include_str!("../../data/outlook-calendar.tsv")),
    (
        Some(CsvProgram::Other),
        include_str!("../../data/common.tsv"),
    ),
    (
        Some(CsvProgram::Outlook),
        include_str!("../../data/outlook.tsv"),
    ),
    (
        Some(CsvProgram::Thunderbird),
        include_str!("../../data/thunderbird.tsv"),
    ),
];

/// A program in a language other than English.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Dialect {
    table: usize,
    language: usize,
}

type Headings = HashMap<String, Vec<(Dialect, &'static str)>>;

/// The English headings by those of all dialects, in lower-case. A dialect may have one heading for
/// several English ones, such as the French `Ville`; they are in the order of their columns.
static HEADINGS: LazyLock<Headings> = LazyLock::new(|| {
    let mut all = Headings::new();
    for (table, (_, text)) in TABLES.iter().enumerate() {
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        for line in lines {
            let mut cells = line.split('\t');
            let english = cells.next().unwrap_or_default();
            for (language, cell) in cells.enumerate() {
                for heading in cell.split('|').filter(|heading| !heading.is_empty()) {
                    let meanings = all.entry(column_key(heading)).or_default();
                    meanings.push((Dialect { table, language }, english));
                }
            }
        }
    }
    all
});

impl Dialect {
    /// The program that writes contacts; `None` for calendars.
    pub(crate) fn program(self) -> Option<CsvProgram> {
        TABLES.get(self.table).and_then(|(program, _)| *program)
    }

    /// Returns the English heading of a column; `earlier` columns before it have the same heading.
    pub(crate) fn english_heading(self, key: &str, earlier: usize) -> Option<&'static str> {
        let meanings = HEADINGS.get(key)?.iter();
        let own = meanings.filter(|(dialect, _)| *dialect == self);
        own.map(|(_, english)| *english).take(earlier + 1).last()
    }

    /// Returns the dialects that have a heading.
    pub(crate) fn with_heading(key: &str) -> impl Iterator<Item = Self> {
        let meanings = HEADINGS.get(key).into_iter().flatten();
        meanings.map(|(dialect, _)| *dialect)
    }
}

/// Returns the name of a column for comparison: in lower-case, with simple blanks, apostrophes and
/// dashes.
pub(crate) fn column_key(name: &str) -> String {
    let name = name.trim().trim_matches('"').to_lowercase();
    let name = name.replace(['\u{2018}', '\u{2019}'], "'");
    let name = name.replace(['\u{2013}', '\u{2014}'], "-");
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the English headings of the columns of a calendar, and whether they are English;
/// `None` for another table. The columns are given by [`column_key`].
pub(crate) fn calendar_headings<'k>(
    keys: impl Iterator<Item = &'k str> + Clone,
) -> Option<(Vec<&'k str>, bool)> {
    let has = |english: &[&str], name: &str| english.contains(&name);
    let is_calendar = |english: &[&str]| has(english, "subject") && has(english, "start date");
    let plain: Vec<&str> = keys.clone().collect();
    if is_calendar(&plain) {
        return Some((plain, true));
    }
    let mut dialects: Vec<Dialect> = keys
        .clone()
        .flat_map(Dialect::with_heading)
        .filter(|dialect| dialect.program().is_none())
        .collect();
    dialects.sort_unstable();
    dialects.dedup();
    let translated = dialects.into_iter().map(|dialect| {
        let mut english: Vec<&str> = Vec::new();
        let mut known = 0;
        for (at, key) in keys.clone().enumerate() {
            let earlier = keys.clone().take(at).filter(|before| *before == key);
            let found = dialect.english_heading(key, earlier.count());
            known += usize::from(found.is_some());
            english.push(found.unwrap_or(key));
        }
        (known, english)
    });
    // Of languages with some headings in common, that with the most.
    let translated = translated.filter(|(_, english)| is_calendar(english));
    let best = translated.max_by_key(|(known, _)| *known);
    best.map(|(_, english)| (english, false))
}
