//! [`AddressQuery`]: the filter of an `addressbook-query`, parsed, and evaluated on one card (RFC 6352
//! sections 8.6 and 10.5).
//!
//! A card is compared as it is stored, whichever version is returned.

use etui_contentline::charset::repair_charset;
use etui_contentline::lines::{ContentLine, ContentLines, parse_params};
use etui_contentline::values::{property_value, unescape_text};

use super::error::QueryError;
use super::text_match::TextMatch;
use crate::xml::{Element, Namespace};

/// Limit of the conditions of one query. A condition is compared with each card.
const MAX_CONDITIONS: usize = 1_000;

/// The filter of an `addressbook-query`, and the limit of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressQuery {
    pub(super) combination: Combination,
    /// The conditions; none hold for every card.
    pub(super) properties: Vec<CardFilter>,
    /// The number of cards that are returned at most (`nresults`).
    pub(super) limit: Option<usize>,
}

/// The attribute `test`: how conditions are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Combination {
    AnyOf,
    AllOf,
}

/// A `prop-filter` element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CardFilter {
    /// The group before the name; `None` for any.
    pub(super) group: Option<String>,
    /// The name as written.
    pub(super) name: String,
    pub(super) test: CardTest,
}

/// The condition on a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CardTest {
    /// There is none of this name.
    NotDefined,
    /// There is one for which these hold.
    Defined {
        combination: Combination,
        texts: Vec<TextMatch>,
        params: Vec<CardParamFilter>,
    },
}

/// A `param-filter` element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CardParamFilter {
    name: String,
    test: CardParamTest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum CardParamTest {
    NotDefined,
    Defined(Option<TextMatch>),
}

/// Parses an `addressbook-query` report: its filter and its limit.
///
/// # Errors
/// [`QueryError::Malformed`]; the preconditions `supported-filter` and `supported-collation`.
pub fn parse_address_query(report: &Element) -> Result<AddressQuery, QueryError> {
    let filter = report
        .child(&Namespace::CardDav, "filter")
        .ok_or_else(|| QueryError::malformed("addressbook-query needs a filter"))?;
    let mut parser = CardFilterParser { conditions: 0 };
    parser.check(filter, &["prop-filter"])?;
    let properties = filter
        .children_named(&Namespace::CardDav, "prop-filter")
        .map(|child| parser.prop_filter(child))
        .collect::<Result<_, _>>()?;
    Ok(AddressQuery {
        combination: combination_of(filter)?,
        properties,
        limit: parse_limit(report)?,
    })
}

fn parse_limit(report: &Element) -> Result<Option<usize>, QueryError> {
    let Some(limit) = report.child(&Namespace::CardDav, "limit") else {
        return Ok(None);
    };
    let count = limit.child(&Namespace::CardDav, "nresults");
    match count.and_then(|count| count.text.trim().parse().ok()) {
        Some(count) if count > 0 => Ok(Some(count)),
        _ => Err(QueryError::malformed(
            "limit needs nresults, a number from 1",
        )),
    }
}

fn combination_of(element: &Element) -> Result<Combination, QueryError> {
    match element.attribute("test") {
        None | Some("anyof") => Ok(Combination::AnyOf),
        Some("allof") => Ok(Combination::AllOf),
        Some(_) => Err(QueryError::malformed("test is anyof or allof")),
    }
}

struct CardFilterParser {
    conditions: usize,
}

impl CardFilterParser {
    fn prop_filter(&mut self, element: &Element) -> Result<CardFilter, QueryError> {
        self.check(element, &["is-not-defined", "text-match", "param-filter"])?;
        let name = name_of(element)?;
        let (group, name) = match name.split_once('.') {
            Some((group, name)) => (Some(group.to_owned()), name.to_owned()),
            None => (None, name.to_owned()),
        };
        let test = match is_not_defined(element)? {
            true => CardTest::NotDefined,
            false => {
                let of = |name| element.children_named(&Namespace::CardDav, name);
                self.conditions += of("text-match").count();
                CardTest::Defined {
                    combination: combination_of(element)?,
                    texts: of("text-match")
                        .map(TextMatch::parse_carddav)
                        .collect::<Result<_, _>>()?,
                    params: of("param-filter")
                        .map(|child| self.param_filter(child))
                        .collect::<Result<_, _>>()?,
                }
            }
        };
        Ok(CardFilter { group, name, test })
    }

    fn param_filter(&mut self, element: &Element) -> Result<CardParamFilter, QueryError> {
        self.check(element, &["is-not-defined", "text-match"])?;
        let test = match is_not_defined(element)? {
            true => CardParamTest::NotDefined,
            false => {
                let text = element.child(&Namespace::CardDav, "text-match");
                CardParamTest::Defined(text.map(TextMatch::parse_carddav).transpose()?)
            }
        };
        Ok(CardParamFilter {
            name: name_of(element)?.to_owned(),
            test,
        })
    }

    /// Counts a condition, and refuses children that it cannot have. Elements of other namespaces
    /// are extensions, which are passed over (RFC 4918 section 17).
    fn check(&mut self, element: &Element, children: &[&str]) -> Result<(), QueryError> {
        self.conditions += 1;
        if self.conditions > MAX_CONDITIONS {
            return Err(QueryError::carddav(
                "supported-filter",
                format!("a filter has at most {MAX_CONDITIONS} conditions"),
            ));
        }
        let is_unknown = |child: &&Element| {
            child.ns == Namespace::CardDav && !children.contains(&child.name.as_str())
        };
        match element.children.iter().find(is_unknown) {
            Some(unknown) => Err(QueryError::carddav(
                "supported-filter",
                format!("{} cannot be in {}", unknown.name, element.name),
            )),
            None => Ok(()),
        }
    }
}

fn name_of(element: &Element) -> Result<&str, QueryError> {
    match element.attribute("name").map(str::trim) {
        Some(name) if !name.is_empty() => Ok(name),
        _ => Err(QueryError::malformed(format!(
            "{} needs a name",
            element.name
        ))),
    }
}

/// Returns true if a filter has `is-not-defined`, which has to be alone.
fn is_not_defined(element: &Element) -> Result<bool, QueryError> {
    let has = element
        .child(&Namespace::CardDav, "is-not-defined")
        .is_some();
    let own = element.children.iter();
    match (
        has,
        own.filter(|child| child.ns == Namespace::CardDav).count(),
    ) {
        (false, _) => Ok(false),
        (true, 1) => Ok(true),
        (true, _) => Err(QueryError::malformed(
            "is-not-defined is beside no other condition",
        )),
    }
}

impl Combination {
    fn holds(self, mut conditions: impl Iterator<Item = bool>) -> bool {
        match self {
            Self::AnyOf => conditions.any(|holds| holds),
            Self::AllOf => conditions.all(|holds| holds),
        }
    }
}

impl AddressQuery {
    /// Returns the number of cards that are returned at most.
    #[must_use]
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Returns true if the filter holds for a card. One without conditions holds for all.
    #[must_use]
    pub fn matches(&self, card: &[u8]) -> bool {
        if self.properties.is_empty() {
            return true;
        }
        let text = repair_charset(card);
        let lines: Vec<ContentLine<'_>> = ContentLines::of_text(&text)
            .filter(|line| !line.name.is_empty() && line.delimiter().is_none())
            .collect();
        let mut all = self.properties.iter().map(|one| one.holds(&lines));
        self.combination.holds(&mut all)
    }
}

impl CardFilter {
    fn holds(&self, lines: &[ContentLine<'_>]) -> bool {
        let mut lines = lines.iter().filter(|line| self.is_of(line));
        match &self.test {
            CardTest::NotDefined => lines.next().is_none(),
            CardTest::Defined { texts, params, .. } if texts.is_empty() && params.is_empty() => {
                lines.next().is_some()
            }
            CardTest::Defined {
                combination,
                texts,
                params,
            } => lines.any(|line| {
                let value = match texts.is_empty() {
                    true => String::new(),
                    false => unescape_text(&property_value(line)),
                };
                let texts = texts.iter().map(|text| text.matches(&value));
                combination.holds(texts.chain(params.iter().map(|one| one.holds(line))))
            }),
        }
    }

    /// Returns true if a line is a property of this name, and of the group if one is given.
    fn is_of(&self, line: &ContentLine<'_>) -> bool {
        let is_group = match (&self.group, line.group) {
            (None, _) => true,
            (Some(group), Some(own)) => own.eq_ignore_ascii_case(group.as_bytes()),
            (Some(_), None) => false,
        };
        is_group && line.name_is(&self.name)
    }
}

impl CardParamFilter {
    fn holds(&self, line: &ContentLine<'_>) -> bool {
        let params = line.unfolded_params();
        let values = param_values(&params, &self.name);
        match (&self.test, values) {
            (CardParamTest::NotDefined, values) => values.is_none(),
            (CardParamTest::Defined(_), None) => false,
            (CardParamTest::Defined(text), Some(values)) => text
                .as_ref()
                .is_none_or(|text| text.matches_any(values.iter().map(String::as_str))),
        }
    }
}

/// Returns the values of the parameters of a name: of `TYPE=home,work` two, and of vCard 2.1 also the
/// bare words, which are types. `None` without such a parameter.
fn param_values(params: &[u8], name: &str) -> Option<Vec<String>> {
    let mut values: Option<Vec<String>> = None;
    for param in parse_params(params).filter(|param| !param.text.is_empty()) {
        let found = match param.value {
            Some(value) if param.name.eq_ignore_ascii_case(name.as_bytes()) => value,
            None if name.eq_ignore_ascii_case("TYPE") => param.name,
            _ => continue,
        };
        let found = String::from_utf8_lossy(found);
        let each = found
            .split(',')
            .map(|v| v.trim().trim_matches('"').to_owned());
        values.get_or_insert_default().extend(each);
    }
    values
}
