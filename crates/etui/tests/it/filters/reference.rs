//! The naive reference: evaluates a filter on the parsed vCards.
//!
//! It follows the book (`docs/src/filter-language.md`) and shares only the public folding, number
//! parsing and collation with the library's search: values are folded, and a filter is compared with
//! them word by word. Every answer of a search must equal the reference's.

use std::collections::HashMap;
use std::rc::Rc;

use etui::contacts::{Card, Field, Filter, ListEntry, MatchMode, Reader, Summary};
use etui::text::collator::Collator;
use etui::text::fold;
use etui::text::phone::{MatchType, PhoneNumber, Region, prefix_forms, suffix_forms};
use etui::{ETag, RecordId};
use memchr::memmem::Finder;

/// Bytes of a value that are indexed (`contacts/keys.rs`).
const MAX_KEY: usize = 8 << 10;
/// Bytes of a value that is also compared with its umlauts spelled out (`record/keys.rs`).
const MAX_SPELLED_OUT: usize = 256;
/// Bytes of a value in a summary (`contacts/keys.rs`).
const MAX_SUMMARY: usize = 200;

/// A parsed contact.
pub struct ReferenceContact {
    pub id: RecordId,
    /// The UID in the card; empty if it has none.
    pub uid: String,
    pub summary: Summary,
    /// The values as written in the card, from which filters are made.
    pub values: Vec<(Field, String)>,
    sort: Vec<u8>,
    texts: Vec<(Field, FoldedText)>,
    emails: Vec<String>,
    phones: Vec<PhoneNumber>,
    /// The digits of the phone numbers as written.
    written: Vec<String>,
}

/// A folded value and its words.
struct FoldedText {
    text: String,
    words: Vec<String>,
}

impl FoldedText {
    fn new(text: &str) -> Self {
        let text = fold::fold_words(text);
        let words = text.split_whitespace().map(str::to_owned).collect();
        Self { text, words }
    }
}

fn clip(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

impl ReferenceContact {
    fn parse(id: RecordId, text: &[u8], order: &Collator, region: Option<Region>) -> Self {
        let card = Card::parse(text).unwrap();
        let display = card.display_name();
        let name = card.name();
        let organizations = card.organizations();
        let mut values = vec![
            (Field::Display, display.clone()),
            (Field::Family, name.family.clone()),
            (Field::Given, name.given.clone()),
            (Field::Given, name.additional.clone()),
        ];
        let mut more = |field, all: Vec<String>| {
            values.extend(all.into_iter().map(|value| (field, value)));
        };
        more(Field::Nickname, card.nicknames());
        for organization in &organizations {
            more(Field::Organization, vec![organization.name.clone()]);
            more(Field::Organization, organization.units.clone());
        }
        let plain = |all: Vec<etui::contacts::TypedValue>| all.into_iter().map(|typed| typed.value);
        let emails: Vec<String> = plain(card.emails()).collect();
        let phones: Vec<String> = plain(card.phones()).collect();
        more(Field::Email, emails.clone());
        more(Field::Phone, phones.clone());
        more(Field::Category, card.categories());
        more(Field::Note, card.properties("NOTE"));
        more(Field::Title, card.properties("TITLE"));
        more(Field::Title, card.properties("ROLE"));
        more(Field::Address, card.properties("ADR"));
        values.retain(|(_, value)| !value.trim().is_empty());

        let unnamed = name.family.is_empty() && name.given.is_empty();
        let sort = if unnamed {
            order.sort_key(&[&display])
        } else {
            order.sort_key(&[&name.family, &name.given, &name.additional])
        };
        let organization = organizations.into_iter().next().unwrap_or_default();
        let organization = std::iter::once(organization.name)
            .chain(organization.units)
            .find(|part| !part.is_empty());
        let shown =
            |value: Option<&String>| clip(value.map_or("", String::as_str), MAX_SUMMARY).into();
        Self {
            id,
            uid: card.uid().unwrap_or_default().to_owned(),
            summary: Summary {
                name: clip(&display, MAX_SUMMARY).into(),
                organization: shown(organization.as_ref()),
                phone: shown(phones.first()),
                email: shown(emails.first()),
            },
            sort,
            texts: values
                .iter()
                .filter(|(field, _)| !matches!(field, Field::Email | Field::Phone))
                .flat_map(|(field, value)| {
                    let spelled = fold::fold_spelled_out(value);
                    let spelled = spelled.filter(|_| value.len() <= MAX_SPELLED_OUT);
                    let all = [Some(clip(value, MAX_KEY).to_owned()), spelled];
                    all.into_iter()
                        .flatten()
                        .map(|text| (*field, FoldedText::new(&text)))
                })
                .filter(|(_, folded)| !folded.words.is_empty())
                .collect(),
            emails: emails
                .iter()
                .map(|value| fold::fold_address(clip(value, MAX_KEY)))
                .filter(|folded| !folded.is_empty())
                .collect(),
            phones: phones
                .iter()
                .filter_map(|value| PhoneNumber::parse(value, region))
                .collect(),
            written: phones
                .iter()
                .filter(|value| PhoneNumber::parse(value, region).is_some())
                .map(|value| digits(clip(value, MAX_KEY)))
                .collect(),
            values,
        }
    }

    /// Returns the values that a comparison of words considers.
    fn texts(&self, field: Field) -> impl Iterator<Item = &FoldedText> {
        self.texts
            .iter()
            .filter(move |(own, _)| match field {
                Field::Any => !matches!(
                    own,
                    Field::Category | Field::Note | Field::Title | Field::Address
                ),
                Field::Everywhere => true,
                Field::Name => matches!(
                    own,
                    Field::Display | Field::Family | Field::Given | Field::Nickname
                ),
                field => *own == field,
            })
            .map(|(_, folded)| folded)
    }

    fn has(&self, field: Field) -> bool {
        match field {
            Field::Email => !self.emails.is_empty(),
            Field::Phone | Field::PhoneWritten => !self.phones.is_empty(),
            Field::Any => {
                self.has(Field::Name)
                    || self.has(Field::Organization)
                    || self.has(Field::Email)
                    || self.has(Field::Phone)
            }
            Field::Everywhere => {
                self.has(Field::Any) || self.texts(Field::Everywhere).next().is_some()
            }
            field => self.texts(field).next().is_some(),
        }
    }
}

/// A filter with folded texts and parsed numbers.
pub enum ReferenceFilter {
    All,
    AllOf(Vec<ReferenceFilter>),
    AnyOf(Vec<ReferenceFilter>),
    Not(Box<ReferenceFilter>),
    Present(Field),
    Words(Field, MatchMode, Box<Needle>),
    Address(MatchMode, String),
    Number(PhoneNumber, MatchType),
    NumberStartsWith(Vec<String>),
    NumberEndsWith(Vec<String>),
    NumberContains(String),
    Written(MatchMode, String),
    Uids(Vec<String>),
    Nothing,
}

/// Folded words to search for.
pub struct Needle {
    words: Vec<String>,
    inside: Finder<'static>,
}

impl ReferenceFilter {
    pub fn compile(filter: &Filter, region: Option<Region>) -> Self {
        let each = |parts: &[Filter]| {
            parts
                .iter()
                .map(|part| Self::compile(part, region))
                .collect()
        };
        match filter {
            Filter::All => Self::All,
            Filter::And(parts) => Self::AllOf(each(parts)),
            Filter::Or(parts) => Self::AnyOf(each(parts)),
            Filter::Not(inner) => Self::Not(Box::new(Self::compile(inner, region))),
            Filter::Present(field) => Self::Present(*field),
            Filter::Uids(uids) => Self::Uids(uids.iter().cloned().collect()),
            Filter::PhoneEquals { number, strength } => number_is(number, *strength, region),
            Filter::Text { field, mode, text } => match field {
                Field::Any => {
                    let mut any = vec![
                        words(Field::Name, *mode, text),
                        words(Field::Organization, *mode, text),
                        address(*mode, text),
                    ];
                    if is_number_like(text) {
                        any.push(number(*mode, text, region));
                    }
                    Self::AnyOf(any)
                }
                Field::Everywhere => {
                    let any = Filter::text(Field::Any, *mode, text);
                    Self::AnyOf(vec![
                        Self::compile(&any, region),
                        words(Field::Everywhere, *mode, text),
                        domain(*mode, text),
                    ])
                }
                Field::Email => address(*mode, text),
                Field::Phone => number(*mode, text, region),
                Field::PhoneWritten => match digits(text) {
                    none if none.is_empty() => Self::Nothing,
                    digits => Self::Written(*mode, digits),
                },
                field => words(*field, *mode, text),
            },
        }
    }

    pub fn matches(&self, known: &ReferenceContact) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::AllOf(parts) => parts.iter().all(|part| part.matches(known)),
            Self::AnyOf(parts) => parts.iter().any(|part| part.matches(known)),
            Self::Not(inner) => !inner.matches(known),
            Self::Present(field) => known.has(*field),
            Self::Uids(uids) => uids.contains(&known.uid),
            Self::Words(field, mode, wanted) => known
                .texts(*field)
                .any(|value| words_match(*mode, wanted, value)),
            Self::Address(mode, wanted) => known.emails.iter().any(|email| match mode {
                MatchMode::Words | MatchMode::Whole => email == wanted,
                MatchMode::Prefix => email.starts_with(wanted),
                MatchMode::Suffix => email.ends_with(wanted),
                MatchMode::Contains => email.contains(wanted),
            }),
            Self::Number(wanted, strength) => known
                .phones
                .iter()
                .any(|phone| phone.matches(wanted, *strength)),
            Self::NumberStartsWith(forms) => {
                number_any(known, forms, |d, form| d.starts_with(form))
            }
            Self::NumberEndsWith(forms) => number_any(known, forms, |d, form| d.ends_with(form)),
            Self::Written(mode, wanted) => known.written.iter().any(|written| match mode {
                MatchMode::Words | MatchMode::Whole => written == wanted,
                MatchMode::Prefix => written.starts_with(wanted),
                MatchMode::Suffix => written.ends_with(wanted),
                MatchMode::Contains => written.contains(wanted),
            }),
            Self::NumberContains(part) => known.phones.iter().any(|p| p.digits().contains(part)),
        }
    }
}

fn number_any(
    known: &ReferenceContact,
    forms: &[String],
    fits: impl Fn(&str, &str) -> bool,
) -> bool {
    known
        .phones
        .iter()
        .any(|phone| forms.iter().any(|form| fits(phone.digits(), form)))
}

fn words(field: Field, mode: MatchMode, text: &str) -> ReferenceFilter {
    let spelled = fold::fold_spelled_out(text).into_iter();
    let each = [text.to_owned()].into_iter().chain(spelled);
    ReferenceFilter::AnyOf(each.map(|text| plain_words(field, mode, &text)).collect())
}

fn plain_words(field: Field, mode: MatchMode, text: &str) -> ReferenceFilter {
    let folded = FoldedText::new(text);
    if folded.words.is_empty() {
        return ReferenceFilter::Nothing;
    }
    let inside = Finder::new(folded.text.as_bytes()).into_owned();
    let words = folded.words;
    ReferenceFilter::Words(field, mode, Box::new(Needle { words, inside }))
}

fn words_match(mode: MatchMode, wanted: &Needle, value: &FoldedText) -> bool {
    // Every mode needs the words in the value, with one space between them.
    if wanted.inside.find(value.text.as_bytes()).is_none() {
        return false;
    }
    let words = &wanted.words;
    let last = words.len() - 1;
    match mode {
        MatchMode::Contains => true,
        MatchMode::Whole => &value.words == words,
        _ => value.words.windows(words.len()).any(|window| {
            window
                .iter()
                .zip(words)
                .enumerate()
                .all(|(i, (has, word))| {
                    (has == word)
                        || (mode == MatchMode::Prefix && i == last && has.starts_with(word))
                        || (mode == MatchMode::Suffix && i == 0 && has.ends_with(word))
                })
        }),
    }
}

fn address(mode: MatchMode, text: &str) -> ReferenceFilter {
    match fold::fold_address(text) {
        folded if folded.is_empty() => ReferenceFilter::Nothing,
        folded => ReferenceFilter::Address(mode, folded),
    }
}

/// A label of a domain, or the start of the first one.
fn domain(mode: MatchMode, text: &str) -> ReferenceFilter {
    let label = text.trim();
    let is_label = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    let end = match mode {
        MatchMode::Prefix => "",
        MatchMode::Words => ".",
        _ => return ReferenceFilter::Nothing,
    };
    if label.is_empty() || !label.chars().all(is_label) {
        return ReferenceFilter::Nothing;
    }
    ReferenceFilter::AnyOf(vec![
        address(MatchMode::Contains, &format!("@{label}{end}")),
        address(MatchMode::Contains, &format!(".{label}.")),
    ])
}

fn number_is(text: &str, strength: MatchType, region: Option<Region>) -> ReferenceFilter {
    match PhoneNumber::parse(text, region) {
        Some(number) => ReferenceFilter::Number(number, strength),
        None => ReferenceFilter::Nothing,
    }
}

fn number(mode: MatchMode, text: &str, region: Option<Region>) -> ReferenceFilter {
    let some = |forms: Vec<String>| forms.into_iter().filter(|form| !form.is_empty()).collect();
    match mode {
        MatchMode::Words | MatchMode::Whole => number_is(text, MatchType::Exact, region),
        MatchMode::Prefix => ReferenceFilter::NumberStartsWith(some(prefix_forms(text, region))),
        MatchMode::Suffix => ReferenceFilter::NumberEndsWith(some(suffix_forms(text, region))),
        MatchMode::Contains => match digits(text) {
            digits if digits.is_empty() => ReferenceFilter::Nothing,
            digits => ReferenceFilter::NumberContains(digits),
        },
    }
}

/// Returns the decimal digits of a text, in the scripts used by these tests.
fn digits(text: &str) -> String {
    text.chars().filter_map(digit).collect()
}

fn digit(c: char) -> Option<char> {
    ['0', '\u{660}', '\u{966}', '\u{ff10}']
        .into_iter()
        .find_map(|zero| u32::from(c).checked_sub(zero.into()).filter(|n| *n < 10))
        .and_then(|n| char::from_digit(n, 10))
}

fn is_number_like(text: &str) -> bool {
    text.chars().any(|c| digit(c).is_some())
        && text
            .chars()
            .all(|c| digit(c).is_some() || c.is_whitespace() || "+-/().#*".contains(c))
}

/// Reads address books, and caches the parsed contacts.
pub struct Reference {
    order: Collator,
    region: Option<Region>,
    known: HashMap<(RecordId, ETag), Rc<ReferenceContact>>,
}

impl Reference {
    pub fn new(locale: &str, region: Option<Region>) -> Self {
        Self {
            order: Collator::new(locale).unwrap(),
            region,
            known: HashMap::new(),
        }
    }

    /// Returns the contacts of an address book in list order.
    pub fn read(&mut self, reader: &Reader) -> Vec<Rc<ReferenceContact>> {
        if self.known.len() > 6_000 {
            self.known.clear();
        }
        let texts = reader.all().unwrap();
        let mut all: Vec<_> = texts
            .iter()
            .map(|(id, text)| {
                let new = || Rc::new(ReferenceContact::parse(id, text, &self.order, self.region));
                let known = self.known.entry((id, ETag::of(text))).or_insert_with(new);
                Rc::clone(known)
            })
            .collect();
        all.sort_by(|a, b| (&a.sort, a.id).cmp(&(&b.sort, b.id)));
        all
    }

    /// Returns the contacts among `all` that match `filter`.
    pub fn find(&self, all: &[Rc<ReferenceContact>], filter: &Filter) -> Vec<ListEntry> {
        let wanted = ReferenceFilter::compile(filter, self.region);
        all.iter()
            .filter(|known| wanted.matches(known))
            .map(|known| ListEntry {
                id: known.id,
                summary: known.summary.clone(),
            })
            .collect()
    }
}
