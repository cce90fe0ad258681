//! The text form of filters.
//!
//! ```text
//! filter  := all ( "or" all )*
//! all     := one+                             a conjunction
//! one     := "-" one | "(" filter ")" | "*" | "uid" ( ":" | "=" ) uids
//!             | [ field ( ":" | "=" ) ] value
//! field   := a name in the kind's FieldSet    contacts: any | name | display | family | given
//!             | nick | org | email | category | note | phone | phone.national | phone.short
//!             | phone.written | title | address | birthday | kind | everywhere
//!             calendars: any | summary, title | place, location | notes, description | category
//!             | kind | status | due
//! value   := [ "*" ] text [ "*" ]             "*" before: suffix; after: prefix; both: contains
//! uids    := a word, or UIDs in quotes with "," between them
//! text    := a word, or "words in quotes" with \" and \\ for quote and backslash
//! ```
//!
//! Numbers of tracks and pictures are compared as `year:1977`, `year:1970..1979`, `plays:>10`,
//! `rating:<=3`.
//!
//! A value without a field is compared with several fields (contacts: names, organisation, e-mail,
//! phone; calendars: titles, locations, notes). An unquoted one is a prefix: `ann` finds Anna. Such
//! words of digits and the punctuation of phone numbers, with 4 digits or more in all, are also
//! compared with phone numbers, as one: `+49 (30) 1234`.
//! `field=value` compares the whole value.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::{FieldSet, Filter, MatchMode, field_name};
use crate::error::FilterError;
use etui_text::phone::MatchType;

/// Deepest nesting of parentheses and minus signs in a text.
const MAX_TEXT_DEPTH: usize = 200;
/// Deepest nesting of a parsed filter. Its text form, with all parentheses, stays below
/// [`MAX_TEXT_DEPTH`].
const MAX_FILTER_DEPTH: usize = 64;
/// Longest text, in bytes.
const MAX_TEXT: usize = 16 << 10;
/// Digits that words without a field must have to be compared as a phone number.
const MIN_NUMBER_DIGITS: usize = 4;
/// Longest text that is compared as a phone number, in bytes.
const MAX_NUMBER: usize = 64;
/// The error for a UID with a `*`, or none.
const UID_IS_WHOLE: &str =
    "a UID is compared as a whole; write uid:abc, or several in quotes: uid:\"a\",\"b\"";

impl<F: FieldSet> FromStr for Filter<F> {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut parser = FilterParser { text, at: 0 };
        if text.len() > MAX_TEXT {
            return Err(parser.error_here("too long; at most 16 kB are read"));
        }
        parser.skip_space();
        if parser.remaining_text().is_empty() {
            return Ok(Self::All);
        }
        let filter = parser.parse_any(0)?;
        parser.skip_space();
        if !parser.remaining_text().is_empty() {
            return Err(parser.error_here("there is a \")\" without its \"(\""));
        }
        if depth_of(&filter) > MAX_FILTER_DEPTH {
            return Err(parser.error_here("nested too deeply"));
        }
        Ok(filter)
    }
}

struct FilterParser<'a> {
    text: &'a str,
    at: usize,
}

/// The field of a comparison.
enum ComparedField<F: FieldSet> {
    Text(F),
    Phone(F, MatchType),
}

impl<'a> FilterParser<'a> {
    fn remaining_text(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek_char(&self) -> Option<char> {
        self.remaining_text().chars().next()
    }

    fn take_char(&mut self, c: char) -> bool {
        let found = self.peek_char() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn skip_space(&mut self) {
        let rest = self.remaining_text();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn error_here(&self, problem: impl Into<String>) -> FilterError {
        FilterError {
            at: self.text.get(..self.at).map_or(0, |t| t.chars().count()) + 1,
            problem: problem.into(),
        }
    }

    /// Takes the word "or" if it is the next one.
    fn take_or(&mut self) -> bool {
        let rest = self.remaining_text();
        // A word such as `orange` is no operator, nor is `or` at the end.
        let found = rest.get(..2).is_some_and(|w| w.eq_ignore_ascii_case("or"))
            && rest[2..]
                .chars()
                .next()
                .is_some_and(|c| c.is_whitespace() || c == '(');
        if found {
            self.at += 2;
        }
        found
    }

    fn parse_any<F: FieldSet>(&mut self, depth: usize) -> Result<Filter<F>, FilterError> {
        let mut parts = vec![self.parse_all(depth)?];
        loop {
            self.skip_space();
            if !self.take_or() {
                break;
            }
            parts.push(self.parse_all(depth)?);
        }
        Ok(collapse_single(parts, Filter::Or))
    }

    fn parse_all<F: FieldSet>(&mut self, depth: usize) -> Result<Filter<F>, FilterError> {
        let mut parts = Vec::new();
        self.skip_space();
        let begin = self.at;
        loop {
            self.skip_space();
            let before = self.at;
            let ends = matches!(self.peek_char(), None | Some(')'));
            if ends || self.take_or() {
                // The operator is left to `parse_any`.
                self.at = before;
                if parts.is_empty() {
                    return Err(self.error_here("something to look for is missing here"));
                }
                let all = collapse_single(parts, Filter::And);
                let text = self.text.get(begin..before).unwrap_or_default();
                return Ok(match F::written_number(text.trim_end()) {
                    Some(number) => Filter::Or(vec![all, number]),
                    None => all,
                });
            }
            parts.push(match self.parse_number() {
                Some(number) => number,
                None => self.parse_one(depth)?,
            });
        }
    }

    /// Parses words that together look like a phone number; `None` if none are here. They match as
    /// words, or as a number.
    fn parse_number<F: FieldSet>(&mut self) -> Option<Filter<F>> {
        let rest = self.remaining_text();
        let (mut end, mut depth, mut has_digit) = (0, 0usize, false);
        let mut before = ' ';
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map_or(' ', |(_, next)| *next);
            let begins_word = before.is_whitespace() || before == '(';
            match c {
                _ if at >= MAX_NUMBER => break,
                c if c.is_whitespace() => has_digit = false,
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                // A minus sign before a word is a negation.
                '-' if begins_word && (at == 0 || !next.is_whitespace()) => break,
                '+' | '-' | '/' | '.' | '#' => {}
                c if c.is_numeric() => has_digit = true,
                _ => break,
            }
            if has_digit && depth == 0 && (next.is_whitespace() || next == ')') {
                end = at + c.len_utf8();
            }
            before = c;
        }
        let text = rest.get(..end)?;
        if text.chars().filter(|c| c.is_numeric()).count() < MIN_NUMBER_DIGITS {
            return None;
        }
        let numbers = F::number_filters(text);
        if numbers.is_empty() {
            return None;
        }
        self.at += end;
        let words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')'));
        let words = words.filter(|word| word.contains(char::is_numeric));
        let words = words.map(|word| Filter::text(F::ANY, MatchMode::Prefix, word));
        let words = collapse_single(words.collect(), Filter::And);
        Some(Filter::Or([vec![words], numbers].concat()))
    }

    fn parse_one<F: FieldSet>(&mut self, depth: usize) -> Result<Filter<F>, FilterError> {
        if depth > MAX_TEXT_DEPTH {
            return Err(self.error_here("nested too deeply"));
        }
        if self.take_char('-') {
            self.skip_space();
            return Ok(self.parse_one(depth + 1)?.not());
        }
        if self.take_char('(') {
            let inner = self.parse_any(depth + 1)?;
            self.skip_space();
            if !self.take_char(')') {
                return Err(self.error_here("the \"(\" is not closed; a \")\" is missing"));
            }
            return Ok(inner);
        }
        if let Some(uids) = self.parse_uids()? {
            return Ok(Filter::Uids(uids));
        }
        let (compared, whole) = self.parse_field()?;
        self.parse_value(compared, whole)
    }

    /// Parses a comparison of UIDs; `None` if none is here.
    fn parse_uids(&mut self) -> Result<Option<BTreeSet<String>>, FilterError> {
        let rest = self.remaining_text();
        let name = rest.get(..4).unwrap_or_default().to_ascii_lowercase();
        if name != "uid:" && name != "uid=" {
            return Ok(None);
        }
        self.at += name.len();
        let mut uids = BTreeSet::new();
        if self.peek_char() == Some('"') {
            loop {
                if !self.take_char('"') {
                    return Err(self.error_here("a UID in quotes is missing here"));
                }
                uids.insert(self.parse_quoted()?);
                if !self.take_char(',') {
                    break;
                }
            }
        } else {
            let uid = self.take_word();
            if uid.is_empty() {
                return Err(self.error_here(UID_IS_WHOLE));
            }
            uids.insert(uid);
        }
        if !self.is_at_end_of_value() {
            return Err(self.error_here(UID_IS_WHOLE));
        }
        // No record has an empty UID.
        uids.remove("");
        Ok(Some(uids))
    }

    /// Takes the text up to the next blank, quote, parenthesis or `*`.
    fn take_word(&mut self) -> String {
        let rest = self.remaining_text();
        let len = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | '*'))
            .unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or_default().to_owned()
    }

    /// Takes the following words of digits, which belong to a phone number: `phone:+49 171 3920001`.
    fn take_digits(&mut self, number: &mut String) {
        loop {
            let rest = self.remaining_text();
            let next = rest.trim_start();
            let end = next.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | '*'));
            let (word, after) = next.split_at(end.unwrap_or(next.len()));
            let is_digits = word.starts_with(|c: char| c.is_numeric())
                && word
                    .chars()
                    .all(|c| c.is_numeric() || matches!(c, '-' | '/' | '.'))
                && !after.starts_with(['"', '*', '(']);
            if !is_digits || next.len() == rest.len() {
                return;
            }
            number.push(' ');
            number.push_str(word);
            self.at += rest.len() - after.len();
        }
    }

    fn is_at_end_of_value(&self) -> bool {
        self.peek_char()
            .is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ')'))
    }

    /// Parses a field name and its operator; `None` if the value has none. The flag is true for `=`.
    fn parse_field<F: FieldSet>(
        &mut self,
    ) -> Result<(Option<ComparedField<F>>, bool), FilterError> {
        let rest = self.remaining_text();
        let name_len = rest
            .find(|c: char| !c.is_ascii_alphabetic() && c != '.')
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_len);
        let whole = match after.chars().next() {
            Some(':') => false,
            Some('=') => true,
            _ => return Ok((None, false)),
        };
        let lower = name.to_ascii_lowercase();
        let phone = F::PHONES.iter().find(|(n, ..)| *n == lower);
        let compared = match (phone, F::NAMES.iter().find(|(n, _)| *n == lower)) {
            (Some((_, field, strength)), _) => ComparedField::Phone(*field, *strength),
            (None, Some((_, field))) => ComparedField::Text(*field),
            (None, None) => {
                let known = F::NAMES.iter().map(|(n, _)| *n).chain(["uid"]);
                let known: Vec<_> = known.collect();
                let nearest = nearest_name(&lower, &known);
                let nearest = nearest.map(|known| format!("did you mean {known}? Fields"));
                return Err(self.error_here(format!(
                    "there is no field \"{name}\"; {} are {} (quote a text with \":\")",
                    nearest.as_deref().unwrap_or("fields"),
                    known.join(", ")
                )));
            }
        };
        self.at += name_len + 1;
        Ok((Some(compared), whole))
    }

    fn parse_value<F: FieldSet>(
        &mut self,
        compared: Option<ComparedField<F>>,
        whole: bool,
    ) -> Result<Filter<F>, FilterError> {
        let start = self.at;
        let before = self.take_char('*');
        let (mut text, quoted) = if self.take_char('"') {
            (self.parse_quoted()?, true)
        } else {
            (self.take_word(), false)
        };
        if !quoted && !text.is_empty() && matches!(compared, Some(ComparedField::Phone(..))) {
            self.take_digits(&mut text);
        }
        let after = self.take_char('*');
        if !self.is_at_end_of_value() {
            return Err(self.error_here("a \"*\" goes before or after the text, not into it"));
        }
        if text.is_empty() && !quoted {
            return match (compared, before || after) {
                (Some(ComparedField::Text(field) | ComparedField::Phone(field, _)), true) => {
                    Ok(Filter::Present(field))
                }
                (None, true) => Ok(Filter::All),
                (_, false) => {
                    // The error points at the beginning of the value.
                    self.at = start;
                    Err(self.error_here("something to look for is missing here"))
                }
            };
        }
        if text.trim().is_empty() {
            self.at = start;
            return Err(self.error_here("the text to look for is empty"));
        }
        let mode = match (whole, before, after) {
            (true, false, false) => MatchMode::Whole,
            (true, ..) => {
                self.at = start;
                return Err(self.error_here("\"=\" compares the whole value; use \":\" with \"*\""));
            }
            (_, true, true) => MatchMode::Contains,
            (_, true, false) => MatchMode::Suffix,
            (_, false, true) => MatchMode::Prefix,
            // A word without field and quotes is a prefix.
            (_, false, false) if compared.is_none() && !quoted => MatchMode::Prefix,
            (_, false, false) => MatchMode::Words,
        };
        if let (Some(ComparedField::Text(field)), MatchMode::Words | MatchMode::Whole) =
            (&compared, mode)
        {
            let only = field.values();
            if !only.is_empty() && !only.iter().any(|value| value.eq_ignore_ascii_case(&text)) {
                self.at = start;
                let (name, only) = (field_name(*field), only.join(", "));
                return Err(
                    self.error_here(format!("there is no {name} \"{text}\"; there are {only}"))
                );
            }
        }
        if let Some(ComparedField::Text(field)) = &compared
            && let Some(reason) = field.refuse_text(mode, &text)
        {
            self.at = start;
            return Err(self.error_here(reason));
        }
        Ok(match compared {
            Some(ComparedField::Phone(_, strength))
                if matches!(mode, MatchMode::Words | MatchMode::Whole) =>
            {
                Filter::PhoneEquals {
                    number: text,
                    strength,
                }
            }
            Some(ComparedField::Text(field) | ComparedField::Phone(field, _)) => {
                Filter::text(field, mode, text)
            }
            None => Filter::text(F::ANY, mode, text),
        })
    }

    fn parse_quoted(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        let mut text = String::new();
        while let Some(c) = self.peek_char() {
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(text),
                '\\' => match self.peek_char() {
                    Some(escaped) => {
                        self.at += escaped.len_utf8();
                        text.push(escaped);
                    }
                    None => break,
                },
                _ => text.push(c),
            }
        }
        self.at = start;
        Err(self.error_here("the quote that begins here is not closed; a \" is missing"))
    }
}

/// Returns the name that differs least from `name`, by a third of its letters at most.
fn nearest_name<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let distances = known
        .iter()
        .map(|known| (strsim::osa_distance(name, known), *known));
    let (distance, nearest) = distances.min()?;
    (distance * 3 <= nearest.len()).then_some(nearest)
}

fn depth_of<F: FieldSet>(filter: &Filter<F>) -> usize {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => 1 + parts.iter().map(depth_of).max().unwrap_or(0),
        Filter::Not(inner) => 1 + depth_of(inner),
        _ => 0,
    }
}

fn collapse_single<F: FieldSet>(
    mut parts: Vec<Filter<F>>,
    many: fn(Vec<Filter<F>>) -> Filter<F>,
) -> Filter<F> {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (Some(last), false) => {
            parts.push(last);
            many(parts)
        }
        (None, _) => Filter::All,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contacts::{Field, Filter};

    fn parsed(text: &str) -> Filter {
        text.parse().unwrap()
    }

    #[test]
    fn values_are_parsed() {
        assert_eq!(parsed(""), Filter::All);
        assert_eq!(parsed("*"), Filter::All);
        assert_eq!(
            parsed("ann"),
            Filter::text(Field::Any, MatchMode::Prefix, "ann")
        );
        assert_eq!(
            parsed("\"ann\""),
            Filter::text(Field::Any, MatchMode::Words, "ann")
        );
        assert_eq!(
            parsed("name:ann"),
            Filter::text(Field::Name, MatchMode::Words, "ann")
        );
        assert_eq!(
            parsed("NAME:ann*"),
            Filter::text(Field::Name, MatchMode::Prefix, "ann")
        );
        assert_eq!(
            parsed("name:*ann"),
            Filter::text(Field::Name, MatchMode::Suffix, "ann")
        );
        assert_eq!(
            parsed("org:*\"a b\"*"),
            Filter::text(Field::Organization, MatchMode::Contains, "a b")
        );
        assert_eq!(
            parsed("display=Ann"),
            Filter::text(Field::Display, MatchMode::Whole, "Ann")
        );
        assert_eq!(parsed("email:*"), Filter::Present(Field::Email));
        assert_eq!(
            parsed("phone:+49(30)"),
            Filter::phone("+49", MatchType::Exact).and(parsed("30"))
        );
        assert_eq!(
            parsed("phone.short:123"),
            Filter::phone("123", MatchType::ShortNsn)
        );
        assert_eq!(
            parsed("phone:*4711"),
            Filter::text(Field::Phone, MatchMode::Suffix, "4711")
        );
        assert_eq!(
            parsed(r#"note:"say \"hi\"""#),
            Filter::text(Field::Note, MatchMode::Words, "say \"hi\"")
        );
    }

    #[test]
    fn words_of_digits_are_a_number() {
        let any = |word: &str| Filter::text(Field::Any, MatchMode::Prefix, word);
        let number =
            |words, text: &str| Filter::Or([vec![words], Field::number_filters(text)].concat());
        assert_eq!(parsed("2345"), number(any("2345"), "2345"));
        for (text, words) in [
            ("0151 2345678", &["0151", "2345678"][..]),
            ("+49 151 2345678", &["+49", "151", "2345678"]),
            ("+49 (0)151 234-56", &["+49", "0", "151", "234-56"]),
            ("(030) 12 34", &["030", "12", "34"]),
            ("030 / 1234", &["030", "1234"]),
        ] {
            let words = words.iter().map(|word| any(word)).collect();
            let expected = number(Filter::And(words), text);
            assert_eq!(parsed(text), expected, "{text}");
            let nested = parsed("ann").and(expected.clone()).or(parsed("bob"));
            assert_eq!(parsed(&format!("(ann {text}) or bob")), nested, "{text}");
        }
        assert_eq!(parsed("123"), any("123"));
        assert_eq!(parsed("1234*"), any("1234"));
        assert_eq!(parsed("1 -2345"), any("1").and(any("2345").not()));
        let either = Filter::Or(vec![parsed("0151"), parsed("ann")]);
        assert_eq!(parsed("(0151 or ann)"), either);
        assert_eq!(parsed("1815 ada"), parsed("1815").and(parsed("ada")));
        assert_eq!(parsed("(-2345)"), any("2345").not());
        assert_eq!(parsed("ada - 2345"), parsed("ada").and(any("2345").not()));
        assert!("0151 -".parse::<Filter>().is_err());
        assert!("+ ".repeat(8000).parse::<Filter>().is_ok());
    }

    #[test]
    fn uids_are_parsed() {
        assert_eq!(parsed("uid:a,b"), Filter::uids(["a,b"]));
        assert_eq!(
            parsed(r#"UID="b","a \"","a""#),
            Filter::uids(["a \"", "a", "b"])
        );
        assert_eq!(parsed("uid:\"\""), Filter::uids([""; 0]));
        assert_eq!(
            parsed("-uid:a name:b"),
            Filter::uids(["a"])
                .not()
                .and(Filter::text(Field::Name, MatchMode::Words, "b"))
        );
        for (text, at) in [
            ("uid:", 5),
            ("uid:*", 5),
            ("uid:a*", 6),
            ("uid:\"a\"b", 8),
            ("uid:\"a\",b", 9),
            ("uid:\"a", 6),
        ] {
            let e = text.parse::<Filter>().unwrap_err();
            assert_eq!(e.at, at, "{text}: {e}");
        }
    }

    #[test]
    fn combinations_are_parsed() {
        let (a, b, c) = (
            || parsed("name:a"),
            || parsed("name:b"),
            || parsed("name:c"),
        );
        assert_eq!(parsed("name:a name:b"), a().and(b()));
        assert_eq!(parsed("name:a or name:b name:c"), a().or(b().and(c())));
        assert_eq!(
            parsed("(name:a OR name:b) -name:c"),
            a().or(b()).and(c().not())
        );
        assert_eq!(
            parsed("orson"),
            Filter::text(Field::Any, MatchMode::Prefix, "orson")
        );
    }

    #[test]
    fn errors_have_a_position() {
        for (text, at) in [
            ("name:", 6),
            ("or name:a", 1),
            ("name:a or )", 11),
            ("colour:red", 1),
            ("(name:a", 8),
            ("name:a)", 7),
            ("name:\"a", 7),
            ("name:a*b", 8),
            ("name=a*", 6),
            ("name:\"  \"", 6),
            ("-", 2),
        ] {
            let e = text.parse::<Filter>().unwrap_err();
            assert_eq!(e.at, at, "{text}: {e}");
        }
        let deep = "(".repeat(1000);
        assert!(deep.parse::<Filter>().is_err());
    }

    fn any_filter() -> impl Strategy<Value = Filter> {
        // Kinds and birthdays are not any text.
        let fields = Field::NAMES.iter().map(|(_, field)| *field);
        let fields = fields.filter(|field| !matches!(field, Field::Kind | Field::Birthday));
        let field = prop::sample::select(fields.collect::<Vec<_>>());
        let how = prop::sample::select(vec![
            MatchMode::Words,
            MatchMode::Prefix,
            MatchMode::Suffix,
            MatchMode::Contains,
            MatchMode::Whole,
        ]);
        let leaf = prop_oneof![
            Just(Filter::All),
            field.clone().prop_map(Filter::Present),
            prop::collection::btree_set("\\PC{1,9}", 0..4).prop_map(Filter::Uids),
            ("\\PC*[a-z]\\PC*", Just(MatchType::Nsn)).prop_map(|(t, s)| Filter::phone(t, s)),
            (field, how, "\\PC*[a-z0-9\"\\\\]\\PC*")
                .prop_filter("a phone's words are an equality", |(f, h, _)| {
                    *f != Field::Phone || !matches!(h, MatchMode::Words | MatchMode::Whole)
                })
                .prop_map(|(f, h, t)| Filter::text(f, h, t)),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 2..4).prop_map(Filter::And),
                prop::collection::vec(inner.clone(), 2..4).prop_map(Filter::Or),
                inner.prop_map(Filter::not),
            ]
        })
    }

    proptest! {
        #[test]
        fn text_form_reads_back(filter in any_filter()) {
            prop_assert_eq!(filter.to_string().parse::<Filter>(), Ok(filter));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC*") {
            let _ = text.parse::<Filter>();
        }
    }
}
