//! Random filters of all shapes. Most texts are parts of the searched data.

use std::rc::Rc;

use etui::contacts::{Field, Filter, MatchMode};
use etui::text::fold;
use etui::text::phone::{MatchType, PhoneNumber, Region};
use etui_testkit::rng::SplitMix64;

use super::reference::ReferenceContact;

/// Deepest nesting.
const DEPTH: u32 = 4;

const MODES: [MatchMode; 5] = [
    MatchMode::Words,
    MatchMode::Prefix,
    MatchMode::Suffix,
    MatchMode::Contains,
    MatchMode::Whole,
];

const STRENGTHS: [MatchType; 3] = [MatchType::Exact, MatchType::Nsn, MatchType::ShortNsn];

/// Rare texts, and texts at a limit.
const ODD: [&str; 44] = [
    "",
    " ",
    "...",
    "-",
    "@",
    "*",
    "a",
    "o",
    "an",
    "er",
    " a ",
    "ann ",
    " ber",
    "r m",
    "a b",
    "an ma",
    "'",
    "o'b",
    "山",
    "山田",
    "太郎",
    "が",
    "이",
    "김",
    "Ив",
    "ова",
    "Ё",
    "γιώ",
    "عمر",
    "🎉",
    "🎉🎊",
    "कि",
    "ﬁ",
    "İ",
    "ß",
    "ﾔﾏﾀﾞ",
    "example",
    "@example.org",
    ".org",
    "0",
    "+",
    "00",
    "110",
    "*100#",
];

fn one_of<T: Copy>(rng: &mut SplitMix64, all: &[T]) -> T {
    all[rng.below(all.len() as u32) as usize]
}

/// Generates filters for some contacts.
pub struct Filters<'a> {
    pub rng: &'a mut SplitMix64,
    pub all: &'a [Rc<ReferenceContact>],
    pub region: Option<Region>,
}

impl Filters<'_> {
    /// Returns a filter.
    pub fn next(&mut self) -> Filter {
        let depth = self.rng.below(DEPTH + 1);
        self.nested(depth)
    }

    fn nested(&mut self, depth: u32) -> Filter {
        if depth == 0 || self.rng.chance(250) {
            return self.leaf();
        }
        match self.rng.below(100) {
            0..42 => Filter::And(self.several(depth)),
            42..82 => Filter::Or(self.several(depth)),
            _ => self.nested(depth - 1).not(),
        }
    }

    fn several(&mut self, depth: u32) -> Vec<Filter> {
        let count = match self.rng.below(100) {
            0..2 => 0,
            2..6 => 1,
            6..70 => 2,
            70..92 => 3,
            _ => 5,
        };
        (0..count).map(|_| self.nested(depth - 1)).collect()
    }

    fn leaf(&mut self) -> Filter {
        match self.rng.below(100) {
            0..2 => Filter::All,
            2..5 => self.uids(),
            5..8 => Filter::Present(self.field()),
            8..20 => Filter::PhoneEquals {
                number: self.number(),
                strength: one_of(self.rng, &STRENGTHS),
            },
            20..35 => {
                let number = match self.rng.below(4) {
                    0 => self.number(),
                    _ => self.part_of_number(),
                };
                let field = match self.rng.below(8) {
                    0..4 => Field::Phone,
                    4 | 5 => Field::PhoneWritten,
                    _ => Field::Any,
                };
                Filter::text(field, one_of(self.rng, &MODES), number)
            }
            _ => {
                let mode = one_of(self.rng, &MODES);
                let (field, text) = self.text(mode);
                Filter::text(field, mode, text)
            }
        }
    }

    /// Returns a filter for the UIDs of some contacts, and for others.
    fn uids(&mut self) -> Filter {
        let count = match self.rng.below(10) {
            0 => 0,
            1..7 => 1 + self.rng.below(4),
            7 | 8 => 70,
            _ => 1_500,
        };
        let mut uids: Vec<String> = Vec::new();
        for _ in 0..count {
            let at = self.rng.below(self.all.len().max(1) as u32) as usize;
            let uid = self.all.get(at).map(|known| known.uid.as_str());
            uids.extend(uid.filter(|uid| !uid.is_empty()).map(str::to_owned));
        }
        if self.rng.chance(300) {
            uids.push("nobody's".to_owned());
        }
        Filter::uids(uids)
    }

    /// Returns a field of words; kinds and birthdays are not any text.
    fn field(&mut self) -> Field {
        loop {
            let field = Field::NAMES[self.rng.below(Field::NAMES.len() as u32) as usize].1;
            if !matches!(field, Field::Kind | Field::Birthday) {
                return field;
            }
        }
    }

    /// Returns a value of a contact, of `field` if given.
    fn value(&mut self, field: Option<Field>) -> Option<(Field, String)> {
        for _ in 0..20 {
            let known = self
                .all
                .get(self.rng.below(self.all.len() as u32) as usize)?;
            let of: Vec<_> = known
                .values
                .iter()
                .filter(|(own, _)| field.is_none_or(|field| field == *own))
                .collect();
            if !of.is_empty() {
                let (field, value) = of[self.rng.below(of.len() as u32) as usize];
                return Some((*field, value.clone()));
            }
        }
        None
    }

    /// Returns a field, and a text that may occur in it.
    fn text(&mut self, mode: MatchMode) -> (Field, String) {
        let (from, text) = match self.rng.below(100) {
            0..80 => match self.value(None) {
                Some((field, value)) => (Some(field), self.piece(&value, mode)),
                None => (None, self.random_letters()),
            },
            80..86 => (None, self.random_letters()),
            _ => (None, self.odd()),
        };
        let text = self.vary_spelling(text);
        let field = match (from, self.rng.below(10)) {
            (Some(field), 0..5) => field,
            (Some(Field::Display | Field::Family | Field::Given | Field::Nickname), 5..7) => {
                Field::Name
            }
            (Some(_), 5..9) => Field::Any,
            _ => self.field(),
        };
        (field, text)
    }

    /// Returns a part of a value, chosen so that the comparison often holds.
    fn piece(&mut self, value: &str, mode: MatchMode) -> String {
        let words: Vec<&str> = value.split_whitespace().collect();
        let some = |rng: &mut SplitMix64| -> Vec<char> {
            let first = rng.below(words.len() as u32) as usize;
            let count = match rng.below(10) {
                0..6 => 1,
                6..9 => 2,
                _ => 4,
            };
            let some: Vec<&str> = words.iter().skip(first).take(count).copied().collect();
            some.join(" ").chars().collect()
        };
        let whole = match mode {
            MatchMode::Whole => self.rng.chance(700),
            _ => self.rng.chance(60),
        };
        if whole || words.is_empty() {
            return value.to_owned();
        }
        let chars = some(self.rng);
        let length = chars.len() as u32;
        let short = 1 + self.rng.below(12.min(length)) as usize;
        let (from, to) = match (mode, self.rng.below(10)) {
            (MatchMode::Words | MatchMode::Whole, 0..8) => (0, chars.len()),
            (MatchMode::Prefix, 0..8) => (0, short),
            (MatchMode::Suffix, 0..8) => (chars.len() - short, chars.len()),
            _ => {
                let from = self.rng.below(length - short as u32 + 1) as usize;
                (from, from + short)
            }
        };
        chars[from..to].iter().collect()
    }

    /// Returns the text in another case, with other accents, or unchanged.
    fn vary_spelling(&mut self, text: String) -> String {
        match self.rng.below(12) {
            0 => text.to_uppercase(),
            1 => text.to_lowercase(),
            2 => fold::fold_words(&text),
            3 => text.replace('o', "ö").replace('a', "á"),
            4 => text.chars().flat_map(|c| [c, '\u{301}']).collect(),
            5 => text.replace("ss", "ß").replace('l', "ł").replace('O', "Ø"),
            6 => text
                .chars()
                .map(|c| match c {
                    '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c),
                    c => c,
                })
                .collect(),
            7 => text.replace(' ', "  -"),
            _ => text,
        }
    }

    fn random_letters(&mut self) -> String {
        let length = 1 + self.rng.below(8);
        (0..length)
            .map(|_| {
                one_of(
                    self.rng,
                    &['a', 'e', 'n', 'r', 's', 't', 'm', 'x', 'ü', ' '],
                )
            })
            .collect()
    }

    fn odd(&mut self) -> String {
        match self.rng.below(12) {
            0 => super::changes::LONG_WORD.to_owned(),
            1 => {
                let end = 60 + self.rng.below(12) as usize;
                super::changes::LONG_WORD[..end].to_owned()
            }
            2 => "n".repeat(80),
            _ => one_of(self.rng, &ODD).to_owned(),
        }
    }

    /// Returns a contact's number in one of many notations.
    fn number(&mut self) -> String {
        let Some((_, value)) = self.value(Some(Field::Phone)) else {
            return self.odd();
        };
        let Some(number) = PhoneNumber::parse(&value, self.region) else {
            return value;
        };
        match self.rng.below(12) {
            0..3 => value,
            3 | 4 => format!("+{}", number.digits()),
            5 => format!("00{}", number.digits()),
            6 => format!("0{}", number.national_number()),
            7 => number.national_number().to_owned(),
            8 => number.digits().to_owned(),
            9 => {
                let digits = number.digits();
                let from = digits.len().saturating_sub(5 + self.rng.below(5) as usize);
                digits[from..].to_owned()
            }
            10 => format!("{value} ext. {}", self.rng.below(20)),
            _ => {
                // Another number: one digit differs.
                let mut digits = number.digits().to_owned();
                let last = digits.pop();
                digits.push(if last == Some('5') { '6' } else { '5' });
                digits
            }
        }
    }

    fn part_of_number(&mut self) -> String {
        let number = self.number();
        let chars: Vec<char> = number.chars().collect();
        let length = 1 + self.rng.below(chars.len().clamp(1, 11) as u32) as usize;
        let length = length.min(chars.len());
        let from = match self.rng.below(3) {
            0 => 0,
            1 => chars.len() - length,
            _ => self.rng.below((chars.len() - length + 1) as u32) as usize,
        };
        let part = chars[from..from + length].iter();
        match self.rng.below(20) {
            // Digits of another script.
            0 => part
                .map(|c| match c.to_digit(10) {
                    Some(n) => char::from_u32(0xff10 + n).unwrap_or(*c),
                    None => *c,
                })
                .collect(),
            1 => part
                .map(|c| match c.to_digit(10) {
                    Some(n) => char::from_u32(0x660 + n).unwrap_or(*c),
                    None => *c,
                })
                .collect(),
            2 => part.flat_map(|c| [*c, ' ']).collect(),
            _ => part.collect(),
        }
    }
}
