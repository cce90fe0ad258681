//! The text form of filters.
//!
//! ```text
//! filter  := all ( "or" all )*
//! all     := one+                             side by side: all of them
//! one     := "-" one | "(" filter ")" | "*" | [ field ( ":" | "=" ) ] value
//! field   := a name of the kind's field set   contacts: any | name | display | family | given
//!             | nick | org | email | category | note | phone | phone.national | phone.short
//!             calendars: any | summary, title | place, location | notes, description | category
//!             | kind
//! value   := [ "*" ] text [ "*" ]             "*" before: ends so; behind: begins so; both: contains
//! text    := a word, or "words in quotes" with \" and \\ for quote and backslash
//! ```
//!
//! A value without a field is looked for in several (of contacts in names, organisation, e-mail and
//! phone, of calendars in titles, places and notes), and may go on (`ann` finds Anna): as one types. `field=value` compares the whole value.

use std::str::FromStr;

use crate::error::FilterError;

use super::{FieldSet, Filter, Match, name_of};

/// Deepest nesting of parentheses and minus signs in a text.
const MAX_DEPTH: usize = 200;
/// Deepest nesting of a filter that is read; written with all its parentheses it stays below
/// [`MAX_DEPTH`].
const MAX_NESTED: usize = 64;
/// Longest text, in bytes.
const MAX_TEXT: usize = 16 << 10;

impl<F: FieldSet> FromStr for Filter<F> {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser { text, at: 0 };
        if text.len() > MAX_TEXT {
            return Err(parser.error("too long; at most 16 kB are read"));
        }
        parser.space();
        if parser.rest().is_empty() {
            return Ok(Self::All);
        }
        let filter = parser.any(0)?;
        parser.space();
        if !parser.rest().is_empty() {
            return Err(parser.error("there is a \")\" without its \"(\""));
        }
        if depth(&filter) > MAX_NESTED {
            return Err(parser.error("nested too deeply"));
        }
        Ok(filter)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

enum What<F: FieldSet> {
    Text(F),
    Phone(F, F::Strength),
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn error(&self, problem: impl Into<String>) -> FilterError {
        FilterError {
            at: self.text.get(..self.at).map_or(0, |t| t.chars().count()) + 1,
            problem: problem.into(),
        }
    }

    /// Takes the word "or" when it stands alone here.
    fn or(&mut self) -> bool {
        let rest = self.rest();
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

    fn any<F: FieldSet>(&mut self, depth: usize) -> Result<Filter<F>, FilterError> {
        let mut parts = vec![self.all(depth)?];
        loop {
            self.space();
            if !self.or() {
                break;
            }
            parts.push(self.all(depth)?);
        }
        Ok(single(parts, Filter::Or))
    }

    fn all<F: FieldSet>(&mut self, depth: usize) -> Result<Filter<F>, FilterError> {
        let mut parts = Vec::new();
        loop {
            self.space();
            let before = self.at;
            let ends = matches!(self.peek(), None | Some(')'));
            if ends || self.or() {
                self.at = before;
                if parts.is_empty() {
                    return Err(self.error("something to look for is missing here"));
                }
                return Ok(single(parts, Filter::And));
            }
            parts.push(self.one(depth)?);
        }
    }

    fn one<F: FieldSet>(&mut self, depth: usize) -> Result<Filter<F>, FilterError> {
        if depth > MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        if self.take('-') {
            self.space();
            return Ok(self.one(depth + 1)?.not());
        }
        if self.take('(') {
            let inner = self.any(depth + 1)?;
            self.space();
            if !self.take(')') {
                return Err(self.error("the \"(\" is not closed; a \")\" is missing"));
            }
            return Ok(inner);
        }
        let (what, whole) = self.field()?;
        self.value(what, whole)
    }

    /// A field name and its mark; `None` when the value stands alone.
    fn field<F: FieldSet>(&mut self) -> Result<(Option<What<F>>, bool), FilterError> {
        let rest = self.rest();
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
        let what = match (phone, F::NAMES.iter().find(|(n, _)| *n == lower)) {
            (Some((_, field, strength)), _) => What::Phone(*field, *strength),
            (None, Some((_, field))) => What::Text(*field),
            (None, None) => {
                let known: Vec<_> = F::NAMES.iter().map(|(n, _)| *n).collect();
                return Err(self.error(format!(
                    "there is no field \"{name}\"; fields are {} (quote a text with \":\")",
                    known.join(", ")
                )));
            }
        };
        self.at += name_len + 1;
        Ok((Some(what), whole))
    }

    fn value<F: FieldSet>(
        &mut self,
        what: Option<What<F>>,
        whole: bool,
    ) -> Result<Filter<F>, FilterError> {
        let start = self.at;
        let before = self.take('*');
        let (text, quoted) = if self.take('"') {
            (self.quoted()?, true)
        } else {
            let rest = self.rest();
            let len = rest
                .find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | '*'))
                .unwrap_or(rest.len());
            self.at += len;
            (rest[..len].to_owned(), false)
        };
        let after = self.take('*');
        let ends = self
            .peek()
            .is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ')'));
        if !ends {
            return Err(self.error("a \"*\" goes before or behind the text, not into it"));
        }
        if text.is_empty() && !quoted {
            return match (what, before || after) {
                (Some(What::Text(field) | What::Phone(field, _)), true) => {
                    Ok(Filter::Present(field))
                }
                (None, true) => Ok(Filter::All),
                (_, false) => {
                    self.at = start;
                    Err(self.error("something to look for is missing here"))
                }
            };
        }
        if text.trim().is_empty() {
            self.at = start;
            return Err(self.error("the text to look for is empty"));
        }
        let how = match (whole, before, after) {
            (true, false, false) => Match::Whole,
            (true, ..) => {
                self.at = start;
                return Err(self.error("\"=\" compares the whole value; use \":\" with \"*\""));
            }
            (_, true, true) => Match::Contains,
            (_, true, false) => Match::Suffix,
            (_, false, true) => Match::Prefix,
            // As one types: a word alone may go on.
            (_, false, false) if what.is_none() && !quoted => Match::Prefix,
            (_, false, false) => Match::Words,
        };
        if let (Some(What::Text(field)), Match::Words | Match::Whole) = (&what, how) {
            let only = field.values();
            if !only.is_empty() && !only.iter().any(|one| one.eq_ignore_ascii_case(&text)) {
                self.at = start;
                let (name, only) = (name_of(*field), only.join(", "));
                return Err(self.error(format!("there is no {name} \"{text}\"; there are {only}")));
            }
        }
        Ok(match what {
            Some(What::Phone(_, strength)) if matches!(how, Match::Words | Match::Whole) => {
                Filter::PhoneEquals {
                    number: text,
                    strength,
                }
            }
            Some(What::Text(field) | What::Phone(field, _)) => Filter::text(field, how, text),
            None => Filter::text(F::ANY, how, text),
        })
    }

    fn quoted(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(text),
                '\\' => match self.peek() {
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
        Err(self.error("the quote that begins here is not closed; a \" is missing"))
    }
}

fn depth<F: FieldSet>(filter: &Filter<F>) -> usize {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => 1 + parts.iter().map(depth).max().unwrap_or(0),
        Filter::Not(inner) => 1 + depth(inner),
        _ => 0,
    }
}

fn single<F: FieldSet>(
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
    use etui_text::phone::Strength;

    fn parsed(text: &str) -> Filter {
        text.parse().unwrap()
    }

    #[test]
    fn values() {
        assert_eq!(parsed(""), Filter::All);
        assert_eq!(parsed("*"), Filter::All);
        assert_eq!(
            parsed("ann"),
            Filter::text(Field::Any, Match::Prefix, "ann")
        );
        assert_eq!(
            parsed("\"ann\""),
            Filter::text(Field::Any, Match::Words, "ann")
        );
        assert_eq!(parsed("name:ann"), Filter::name("ann"));
        assert_eq!(parsed("NAME:ann*"), Filter::name_prefix("ann"));
        assert_eq!(parsed("name:*ann"), Filter::name_suffix("ann"));
        assert_eq!(
            parsed("org:*\"a b\"*"),
            Filter::text(Field::Organization, Match::Contains, "a b")
        );
        assert_eq!(
            parsed("display=Ann"),
            Filter::text(Field::Display, Match::Whole, "Ann")
        );
        assert_eq!(parsed("email:*"), Filter::Present(Field::Email));
        assert_eq!(
            parsed("phone:+49(30)"),
            Filter::phone("+49", Strength::Exact).and(parsed("30"))
        );
        assert_eq!(
            parsed("phone.short:123"),
            Filter::phone("123", Strength::Short)
        );
        assert_eq!(parsed("phone:*4711"), Filter::phone_suffix("4711"));
        assert_eq!(
            parsed(r#"note:"say \"hi\"""#),
            Filter::text(Field::Note, Match::Words, "say \"hi\"")
        );
    }

    #[test]
    fn combinations() {
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
            Filter::text(Field::Any, Match::Prefix, "orson")
        );
    }

    #[test]
    fn mistakes_are_placed() {
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
        let field = prop::sample::select(Field::NAMES.iter().map(|(_, f)| *f).collect::<Vec<_>>());
        let how = prop::sample::select(vec![
            Match::Words,
            Match::Prefix,
            Match::Suffix,
            Match::Contains,
            Match::Whole,
        ]);
        let leaf = prop_oneof![
            Just(Filter::All),
            field.clone().prop_map(Filter::Present),
            ("\\PC*[a-z]\\PC*", Just(Strength::National)).prop_map(|(t, s)| Filter::phone(t, s)),
            (field, how, "\\PC*[a-z0-9\"\\\\]\\PC*")
                .prop_filter("a phone's words are an equality", |(f, h, _)| {
                    *f != Field::Phone || !matches!(h, Match::Words | Match::Whole)
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
        fn any_text_is_answered(text in "\\PC*") {
            let _ = text.parse::<Filter>();
        }
    }
}
